"""Solutions that a match may contain, and graphs whose blank nodes they bind: the names of graphs depend on them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from automata.slices.events import SymbolSolutions
from automata.state import Values
from automata.values import Ids
from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.state.snapshot import batch_state, restored_batch

SolutionRow = tuple[int, ...]
"""The values of a step's variables in one solution, in the order in which the query numbers them."""


class KeptSolutions:
    """Solutions by symbol, position of the event and number in it, and some graphs by position.

    scopes  symbol → its variables in ascending order, of the symbols that a match can contain
    names   of the variables
    """

    def __init__(self, scopes: Mapping[int, Sequence[int]], names: Sequence[str], dictionary: Dictionary) -> None:
        self._scopes = scopes
        self._named = {symbol: [names[variable] for variable in scope] for symbol, scope in scopes.items()}
        self._dictionary = dictionary
        self._tables: dict[int, list[tuple[Ids, Ids]]] = {symbol: [] for symbol in scopes}
        self._rows: dict[int, Mapping[int, Sequence[SolutionRow]]] = {}
        self._graphs: dict[int, tuple[EventBatch, int]] = {}

    def add(self, first: int, solutions: Mapping[int, SymbolSolutions], graphs: EventBatch) -> None:
        """Adds those of the next slice, whose first event has this position."""
        blank: list[Ids] = []
        for symbol, scope in self._scopes.items():
            table = solutions[symbol]
            if len(table.events):
                none = np.zeros((len(table.events), 0), dtype=np.int64)
                values = np.column_stack([none, *(table.values[variable] for variable in scope)])
                self._tables[symbol].append((table.events + first, values))
                blank.append(table.events[self._dictionary.blank(values).any(axis=1)])
        events = np.unique(np.concatenate(blank)) if blank else np.zeros(0, dtype=np.int64)
        if len(events):
            self._add_graphs((events + first).tolist(), graphs.take(events))

    def add_one(self, position: int, solutions: Mapping[int, Sequence[SolutionRow]], event: RowEvent) -> None:
        """Adds those of an event that is evaluated row at a time."""
        kept = self._rows[position] = {symbol: rows for symbol, rows in solutions.items() if symbol in self._scopes}
        ids = [identifier for rows in kept.values() for row in rows for identifier in row]
        if self._dictionary.blank(np.array(ids, dtype=np.int64)).any():
            self._add_graphs([position], event.batch)

    def _add_graphs(self, positions: Sequence[int], batch: EventBatch) -> None:
        self._graphs |= {position: (batch, index) for index, position in enumerate(positions)}

    def forget(self, before: int) -> None:
        """Drops what lies before a position, as far as nothing of its slice is needed."""
        for symbol, tables in self._tables.items():
            if tables and tables[0][0][-1] < before:
                self._tables[symbol] = [table for table in tables if table[0][-1] >= before]
        for kept in (self._rows, self._graphs):
            for position in list(takewhile(lambda position: position < before, kept)):
                del kept[position]

    def of(self, symbol: int, position: int, number: int) -> dict[str, int]:
        """Variable → id of one solution; KeyError where there is none."""
        if position in self._rows:
            found = self._rows[position][symbol][number]
        else:
            tables = self._tables[symbol]
            at = bisect_left(tables, position, key=lambda table: int(table[0][-1]))
            if at == len(tables):
                raise KeyError(position)
            positions, values = tables[at]
            found = values[int(positions.searchsorted(position)) + number].tolist()
        return dict(zip(self._named[symbol], found, strict=True))

    def graph(self, position: int) -> EventBatch | None:
        """The event at a position, if a solution in it binds a blank node."""
        batch, index = self._graphs.get(position, (None, 0))
        return None if batch is None else batch.between(index, index + 1)

    def live_ids(self) -> list[Ids]:
        """Columns of every id in them."""
        graphs = {id(batch): batch for batch, _ in self._graphs.values()}
        ids = [i for kept in self._rows.values() for rows in kept.values() for row in rows for i in row]
        tables = [values.ravel() for tables in self._tables.values() for _, values in tables]
        return [*tables, np.array(ids, dtype=np.int64), *(c for batch in graphs.values() for c in batch.terms)]

    def snapshot(self, oldest: int) -> list[Any]:
        """Those from a position on, for `spaseq.runtime.state.snapshot`."""
        tables = [(symbol, *table) for symbol, tables in self._tables.items() for table in tables]
        for position, kept in self._rows.items():
            for symbol, rows in kept.items():
                values = np.array(rows, dtype=np.int64).reshape(len(rows), len(self._scopes[symbol]))
                tables.append((symbol, np.full(len(rows), position, dtype=np.int64), values))
        cuts = [(symbol, at, values, int(np.searchsorted(at, oldest))) for symbol, at, values in tables]
        left = [[symbol, at[cut:], Values(values[cut:])] for symbol, at, values, cut in cuts if cut < len(at)]
        positions = [position for position in self._graphs if position >= oldest]
        graphs = [graph for position in positions if (graph := self.graph(position)) is not None]
        return [left, positions, batch_state(EventBatch.concatenate([EventBatch.empty(), *graphs]))]

    def restore(self, state: Sequence[Any]) -> None:
        """Continues from a snapshot."""
        tables, graphs, batch = state
        for symbol, positions, values in tables:
            self._tables[symbol].append((positions, values.ids))
        for symbol in self._tables:
            self._tables[symbol].sort(key=lambda table: int(table[0][0]))
        self._add_graphs(graphs, restored_batch(batch))
