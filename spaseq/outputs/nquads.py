"""Rows as N-Quads, one named graph per row with its time right before it: the triples that TriG has."""

from __future__ import annotations

from collections.abc import Sequence

from sparql_gpm.reading.document_terms import to_term
from sparql_gpm.terms import IRI, to_ntriples
from spaseq.outputs.destination import Output
from spaseq.outputs.row_quads import RowQuads
from spaseq.outputs.rows import Row, ntriples_lines
from spaseq.outputs.sink import Columns
from spaseq.outputs.trig import TrigSink, time_statement


class NquadsSink(TrigSink):
    """A line per quad; the quads of a row stand together, so that the output is a stream that can be read again."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._quads = RowQuads()

    def text(self, rows: Sequence[Row]) -> str:
        """The lines."""
        return "".join(map(self._lines, rows))

    def _lines(self, row: Row) -> str:
        if row.graph is None:
            quads = self._quads.of(super().text([row]))
            terms = ([to_term(term) for term in (quad.subject, quad.predicate, quad.object)] for quad in quads)
            first, *others = (" ".join(map(to_ntriples, some)) for some in terms)
            graph = first[: first.index(" ")]
            return "".join((f"{first} .\n", *(f"{statement} {graph} .\n" for statement in others)))
        graph = to_ntriples(IRI(row.graph))
        lines = (f"{statement.removesuffix('.')}{graph} .\n" for statement in ntriples_lines(row.triples))
        return "".join((f"{time_statement(row.graph, row.time)}\n", *lines, self._provenance(row)))
