"""The reader of a run, alone: files to events in columns of ids. As a script, it reads the files named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions, read_events

TERMS_KEPT_MAX = 400_000
"""As in a run: terms are released when there are so many."""
FORMATS = {".nq": "nquads", ".trig": "trig", ".jelly": "jelly"}


def read_in_columns(files: Sequence[Path], compiled: bool | None = None, threads: int = 1) -> tuple[int, int]:
    """Read the files one after the other; gives the numbers of events and of quads.

    compiled    by kernels or line by line; None: as a run chooses
    threads     that read by kernels
    """
    dictionary, events, quads = Dictionary(), 0, 0
    options = ReadOptions(threads=threads, compiled=compiled, bytes_expected=sum(path.stat().st_size for path in files))
    for path in files:
        with open(path, "rb") as stream:
            for batch in read_events(stream, FORMATS[path.suffix], dictionary, options, _refuse):
                events += len(batch)
                quads += len(batch) + len(batch.subjects)
                if len(dictionary) > TERMS_KEPT_MAX:
                    dictionary.retain([])
    return events, quads


def read_tables(files: Sequence[Path]) -> None:
    """Read tables whose templates stand beside them."""
    from benchmarks.grid_tables import template_of
    from spaseq.inputs.reading import StreamFormat
    from spaseq.inputs.streams import open_stream
    from spaseq.inputs.tables.template import parse_template

    dictionary = Dictionary()
    for path in files:
        template = parse_template(template_of(path).read_text(encoding="utf-8"), path.name, (PROV_TIME,))
        how = StreamFormat(template=template)
        for _ in open_stream(str(path), "S", dictionary, _refuse, ReadOptions(), how):
            if len(dictionary) > TERMS_KEPT_MAX:
                dictionary.retain([])


def _refuse(*malformed: object) -> None:
    raise AssertionError(malformed)


if __name__ == "__main__":
    named = [Path(argument) for argument in sys.argv[1:]]
    if all(path.suffix in FORMATS for path in named):
        read_in_columns(named)
    else:
        read_tables(named)
