"""Rows as Jelly, one frame and named graph per row: the triples that TriG has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from spaseq.outputs.destination import Output
from spaseq.outputs.jelly_frames import JellyFrames
from spaseq.outputs.row_table import RowTable, parts_of
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import Columns
from spaseq.outputs.trig import TrigSink


class JellySink(TrigSink):
    """A frame per row; blank nodes that TriG does not name have labels that no other row has."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._frames = JellyFrames()
        self._written = 0

    def write(self, rows: Sequence[Row] | RowTable) -> None:
        """Write rows, in this order, piece by piece."""
        for part in parts_of(rows):
            each = part.rows() if isinstance(part, RowTable) else part
            self._output.write(b"".join(self._frames.frame(self._quads(row)) for row in each))

    def close(self) -> None:
        """Close the destination; a second call does nothing."""
        if begin := self._frames.begin():
            self._output.write(begin)
        super().close()

    def _quads(self, row: Row) -> Iterator[ox.Quad]:
        text = self.text([row])
        labels: dict[ox.BlankNode, ox.BlankNode] = {}
        for quad in ox.parse(text.encode(), ox.RdfFormat.TRIG, lenient=True):
            nodes = [each for each in quad if isinstance(each, ox.BlankNode) and f"_:{each.value}" not in text]
            for node in nodes:
                labels.setdefault(node, self._new_label(len(labels), text))
            yield ox.Quad(*(labels.get(each, each) for each in quad))
        self._written += 1

    def _new_label(self, number: int, text: str) -> ox.BlankNode:
        label = f"match{self._written}n{number}"
        while f"_:{label}" in text:
            label += "n"
        return ox.BlankNode(label)
