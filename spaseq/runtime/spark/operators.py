"""The operator of stage 2: a query whose patterns stage 1 has matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from automata.matches.match_table import MatchTable
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Match
from sparql_gpm.columns import EventBatch
from sparql_gpm.shared import Slice
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row
from spaseq.runtime.operator import QueryOperator
from spaseq.runtime.spark.solutions import decode, own_triples


class SolvedOperator(QueryOperator):
    """Reads solutions instead of looking for them.

    marks       of its patterns
    all_marks   of every query in the shard
    derived     positions in FROM of the streams that other queries of the shard make: their graphs are matched here
    report      told the rows of a query that makes no stream, as columns where they are many; None: they are returned
    """

    report: Callable[[RowTable | list[Row]], None] | None = None

    def __init__(self, *arguments: Any, marks: Sequence[int], all_marks: Sequence[int], derived: Sequence[int]) -> None:
        super().__init__(*arguments)
        self._marks = marks
        self._all_marks = np.array(all_marks, dtype=np.int64)
        self._derived = np.array(derived, dtype=np.int64)

    def _step(self, slice_: Slice) -> list[Row]:
        batch = slice_.batch
        if not len(batch):
            return []
        of_triple = batch.event_of_triple()
        found = {symbol: self._solved(symbol, batch, of_triple) for symbol in range(len(self.query.patterns))}
        unsolved = np.flatnonzero(np.isin(batch.streams, self._derived))
        if len(unsolved):
            found = _both(found, self.solver.solve(Slice(batch.take(unsolved)).entailed(self._entailed)), unsolved)
        self._names.add(self._position, slice_.named([table.events for table in found.values()]))
        if self._keeps_graphs:
            self._condition_evaluator.graphs.add(self._position, own_triples(batch, of_triple, self._all_marks))
        self._position += len(batch)
        return self._rows(self._sequence.on_batch(Events(batch.times, batch.streams), found))

    def _rows(self, matches: Sequence[Match]) -> list[Row]:
        if self.report is None or self.query.register is not None:
            return super()._rows(matches)
        table = self._projector.table(matches, self._names) if isinstance(matches, MatchTable) else None
        self.report(self._projector.rows(matches, self._names) if table is None else table)
        self._forget()
        return []

    def _solved(self, symbol: int, batch: EventBatch, of_triple: Ids) -> SymbolSolutions:
        numbers = [self._variables[name] for name in self.query.patterns[symbol].variables]
        return decode(batch, of_triple, numbers, self._marks[symbol])


def _both(
    solved: Mapping[int, SymbolSolutions], found: Mapping[int, SymbolSolutions], events: Ids
) -> dict[int, SymbolSolutions]:
    """Solutions read, and those found in some of the events, by event."""
    joined = dict(solved)
    for symbol, table in found.items():
        known = solved[symbol]
        where = np.concatenate((known.events, events[table.events]))
        order = np.argsort(where, kind="stable")
        values = {v: np.concatenate((known.values[v], table.values[v]))[order] for v in known.values}
        joined[symbol] = SymbolSolutions(where[order], values)
    return joined
