"""Rows as NDJSON."""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.outputs.destination import Output
from spaseq.outputs.rows import Row, to_json


class NdjsonSink:
    """One line of JSON per row."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, rows: Sequence[Row]) -> None:
        """Write one line per row."""
        if rows:
            self._output.write("".join(to_json(row) + "\n" for row in rows))

    def close(self) -> None:
        """Close the file."""
        self._output.close()
