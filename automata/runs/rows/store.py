"""Rows of runs as lists, synchronised with the table of columns on demand.

Both hold the same rows under the same numbers: what has only been written for columns is done on the table, between
`sync` and `pull`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

import numpy as np

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.plan.program import Window
from automata.runs.columns.expiry import Bounds
from automata.runs.rows.all_join import RowAllJoin
from automata.runs.rows.candidates import StepCandidate
from automata.runs.rows.edges import RowEdge, RowPosition
from automata.values import NONE

Row = list[int]
Key = int | tuple[int, ...]
_Index = dict[Key, list[int]]


class Store:
    """The rows, and those of the runs that an event may still extend, by position and join key.

    rows    the same list for ever
    """

    def __init__(
        self, core: ChainStore, places: Sequence[RowPosition], partitioned: bool, rows: list[Row], all_join: RowAllJoin
    ) -> None:
        self.core = core
        self._places = places
        self._partitioned = partitioned
        self._keys = [[key_of(index, col.FIXED) for index in place.indexes] for place in places]
        self._adjacent = [position for position, place in enumerate(places) if place.only_strict]
        self.rows = rows
        self._all_join = all_join
        self.active: list[list[_Index]] = []
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        self._synced = 0
        self._changing = core.layout.changing
        self._changed: set[int] = set()

    def enter(self) -> None:
        """Take the runs over from their columns."""
        self.rows.clear()
        self.active = [[{} for _ in place.indexes] for place in self._places]
        self._waiting.clear()
        self._synced = 0
        self.pull()
        for position, active in enumerate(self.core.active):
            for number in active.rows.tolist():
                self.add(position, number)
        self._all_join.enter()

    def leave(self) -> None:
        """Give the runs back as columns; all are in the table."""
        for position, active in enumerate(self.core.active):
            active.replace(np.array(sorted(self.current(position)), dtype=np.int64))
        self._all_join.leave()

    def sync(self) -> None:
        """Bring the table up to date."""
        runs = self.core.runs
        if len(self.rows) > self._synced:
            runs.append(np.array(self.rows[self._synced :], dtype=np.int64))
            self._synced = len(self.rows)
        for number in self._changed:
            for column in self._changing:
                runs.table[number, column] = self.rows[number][column]
        self._changed.clear()

    def pull(self) -> None:
        """Take over the rows that have been added to the table."""
        runs = self.core.runs
        self.rows += runs.table[self._synced : runs.size].tolist()
        self._synced = runs.size

    def add(self, position: int, number: int) -> None:
        """A run has reached a position that it may go on from."""
        row = self.rows[number]
        for key, index in zip(self._keys[position], self.active[position], strict=True):
            index.setdefault(key(row), []).append(number)
        if self._partitioned and self._places[position].only_strict:
            self._waiting.setdefault(row[col.PARTITION], []).append((position, number))

    def remove(self, position: int, number: int) -> None:
        """A run can go on no more."""
        row = self.rows[number]
        for key, index in zip(self._keys[position], self.active[position], strict=True):
            found = key(row)
            bucket = index.get(found, [])
            if number in bucket:
                bucket.remove(number)
                if not bucket:
                    del index[found]

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
                for index in self.active[position]:
                    index.clear()
            return
        for partition in {candidate.moment.partition for candidates in single.values() for candidate in candidates}:
            for position, number in self._waiting.pop(partition, ()):
                self.remove(position, number)

    def count(self) -> int:
        """The number of runs that an event may still extend."""
        return sum(len(bucket) for indexes in self.active for index in indexes[:1] for bucket in index.values())

    def current(self, position: int) -> Iterator[int]:
        """The runs at a position that an event may still extend."""
        if self.active[position]:
            for bucket in self.active[position][0].values():
                yield from bucket

    def expire(self, bounds: Bounds, window: Window) -> None:
        """Drop runs that are over."""
        timeline = bounds.ranks

        def over(row: Row) -> bool:
            if row[col.FIRST] == NONE:
                return False
            if timeline is not None and not timeline.reaches(window, row[col.PARTITION], row[col.FIRST_RANK]):
                return True
            return row[col.FIRST_TIME] < bounds.time or row[col.WINDOW] < bounds.window

        for position, place in enumerate(self._places):
            edges = place.lapses
            for number in list(self.current(position)):
                row = self.rows[number]
                if over(row) or (edges and max([edge.last(row) for edge in edges]) < bounds.now):
                    self.remove(position, number)
        self._all_join.drop(over, bounds.now)


def key_of(places: tuple[int, ...], first: int) -> Callable[[Sequence[int]], Key]:
    """Reads the values at these places off a row or a solution."""
    if not places:
        return lambda _: ()
    getter: Callable[[Sequence[int]], Key] = itemgetter(*(first + place for place in places))
    return getter
