"""`spaseq demo`: the files of the smart grid, and the arguments of `spaseq run` for them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path

from spaseq.cli.reporting import say
from spaseq.demo.event_files import write_example
from spaseq.demo.smart_grid import EXAMPLE
from spaseq.errors import RunError

_STREAMS = {"S1": "power", "S2": "weather", "S3": "storage"}
_KB = "http://smartgrid.org/db"


@contextmanager
def grid(events: int, seed: int, output: Path | None) -> Iterator[list[str]]:
    """Write so many events, and what belongs to them, to a folder, None: one that is removed; RunError if it cannot."""
    with ExitStack() as stack:
        folder = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spaseq-demo-")))
        query = folder / "query.rq"
        text = files("spaseq.demo").joinpath("query.rq").read_text(encoding="utf-8")
        try:
            write_example(EXAMPLE, events, seed, folder)
            query.write_text(text, encoding="utf-8")
        except OSError as error:
            reason = f"cannot write to {error.filename or folder}: {error.strerror}"
            raise RunError(reason, hint="name a folder you can write to: --output FOLDER") from error
        streams = [f"--stream={name}={folder / file}.nq" for name, file in _STREAMS.items()]
        arguments = [str(query), *streams, f"--kb={_KB}={folder / 'kb.ttl'}"]
        say(text)
        say(f"{events} events of a smart grid: {', '.join(_STREAMS.values())}; the knowledge base says who lives where")
        say(f"spaseq run {shlex.join(arguments)}" if output else "spaseq demo --output FOLDER keeps the files\n")
        yield arguments
