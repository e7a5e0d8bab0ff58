"""The time of a why-not over a day of the smart grid, in parts.

    python benchmarks/why_not.py --events 100000 --runs 3

Query 1 with a fare that no storage asks (`?fr2 < 0 - ?fr1`) has no match, so the search goes as far as it is let.
Figures are the least processor seconds of the runs, within one process that has loaded everything; `start` is one that
does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

import spaseq
from benchmarks.figures import report, run_process
from benchmarks.whole_way import KB_IRI, STREAM_NAMES
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from spaseq.engine.why import RecordedJob
from spaseq.runtime.why.analysis import Analysis
from spaseq.runtime.why.furthest import Furthest

QUERY = Path(__file__).resolve().parents[1] / "examples/smart_grid/query.rq"
START = "import spaseq.cli.why, spaseq.engine.why_not"
PARTS: tuple[tuple[str, type, str], ...] = (
    ("read and run", RecordedJob, "run"),
    ("match and search", Furthest, "look"),
    ("causes", Analysis, "attempts"),
)
"""What each part is done by."""


@dataclass(frozen=True, slots=True)
class Part:
    """The processor seconds of one part of an answer."""

    part: str
    processor_seconds: float


@contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """Adds the processor seconds of each part to `spent`."""

    def counted(part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            begin = time.process_time()
            found = work(*given)
            spent[part] += time.process_time() - begin
            return found

        return run

    patches = [patch.object(owner, name, counted(part, getattr(owner, name))) for part, owner, name in PARTS]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def answer(folder: Path) -> dict[str, float]:
    """The processor seconds of one answer, by part."""
    text = QUERY.read_text(encoding="utf-8").replace("?fr2 < ?fr1", "?fr2 < 0 - ?fr1")
    streams = {name: folder / f"{stream}.nq" for name, stream in STREAM_NAMES.items()}
    spent = dict.fromkeys((part for part, _, _ in PARTS), 0.0)
    begin = time.process_time()
    with timed(spent):
        found = spaseq.why_not(spaseq.parse(text), streams, {KB_IRI: folder / "kb.ttl"})
    assert found.attempts and not found.matches
    spent["all of it"] = time.process_time() - begin
    return spent


def measure(folder: Path, runs: int) -> list[Part]:
    """The least seconds of each part."""
    start = min(run_process([sys.executable, "-c", START]).processor_seconds for _ in range(runs))
    found = [answer(folder) for _ in range(runs + 1)][1:]  # the first one loads
    return [Part("start", start), *(Part(name, min(each[name] for each in found)) for name in found[0])]


def main() -> None:
    """Measure one size, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_example(EXAMPLE, options.events, 1, Path(name))
        parts = measure(Path(name), options.runs)
    table = Table(title=f"why-not over {options.events:,} events, processor seconds")
    table.add_column("part")
    table.add_column("seconds", justify="right")
    for part in parts:
        table.add_row(part.part, f"{part.processor_seconds:.2f}")
    report([table], {"why_not": parts}, options.json)


if __name__ == "__main__":
    main()
