"""The quads of rows, as those formats need them that have no syntax for lists and blank nodes without a label."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox


class RowQuads:
    """Takes the rows of one output in turn, as TriG; nodes that it does not name have labels that no other row has."""

    def __init__(self) -> None:
        self._rows = 0

    def of(self, text: str) -> Iterator[ox.Quad]:
        """The quads of the next row, in the order of its text: its time first."""
        labels: dict[ox.BlankNode, ox.BlankNode] = {}
        for quad in ox.parse(text.encode(), ox.RdfFormat.TRIG, lenient=True):
            nodes = [each for each in quad if isinstance(each, ox.BlankNode) and f"_:{each.value}" not in text]
            for node in nodes:
                labels.setdefault(node, self._new_label(len(labels), text))
            yield ox.Quad(*(labels.get(each, each) for each in quad))
        self._rows += 1

    def _new_label(self, number: int, text: str) -> ox.BlankNode:
        label = f"match{self._rows}n{number}"
        while f"_:{label}" in text:
            label += "n"
        return ox.BlankNode(label)
