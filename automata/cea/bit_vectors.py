"""From the solutions of a slice to letters: what each event means to each key.

An *entry* is one (event, key, symbol) with all its solutions; entries and solutions are numbered through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids

POSITION, SYMBOL, MOMENT, TIME, SUBSTREAM, FIRST, COUNT = range(7)
"""Columns of an entry; FIRST and COUNT are those of its solutions."""


class Log:
    """Rows that are numbered through, appended at the end and forgotten from the beginning."""

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
        """The rows that are left, the first of which is number `first`."""
        return self._table[self._begin : self._end]

    def append(self, rows: Ids) -> None:
        """Adds rows at the end."""
        if self._end + len(rows) > len(self._table):
            self._make_room(len(rows))
        self._table[self._end : self._end + len(rows)] = rows
        self._end += len(rows)

    def go_on(self, first: int, rows: Ids) -> None:
        """Go on from these rows, the first of which has this number; there has been none before."""
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

    def forget(self, before: int) -> None:
        """Forgets the rows with lower numbers."""
        count = min(max(before - self.first, 0), self._end - self._begin)
        self._begin += count
        self.first += count


@dataclass(frozen=True, slots=True)
class Solved:
    """The solutions of a slice, sorted by (event, key, symbol), with the borders of entries and letters.

    events, symbols, keys   of each solution; a key is a number of the slice
    values                  int64[n, variables]
    entries                 the first solution of each entry
    letters                 the first entry of each letter
    bits                    the symbols of each letter
    """

    events: Ids
    symbols: Ids
    keys: Ids
    values: Ids
    entries: Ids
    bit_vectors: Ids
    bits: Ids


def solve(
    solutions: Mapping[int, SymbolSolutions], key: Sequence[int], variables: int, symbols: int
) -> tuple[Solved, list[tuple[int, ...]]]:
    """The solutions in order, and the keys that occur: values of the variables `key`. Without a key there is none."""
    used = [(symbol, table) for symbol, table in sorted(solutions.items()) if len(table.events)]
    values = np.concatenate([_values(table, variables) for _, table in used] or [np.zeros((0, variables), np.int64)])
    events = np.concatenate([table.events for _, table in used] or [np.zeros(0, np.int64)])
    symbol = np.repeat([number for number, _ in used], [len(table.events) for _, table in used]).astype(np.int64)
    keyed = (values[:, list(key)] != UNBOUND).all(axis=1)
    if not keyed.all():
        values, events, symbol = values[keyed], events[keyed], symbol[keyed]
    keys, distinct = _numbered(values[:, list(key)])
    letter = events * max(len(distinct), 1) + keys
    order = np.argsort(letter * symbols + symbol, kind="stable")
    letter, symbol = letter[order], symbol[order]
    entries = np.flatnonzero(_changes(letter) | _changes(symbol))
    bit_vectors = np.flatnonzero(_changes(letter[entries]))
    bits = np.bitwise_or.reduceat(np.int64(1) << symbol[entries], bit_vectors) if len(bit_vectors) else bit_vectors
    return Solved(events[order], symbol, keys[order], values[order], entries, bit_vectors, bits), distinct


def _values(table: SymbolSolutions, variables: int) -> Ids:
    values = np.zeros((len(table.events), variables), dtype=np.int64)
    for variable, column in table.values.items():
        values[:, variable] = column
    return values


def _numbered(columns: Ids) -> tuple[Ids, list[tuple[int, ...]]]:
    """Each row's number among the distinct rows, and those."""
    if not columns.shape[1]:
        return np.zeros(len(columns), dtype=np.int64), [()]
    if columns.shape[1] == 1:
        alone, number = np.unique(columns[:, 0], return_inverse=True)
        return number.astype(np.int64), [(value,) for value in alone.tolist()]
    distinct, number = np.unique(columns, axis=0, return_inverse=True)
    return number.ravel().astype(np.int64), [tuple(row) for row in distinct.tolist()]


def _changes(values: Ids) -> Ids:
    changed = np.ones(len(values), dtype=np.int64)
    changed[1:] = values[1:] != values[:-1]
    return changed
