"""Rows as CSV: RFC 4180, terms as in SPARQL 1.1 Query Results CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from sparql_gpm.terms import IRI, BlankNode, Literal, Term
from spaseq.outputs.destination import Output
from spaseq.outputs.rows import Row, ntriples_lines, time_text
from spaseq.outputs.shape import ResultShape, union_of


class CsvSink:
    """One record per row, under the union of the columns of all queries.

    The columns are `query,time,start`, then `graph,triples` when a query constructs, then the
    projected variables, then `events.STEP` for each step. A variable that has the name of one of
    the fixed columns is headed `?name`. An IRI and a literal's lexical form stand bare, a blank
    node as `_:label`; several events of one step are separated by spaces, triples by line feeds.
    """

    def __init__(self, output: Output, shapes: Sequence[ResultShape]) -> None:
        self._output = output
        self._constructs = any(shape.constructs for shape in shapes)
        self._variables = union_of([shape.variables for shape in shapes])
        self._steps = union_of([shape.steps for shape in shapes])
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer)
        self._writer.writerow(self._header())
        self._flush()

    def write(self, rows: Sequence[Row]) -> None:
        """Write one record per row."""
        if rows:
            self._writer.writerows(self._record(row) for row in rows)
            self._flush()

    def close(self) -> None:
        """Close the file."""
        self._output.close()

    def _header(self) -> list[str]:
        fixed = ["query", "time", "start", *(["graph", "triples"] if self._constructs else [])]
        variables = [f"?{name}" if name in fixed else name for name in self._variables]
        return [*fixed, *variables, *(f"events.{step}" for step in self._steps)]

    def _record(self, row: Row) -> list[str]:
        record = [row.query, time_text(row.time), time_text(row.start)]
        if self._constructs:
            record += [row.graph or "", "\n".join(ntriples_lines(row.triples))]
        bindings, events = dict(row.bindings), dict(row.events)
        record += [bare(bindings[name]) if name in bindings else "" for name in self._variables]
        return record + [" ".join(events.get(step, ())) for step in self._steps]

    def _flush(self) -> None:
        self._output.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()


def bare(term: Term) -> str:
    """A term as in SPARQL 1.1 Query Results CSV: without brackets, quotes, datatype or language."""
    match term:
        case IRI(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical
