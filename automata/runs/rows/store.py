"""Rows of runs as lists, synchronised with the table of columns on demand.

Both hold the same rows under the same numbers: what has only been written for columns is done on the table, between
`sync` and `pull`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.plan.program import Window
from automata.runs.columns.expiry import Bounds
from automata.runs.rows.all_join import RowAllJoin
from automata.runs.rows.buckets import Buckets, Key
from automata.runs.rows.candidates import StepCandidate
from automata.runs.rows.edges import RowEdge, RowPosition
from automata.runs.rows.row_table import Row, RowTable
from automata.values import NONE

READ_MAX = 2048
"""So many runs at a position are taken over at once; of more, those of a join key when it is asked for."""


class Store:
    """The rows, and those of the runs that an event may still extend, by position and join key.

    rows    the same table for ever
    """

    def __init__(
        self, core: ChainStore, places: Sequence[RowPosition], partitioned: bool, rows: RowTable, all_join: RowAllJoin
    ) -> None:
        self.core = core
        self._places = places
        self._partitioned = partitioned
        self._keys = [[key_of(index, col.FIXED) for index in place.indexes] for place in places]
        self._adjacent = [position for position, place in enumerate(places) if place.only_strict]
        self.rows = rows
        self._all_join = all_join
        self.active: list[list[Buckets]] = []
        self._new: list[list[int]] = [[] for _ in places]
        self._gone: list[list[int]] = [[] for _ in places]
        self._lazy = [False] * len(places)
        self._counted = partitioned and core.plan.program.window.in_events
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        self._synced = 0
        self._changing = core.layout.changing
        self._changed: set[int] = set()

    def enter(self) -> None:
        """Take the runs over from their columns: few of them now, many as their keys are asked for."""
        self.rows.clear()
        self._waiting.clear()
        self.pull()
        self.active = [self._buckets(position) for position in range(len(self._places))]
        for position, active in enumerate(self.core.active):
            if not self._lazy[position]:
                for number in active.rows.tolist():
                    self._index(position, number)
        self._all_join.enter()

    def leave(self) -> None:
        """Give the runs that have come, and those that have gone, back as columns; all are in the table."""
        for active, new, gone in zip(self.core.active, self._new, self._gone, strict=True):
            active.add(np.array(new, dtype=np.int64))
            active.remove(np.unique(np.array(gone, dtype=np.int64)))
            new.clear()
            gone.clear()
        self._all_join.leave()

    def sync(self) -> None:
        """Bring the table up to date."""
        runs = self.core.runs
        if len(self.rows) > self._synced:
            runs.append(np.array(self.rows.since(self._synced), dtype=np.int64))
            self._synced = len(self.rows)
        for number in self._changed:
            for column in self._changing:
                runs.table[number, column] = self.rows[number][column]
        self._changed.clear()

    def pull(self) -> None:
        """Take over the rows that have been added to the table."""
        self.rows.pull()
        self._synced = len(self.rows)

    def add(self, position: int, number: int) -> None:
        """A run has reached a position that it may go on from."""
        self._new[position].append(number)
        self._index(position, number)

    def remove(self, position: int, number: int) -> None:
        """A run can go on no more."""
        row = self.rows[number]
        self._gone[position].append(number)
        for key, index in zip(self._keys[position], self.active[position], strict=True):
            index.remove(key(row), number)

    def change(self, number: int) -> None:
        """A row that may be in the table already has changed."""
        if number < self._synced:
            self._changed.add(number)

    def close(self, edge: RowEdge, number: int) -> None:
        """A run has taken an edge under skip-till-next."""
        row = self.rows[number]
        row[edge.closed] |= edge.bit
        self.change(number)
        every = self._places[edge.source].all_closed
        if row[edge.closed] == every.get(edge.closed) and all(row[column] == every[column] for column in every):
            self.remove(edge.source, number)

    def pass_by(self, single: Mapping[int, Sequence[StepCandidate]]) -> None:
        """Removes the runs that only the event just consumed could extend; `single`: symbol → its candidates."""
        if not self._partitioned:
            for position in self._adjacent:
                for bucket in self.active[position][0].values() if self.active[position] else ():
                    self._gone[position] += bucket
                for index in self.active[position]:
                    index.clear()
            return
        for partition in {candidate.moment.partition for candidates in single.values() for candidate in candidates}:
            for position, number in self._waiting.pop(partition, ()):
                self.remove(position, number)

    def count(self) -> int:
        """The number of runs that an event may still extend."""
        return sum(map(len, self.core.active)) + sum(map(len, self._new)) - sum(map(len, self._gone))

    def expire(self, bounds: Bounds, window: Window) -> None:
        """Drop runs that are over, right after `leave`."""
        timeline = bounds.ranks

        def over(row: Row) -> bool:
            if row[col.FIRST] == NONE:
                return False
            if timeline is not None and not timeline.reaches(window, row[col.PARTITION], row[col.FIRST_RANK]):
                return True
            return row[col.FIRST_TIME] < bounds.time or row[col.WINDOW] < bounds.window

        for position, (place, active) in enumerate(zip(self._places, self.core.active, strict=True)):
            if self._lazy[position]:
                active.expire(bounds.now, None if timeline is None else timeline.rank(0))
                self.active[position] = self._buckets(position)
                continue
            edges = place.lapses
            for number in active.rows.tolist():
                row = self.rows[number]
                if over(row) or (edges and max([edge.last(row) for edge in edges]) < bounds.now):
                    self.remove(position, number)
        self._all_join.drop(over, bounds.now)

    def _buckets(self, position: int) -> list[Buckets]:
        """The empty indexes of a position; of many runs each reads those of a key."""
        places = self._places[position].indexes
        whole = self._counted or self._places[position].only_strict or not places
        self._lazy[position] = not whole and len(self.core.active[position]) > READ_MAX
        return [Buckets(partial(self._read, position, n) if self._lazy[position] else None) for n in range(len(places))]

    def _read(self, position: int, number: int, key: Key) -> list[int]:
        """The runs of a key that are in columns and have not gone since."""
        variables = self._places[position].indexes[number]
        values = key if isinstance(key, tuple) else (key,)
        numbers = self.core.active[position].with_values(variables, values).tolist()
        read, gone = self._keys[position][number], set(self._gone[position])
        rows = zip(numbers, self.rows.load(numbers), strict=True)
        return [each for each, row in rows if each not in gone and read(row) == key]

    def _index(self, position: int, number: int) -> None:
        row = self.rows[number]
        for key, index in zip(self._keys[position], self.active[position], strict=True):
            index.add(key(row), number)
        if self._partitioned and self._places[position].only_strict:
            self._waiting.setdefault(row[col.PARTITION], []).append((position, number))


def key_of(places: tuple[int, ...], first: int) -> Callable[[Sequence[int]], Key]:
    """Reads the values at these places off a row or a solution."""
    if not places:
        return lambda _: ()
    getter: Callable[[Sequence[int]], Key] = itemgetter(*(first + place for place in places))
    return getter
