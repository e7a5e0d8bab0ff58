"""Where rows go: NDJSON, CSV, a table for the eye, or TriG that is a stream again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from spaseq.errors import InputError
from spaseq.lang.ast import Query
from spaseq.outputs.csv import CsvSink
from spaseq.outputs.destination import Output, OutputClosed
from spaseq.outputs.ndjson import NdjsonSink
from spaseq.outputs.rows import Row
from spaseq.outputs.shape import result_shape
from spaseq.outputs.table import TableSink
from spaseq.outputs.trig import TrigSink

__all__ = ["FORMATS", "OutputClosed", "Sink", "open_sink"]

FORMATS = ("table", "ndjson", "csv", "trig")


class Sink(Protocol):
    """A place for rows.

    `write` and `close` raise RunError when the output cannot be written, and OutputClosed when
    its reader has gone. Rows are visible to a reader when `write` has returned.
    """

    def write(self, rows: Sequence[Row]) -> None:
        """Write these rows, in this order."""

    def close(self) -> None:
        """Write what is still held and let go of the file; a second call does nothing."""


def open_sink(format: str, path: Path | None, queries: Sequence[Query]) -> Sink:
    """The sink of this format on the file, or on standard output for None.

    Raises InputError when the file cannot be opened, before any row is made.
    """
    shapes = [result_shape(query) for query in queries]
    match format:
        case "ndjson":
            return NdjsonSink(Output.open(path))
        case "csv":
            return CsvSink(Output.open(path), shapes)
        case "table":
            return TableSink(Output.open(path), shapes)
        case "trig":
            return TrigSink(Output.open(path))
    raise InputError(f"unknown output format '{format}'", hint=f"formats: {', '.join(FORMATS)}")
