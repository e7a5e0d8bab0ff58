"""Rows as NDJSON."""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.outputs.rows import Row, to_json
from spaseq.outputs.sink import Sink


class NdjsonSink(Sink):
    """One line of JSON per row."""

    def text(self, rows: Sequence[Row]) -> str:
        """The lines."""
        return "".join(to_json(row) + "\n" for row in rows)
