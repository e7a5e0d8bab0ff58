"""Rows as CSV: RFC 4180, terms as in SPARQL 1.1 Query Results CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from spaseq.outputs.destination import Output
from spaseq.outputs.rows import Row, bare, ntriples_lines, time_text
from spaseq.outputs.sink import Columns, Sink


class CsvSink(Sink):
    """One record per row, under the union of the columns of all queries.

    The columns are `query,time,start`, then `graph,triples` when a query constructs, then the
    projected variables, then `events.STEP` for each step. A variable that has the name of one of
    the fixed columns is headed `?name`. An IRI and a literal's lexical form stand bare, a blank
    node as `_:label`; several events of one step are separated by spaces, triples by line feeds.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        fixed = ["query", "time", "start", *(["graph", "triples"] if columns.constructs else [])]
        variables = [f"?{name}" if name in fixed else name for name in columns.variables]
        output.write(_records([[*fixed, *variables, *(f"events.{step}" for step in columns.steps)]]))

    def text(self, rows: Sequence[Row]) -> str:
        """The records."""
        return _records(map(self._record, rows))

    def _record(self, row: Row) -> list[str]:
        record = [row.query, time_text(row.time), time_text(row.start)]
        if self._columns.constructs:
            record += [row.graph or "", "\n".join(ntriples_lines(row.triples))]
        bindings, events = dict(row.bindings), dict(row.events)
        record += [bare(bindings[name]) if name in bindings else "" for name in self._columns.variables]
        return record + [" ".join(events.get(step, ())) for step in self._columns.steps]


def _records(records: Iterable[list[str]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(records)
    return buffer.getvalue()
