"""Rows as Jelly, one frame and named graph per row: the triples that TriG has."""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.outputs.destination import Output
from spaseq.outputs.jelly_frames import JellyFrames
from spaseq.outputs.row_quads import RowQuads
from spaseq.outputs.row_table import RowTable, parts_of
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import Columns
from spaseq.outputs.trig import TrigSink


class JellySink(TrigSink):
    """A frame per row; blank nodes that TriG does not name have labels that no other row has."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._frames = JellyFrames()
        self._quads = RowQuads()

    def write(self, rows: Sequence[Row] | RowTable) -> None:
        """Write rows, in this order, piece by piece."""
        for part in parts_of(rows):
            each = part.rows() if isinstance(part, RowTable) else part
            self._output.write(b"".join(self._frames.frame(self._quads.of(self.text([row]))) for row in each))

    def close(self) -> None:
        """Close the destination; a second call does nothing."""
        if begin := self._frames.begin():
            self._output.write(begin)
        super().close()
