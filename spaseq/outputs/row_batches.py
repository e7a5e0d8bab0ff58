"""Rows as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from arrays.times import nearest_time
from automata.matches.match_table import START, TIME
from sparql_gpm.terms import Term, to_ntriples
from spaseq.outputs.arrow_columns import EVENT_MAP, STRINGS, TERMS, event_map, repeated, term_dictionary
from spaseq.outputs.destination import encoded
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, ntriples_lines
from spaseq.outputs.sink import Columns

_TIME = pa.timestamp("ns", tz="UTC")


class RowBatches:
    """Makes record batches of one schema of the rows of some queries.

    The columns are `query` where there are several queries, `time` and `start` (timestamp[ns, UTC]; of a window that
    ends or begins beyond it the nearest one), `graph` and `triples` when a query constructs, a dictionary of N-Triples
    texts for each projected variable, null where it is unbound, and `events`, a map of lists. A variable that has the
    name of another column is called `?name`.
    """

    def __init__(self, columns: Columns) -> None:
        graph = [("graph", pa.string()), ("triples", STRINGS)] if columns.constructs else []
        query = [("query", pa.string())] if columns.several else []
        before = [*query, ("time", _TIME), ("start", _TIME), *graph]
        fixed = {name for name, _ in before} | {"events"}
        self._variables = {name: f"?{name}" if name in fixed else name for name in columns.variables}
        variables = [(name, TERMS) for name in self._variables.values()]
        self.schema = pa.schema([*before, *variables, ("events", EVENT_MAP)])

    def batch(self, rows: Sequence[Row] | RowTable) -> pa.RecordBatch:
        """The batch of some rows."""
        columns = self._of_table(rows) if isinstance(rows, RowTable) else self._of_rows(rows)
        arrays = [
            columns[field.name]() if field.name in columns else pa.nulls(len(rows), field.type) for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _of_table(self, table: RowTable) -> dict[str, Callable[[], pa.Array]]:
        facts = table.matches.facts
        return {
            "query": lambda: repeated(table.query, len(table)),
            "time": lambda: pa.array(np.ascontiguousarray(facts[:, TIME])).cast(_TIME),
            "start": lambda: pa.array(np.ascontiguousarray(facts[:, START])).cast(_TIME),
            "events": lambda: event_map(table),
            **{
                self._variables[name]: partial(term_dictionary, ids, table.dictionary)
                for name, ids in table.columns.items()
            },
        }

    def _of_rows(self, rows: Sequence[Row]) -> dict[str, Callable[[], pa.Array]]:
        bound = [dict(row.bindings) for row in rows]
        events = [[(step, list(map(_text, names))) for step, names in row.events] for row in rows]
        triples = [None if row.graph is None else list(map(_text, ntriples_lines(row.triples))) for row in rows]
        graphs = [None if row.graph is None else _text(row.graph) for row in rows]
        return {
            "query": lambda: pa.array([_text(row.query) for row in rows], pa.string()),
            "time": lambda: pa.array([nearest_time(row.time) for row in rows], pa.int64()).cast(_TIME),
            "start": lambda: pa.array([nearest_time(row.start) for row in rows], pa.int64()).cast(_TIME),
            "graph": lambda: pa.array(graphs, pa.string()),
            "triples": lambda: pa.array(triples, STRINGS),
            "events": lambda: pa.array(events, EVENT_MAP),
            **{
                column: partial(_term_column, [values.get(name) for values in bound])
                for name, column in self._variables.items()
            },
        }


def arrow_table(columns: Columns, parts: Iterable[Sequence[Row] | RowTable]) -> pa.Table:
    """All rows as one table; a part is read before the next one is asked for."""
    made = RowBatches(columns)
    return pa.Table.from_batches([made.batch(part) for part in parts], made.schema).unify_dictionaries()


def _term_column(values: Sequence[Term | None]) -> Any:
    texts = [None if term is None else _text(to_ntriples(term)) for term in values]
    return pa.array(texts, pa.string()).dictionary_encode()


def _text(text: str) -> str:
    """The text as UTF-8 has it."""
    return encoded(text).decode()
