"""From the solutions of a slice to bit vectors: the symbols that each event has solutions for, under each key.

An *entry* is one (event, key, symbol) with all its solutions; entries and solutions are numbered consecutively.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrays.columns import numbers_within, offsets_of, places_of
from automata.cea.layout import Layout
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids, Mask

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
        self.extend(len(rows))[:] = rows

    def extend(self, count: int) -> Ids:
        """Adds so many rows, which the caller fills."""
        if self._end + count > len(self._table):
            self._make_room(count)
        self._end += count
        return self._table[self._end - count : self._end]

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
    values                  int64[n, width + 1]: the values, as laid out, and the number of the solution in its event
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


def solve(solutions: Mapping[int, SymbolSolutions], layout: Layout) -> tuple[Solved, list[tuple[int, ...]]]:
    """The solutions in order, and the distinct keys, that is, values of the variables of the key.

    Solutions that leave a variable of the key unbound are left out.
    """
    used = [(symbol, table) for symbol, table in sorted(solutions.items()) if len(table.events)]
    if not layout.key:
        return _solved(*_by_event(used, layout), None), [()]
    borders = offsets_of(np.array([len(table.events) for _, table in used], dtype=np.int64))
    symbol = np.repeat(np.array([number for number, _ in used], dtype=np.int64), np.diff(borders))
    events = np.concatenate([table.events for _, table in used] or [np.zeros(0, np.int64)])
    values = np.full((len(events), layout.width + 1), UNBOUND, dtype=np.int64)
    for (number, table), (begin, end) in zip(used, pairwise(borders.tolist()), strict=True):
        layout.place(number, table, numbers_within(table.events), values, slice(begin, end))
    key = values[:, : len(layout.key)]
    keyed = (key != UNBOUND).all(axis=1)
    if not keyed.all():
        values, events, symbol, key = values[keyed], events[keyed], symbol[keyed], key[keyed]
    keys, distinct = _numbered(key)
    order = np.argsort((events * max(len(distinct), 1) + keys) * len(layout.columns) + symbol, kind="stable")
    return _solved(events[order], symbol[order], values[order], keys[order]), distinct


def _by_event(used: Sequence[tuple[int, SymbolSolutions]], layout: Layout) -> tuple[Ids, Ids, Ids]:
    """Events, symbols and values of solutions by event and symbol: counted, as each table is by event already."""
    counts = np.zeros(max((int(table.events[-1]) + 1 for _, table in used), default=0), dtype=np.int64)
    within = [numbers_within(table.events) for _, table in used]
    for (_, table), number in zip(used, within, strict=True):
        _count(counts, table.events, number)
    symbols = np.empty(int(counts.sum()), dtype=np.int64)
    values = np.full((len(symbols), layout.width + 1), UNBOUND, dtype=np.int64)
    begins = np.cumsum(counts) - counts
    for (symbol, table), number in zip(used, within, strict=True):
        places = begins[table.events] + number
        symbols[places] = symbol
        layout.place(symbol, table, number, values, places)
        _count(begins, table.events, number)
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts), symbols, values


def _count(counts: Ids, ascending: Ids, within: Ids) -> None:
    """Adds to each event its number of rows; `within` numbers the rows of each."""
    if within.any():
        counts += np.bincount(ascending, minlength=len(counts))
    else:
        counts[ascending] += 1


def _solved(events: Ids, symbols: Ids, values: Ids, keys: Ids | None) -> Solved:
    """Sorted solutions, with their borders; None: all have one key."""
    changed = _changes(events)
    if keys is None:
        keys = np.zeros(len(events), dtype=np.int64)
    else:
        changed |= _changes(keys)
    entries = np.flatnonzero(changed | _changes(symbols))
    vectors = np.flatnonzero(changed[entries])
    bits = np.bitwise_or.reduceat(np.int64(1) << symbols[entries], vectors) if len(vectors) else vectors
    return Solved(events, symbols, keys, values, entries, vectors, bits)


def _numbered(columns: Ids) -> tuple[Ids, list[tuple[int, ...]]]:
    """The number of each row among the distinct rows, and the distinct rows."""
    if columns.shape[1] == 1:
        single, number = places_of(np.ascontiguousarray(columns[:, 0]))
        return number.astype(np.int64, copy=False), [(value,) for value in single.tolist()]
    distinct, number = np.unique(columns, axis=0, return_inverse=True)
    return number.ravel().astype(np.int64), [tuple(row) for row in distinct.tolist()]


def _changes(values: Ids) -> Mask:
    changed = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed
