"""Matches as columns: where they are many, no object is made for one that nobody looks at by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from arrays.wanted import check_wanted
from automata.matches.selection import Candidate, candidate_of, report_order
from automata.values import NONE, Ids, Mask, Match

FIRST, LAST, START, TIME, PARTITION = range(5)
"""The columns of `MatchTable.facts`; see Match."""
SYMBOL, POSITION, SOLUTION = range(3)
"""The columns of `MatchTable.entries`."""
_KEY_MAX = np.iinfo(np.int64).max
_ROOM_MAX = 8
"""Matches differ so much in length that a matrix of them would take so many times the memory of their entries."""


@dataclass(frozen=True, eq=False)
class MatchTable(Sequence[Match]):
    """n matches with m entries in all; each is made into a Match when it is asked for.

    facts       int64[n, 5]
    registers   int64[n, variables]
    outputs     int64[n, outputs of the program]
    entries     int64[m, 3], by match, position and symbol; every match has one at least
    ends        int64[n], where the entries of each match end
    """

    facts: NDArray[np.int64]
    registers: NDArray[np.int64]
    outputs: NDArray[np.int64]
    entries: NDArray[np.int64]
    ends: Ids

    def __len__(self) -> int:
        return len(self.facts)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> list[Match]: ...
    def __getitem__(self, index: int | slice) -> Match | list[Match]:
        """Made anew each time."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        entries = self.entries[self.starts[index] : self.ends[index]].tolist()
        registers, outputs = tuple(self.registers[index].tolist()), tuple(self.outputs[index].tolist())
        return Match(tuple(map(_entry, entries)), registers, outputs, *self.facts[index].tolist())

    def __iter__(self) -> Iterator[Match]:
        """All of them, as long as they are wanted, more quickly than one by one."""
        entries, begin = list(map(_entry, self.entries.tolist())), 0
        columns = (column.tolist() for column in (self.registers, self.outputs, self.facts, self.ends))
        for registers, outputs, facts, end in zip(*columns, strict=True):
            check_wanted()
            yield Match(tuple(entries[begin:end]), tuple(registers), tuple(outputs), *facts)
            begin = end

    @cached_property
    def sizes(self) -> Ids:
        """The number of entries of each match."""
        sizes = self.ends.copy()
        sizes[1:] -= self.ends[:-1]
        return sizes

    @cached_property
    def width(self) -> int:
        """The number of entries that every match has; 0 if they differ."""
        alike = len(self) and self.ends[0] * len(self) == self.ends[-1] and bool((self.sizes == self.ends[0]).all())
        return int(self.ends[0]) if alike else 0

    @property
    def starts(self) -> Ids:
        """The index of the first entry of each match."""
        return self.ends - self.sizes

    def take(self, rows: Ids) -> MatchTable:
        """These matches, in this order."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        if self.width:
            entries = self.entries.reshape(len(self), -1)[rows].reshape(-1, self.entries.shape[1])
        else:
            places = np.repeat(self.starts[rows] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)
            entries = self.entries[places]
        return MatchTable(self.facts[rows], self.registers[rows], self.outputs[rows], entries, ends)

    def part(self, begin: int, end: int) -> MatchTable:
        """Matches begin … end - 1, which share the columns of this table; neither lies behind its end."""
        first = int(self.ends[begin - 1]) if begin else 0
        last = int(self.ends[end - 1]) if end else 0
        rows, ends = slice(begin, end), self.ends[begin:end] - first
        return MatchTable(self.facts[rows], self.registers[rows], self.outputs[rows], self.entries[first:last], ends)

    @staticmethod
    def concatenate(tables: Sequence[MatchTable]) -> MatchTable:
        """All matches of the tables, one table after the other; at least one table."""
        if len(tables) == 1:
            return tables[0]
        columns = (
            np.concatenate([getattr(table, name) for table in tables])
            for name in ("facts", "registers", "outputs", "entries", "sizes")
        )
        facts, registers, outputs, entries, sizes = columns
        return MatchTable(facts, registers, outputs, entries, np.cumsum(sizes))

    def positions(self) -> NDArray[np.int64] | None:
        """int64[n, longest]: the positions of each match, ascending, -1 after the last.

        None where a match takes an event twice, or where there would be too many of -1.
        """
        if self.width:
            taken = self.entries[:, POSITION].reshape(-1, self.width)
            return taken if bool((taken[:, 1:] > taken[:, :-1]).all()) else None
        longest = int(self.sizes.max()) if len(self) else 0
        if longest * len(self) > _ROOM_MAX * max(len(self.entries), 1):
            return None
        taken, later = self.entries[:, POSITION], _places(self)[1:] > 0
        if later.any() and (taken[1:] <= taken[:-1])[later].any():
            return None
        return _as_matrix(self, POSITION, longest)

    def like_previous(self) -> Mask:
        """Mask of the matches with the steps and events of the match before them."""
        same = np.zeros(len(self), dtype=np.bool_)
        if self.width:
            steps = self.entries[:, :SOLUTION].reshape(len(self), -1)
            same[1:] = (steps[1:] == steps[:-1]).all(axis=1)
            return same
        same[1:] = self.sizes[1:] == self.sizes[:-1]
        here = np.flatnonzero(np.repeat(same, self.sizes))
        steps, before = self.entries[here], self.entries[here - np.repeat(self.sizes, self.sizes)[here]]
        equal = (steps[:, :SOLUTION] == before[:, :SOLUTION]).all(axis=1)
        sizes = self.sizes[same]
        if len(sizes):
            same[same] = np.logical_and.reduceat(equal, np.cumsum(sizes) - sizes)
        return same


def all_of(pieces: Sequence[Sequence[Match]]) -> Sequence[Match]:
    """The matches of all pieces, one after the other; columns where all that are not empty are."""
    tables = [piece for piece in pieces if len(piece) and isinstance(piece, MatchTable)]
    if tables and sum(map(len, tables)) == sum(map(len, pieces)):
        return MatchTable.concatenate(tables)
    return [match for piece in pieces for match in piece]


def in_order(table: MatchTable) -> MatchTable:
    """Each match once, however often it was reached, in report order, values aside (specification 3.5).

    For matches that are reported at their last event. Those of the very same events are compared one by one.
    """
    positions = table.positions()
    if positions is None:
        return table.take(_ordered(table, np.arange(len(table), dtype=np.int64)))
    keys = report_keys(positions, table.facts[:, LAST])
    if keys is not None:
        if bool((keys[1:] > keys[:-1]).all()):
            return table
        order = np.argsort(keys)
        ordered = keys[order]
        if bool((ordered[1:] > ordered[:-1]).all()):
            return table.take(order)
    order = np.lexsort((*positions.T[::-1], table.facts[:, LAST]))
    tied = _like_previous(positions[order])
    if not tied.any():
        return table if bool((order[1:] > order[:-1]).all()) else table.take(order)
    return table.take(_untied(table, order, tied, positions.shape[1]))


def report_keys(positions: NDArray[np.int64], lasts: Ids) -> Ids | None:
    """A number for each match, in the order of last positions and then of all positions; None where 63 bits are few.

    positions   int64[n, any]: of each match, ascending, -1 after the last
    lasts       the last position of each
    """
    if not len(lasts):
        return None
    back = np.where(positions < 0, NONE, lasts[:, np.newaxis] - positions)
    most, later = int(back.max()), lasts - lasts.min()
    room = most + 2
    if (positions > lasts[:, np.newaxis]).any() or (int(later.max()) + 1) * room ** positions.shape[1] > _KEY_MAX:
        return None
    keys: Ids = later
    for column in back.T:
        keys = keys * room + np.where(column == NONE, 0, room - 1 - column)
    return keys


def _untied(table: MatchTable, order: Ids, tied: Mask, longest: int) -> Ids:
    """The matches in order, each once, where those on the same events as the one before are tied."""
    alike = tied & table.take(order).like_previous()
    if not (tied & ~alike).any():
        reached = np.column_stack((np.cumsum(~tied), _as_matrix(table, SOLUTION, longest)[order]))
        _, first = np.unique(reached, axis=0, return_index=True)
        return order[np.sort(first)]
    parts = np.split(order, np.flatnonzero(~tied)[1:])
    return np.concatenate([group if len(group) == 1 else _ordered(table, group) for group in parts])


def _like_previous(rows: NDArray[np.int64]) -> Mask:
    same = np.zeros(len(rows), dtype=np.bool_)
    same[1:] = (rows[1:] == rows[:-1]).all(axis=1)
    return same


def _as_matrix(table: MatchTable, column: int, width: int) -> NDArray[np.int64]:
    """int64[n, width]: a column of the entries of each match, -1 after the last."""
    found = np.full((len(table), width), -1, dtype=np.int64)
    found[np.repeat(np.arange(len(table)), table.sizes), _places(table)] = table.entries[:, column]
    return found


def _places(table: MatchTable) -> Ids:
    return np.arange(len(table.entries)) - np.repeat(table.starts, table.sizes)


def _ordered(table: MatchTable, rows: Ids) -> Ids:
    """These matches, each once, in report order."""
    found: dict[tuple[tuple[int, int, int], ...], tuple[Candidate, int]] = {}
    for row in rows.tolist():
        match = table[row]
        if match.entries not in found:
            found[match.entries] = candidate_of(match), row
    ordered = sorted(found.values(), key=lambda pair: report_order(pair[0]))
    return np.array([row for _, row in ordered], dtype=np.int64)


def _entry(entry: list[int]) -> tuple[int, int, int]:
    return entry[0], entry[1], entry[2]
