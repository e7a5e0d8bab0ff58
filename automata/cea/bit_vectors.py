"""From the solutions of a slice to bit vectors: the symbols that each event has solutions for, under each key.

An *entry* is one (event, key, symbol) with all its solutions; entries and solutions are numbered consecutively.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arrays.columns import numbers_within
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids

POSITION, SYMBOL, MOMENT, TIME, SUBSTREAM, FIRST, COUNT = range(7)
"""Columns of an entry; FIRST and COUNT are those of its solutions."""


class Log:
    """Consecutively numbered rows, appended at the end and dropped from the beginning."""

    def __init__(self, columns: int) -> None:
        self._table = np.zeros((16, columns), dtype=np.int64)
        self._begin = self._end = 0
        self.first = 0

    @property
    def next(self) -> int:
        """The number of the next row."""
        return self.first + self._end - self._begin

    @property
    def rows(self) -> Ids:
        """The rows that are kept; `first` is the number of the first one."""
        return self._table[self._begin : self._end]

    def append(self, rows: Ids) -> None:
        """Adds rows at the end."""
        if self._end + len(rows) > len(self._table):
            self._make_room(len(rows))
        self._table[self._end : self._end + len(rows)] = rows
        self._end += len(rows)

    def restore(self, first: int, rows: Ids) -> None:
        """Sets the rows of an empty log, the first of which has this number."""
        self._table, self._begin, self._end, self.first = rows, 0, len(rows), first

    def _make_room(self, count: int) -> None:
        """Moves the rows to the beginning; into a larger table if that would be needed again too soon."""
        kept = self.rows
        if 2 * len(kept) + count > len(self._table):
            self._table = np.empty((2 * (len(kept) + count), self._table.shape[1]), dtype=np.int64)
        self._table[: len(kept)] = kept
        self._begin, self._end = 0, len(kept)

    def take(self, numbers: Ids) -> Ids:
        """The rows with these numbers."""
        rows: Ids = self.rows[numbers - self.first]
        return rows

    def column(self, numbers: Ids, column: int) -> Ids:
        """A column of the rows with these numbers."""
        values: Ids = self.rows[:, column][numbers - self.first]
        return values

    def forget(self, before: int) -> None:
        """Drops the rows with lower numbers."""
        count = min(max(before - self.first, 0), self._end - self._begin)
        self._begin += count
        self.first += count


@dataclass(frozen=True, slots=True)
class Solved:
    """The solutions of a slice, sorted by (event, key, symbol), with the borders of entries and bit vectors.

    events, symbols, keys   of each solution; a key is a number of the slice
    values                  int64[n, variables + 1]: the values, and the number of the solution in its event
    entries                 the first solution of each entry
    vectors                 the first entry of each bit vector
    bits                    the symbols of each bit vector
    """

    events: Ids
    symbols: Ids
    keys: Ids
    values: Ids
    entries: Ids
    vectors: Ids
    bits: Ids


def solve(
    solutions: Mapping[int, SymbolSolutions], key: Sequence[int], variables: int, symbols: int
) -> tuple[Solved, list[tuple[int, ...]]]:
    """The solutions in order, and the distinct keys, that is, values of the variables `key`.

    Solutions that leave a variable of the key unbound are left out.
    """
    used = [(symbol, table) for symbol, table in sorted(solutions.items()) if len(table.events)]
    values = np.concatenate(
        [_values(table, variables) for _, table in used] or [np.zeros((0, variables + 1), np.int64)]
    )
    events = np.concatenate([table.events for _, table in used] or [np.zeros(0, np.int64)])
    symbol = np.repeat([number for number, _ in used], [len(table.events) for _, table in used]).astype(np.int64)
    keyed = (values[:, list(key)] != UNBOUND).all(axis=1)
    if not keyed.all():
        values, events, symbol = values[keyed], events[keyed], symbol[keyed]
    keys, distinct = _numbered(values[:, list(key)])
    under = events * max(len(distinct), 1) + keys  # (event, key) as one number
    order = np.argsort(under * symbols + symbol, kind="stable")
    under, symbol = under[order], symbol[order]
    entries = np.flatnonzero(_changes(under) | _changes(symbol))
    vectors = np.flatnonzero(_changes(under[entries]))
    bits = np.bitwise_or.reduceat(np.int64(1) << symbol[entries], vectors) if len(vectors) else vectors
    return Solved(events[order], symbol, keys[order], values[order], entries, vectors, bits), distinct


def _values(table: SymbolSolutions, variables: int) -> Ids:
    values = np.zeros((len(table.events), variables + 1), dtype=np.int64)
    for variable, column in table.values.items():
        values[:, variable] = column
    values[:, variables] = numbers_within(table.events)
    return values


def _numbered(columns: Ids) -> tuple[Ids, list[tuple[int, ...]]]:
    """The number of each row among the distinct rows, and the distinct rows."""
    if not columns.shape[1]:
        return np.zeros(len(columns), dtype=np.int64), [()]
    if columns.shape[1] == 1:
        single, number = np.unique(columns[:, 0], return_inverse=True)
        return number.astype(np.int64), [(value,) for value in single.tolist()]
    distinct, number = np.unique(columns, axis=0, return_inverse=True)
    return number.ravel().astype(np.int64), [tuple(row) for row in distinct.tolist()]


def _changes(values: Ids) -> Ids:
    changed = np.ones(len(values), dtype=np.int64)
    changed[1:] = values[1:] != values[:-1]
    return changed
