"""Active runs, indexed by what can extend them and by what ends them (G Section 7.1).

An event meets only runs it may extend, and no slice looks at a run that it neither extends nor ends. Runs are appended
as they come, and become part of an index once enough of them are not; one that is over stays in it until a share of
what is found there is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arrays.columns import distinct, hash_columns
from arrays.times import TIME_NS_MAX
from automata.chains import columns as col
from automata.chains.clocks import lapse
from automata.chains.extend import Extender
from automata.chains.sorted_runs import SortedRuns
from automata.chains.table import Runs
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.slices.step_table import StepTable
from automata.slices.timeline import deadline
from automata.values import NONE, Ids, Mask

_UNSORTED_MAX = 512
"""Runs that may wait to be indexed; with no more runs than that, looking at every one is the faster way."""
_SCAN_FACTOR = 4
"""With no more runs than this many times the events it is the faster way, too."""
_OLDEST_SHARE = 4
"""The oldest run is looked for again once a quarter of the runs have come or gone."""


class ActiveRuns:
    """The runs at one position that an event may still extend.

    looked_at   how many runs lookups have found, and expiry has ended
    """

    def __init__(self, plan: Plan, position: int, runs: Runs, extender: Extender) -> None:
        self._plan = plan
        self._position = position
        self._edges = [(number, plan.edges[number]) for number in plan.positions[position].onward]
        self._runs = runs
        self._extender = extender
        self.looked_at = 0
        self._buffer: Ids = np.zeros(0, dtype=np.int64)
        self._size = self._count = 0
        self._sorted = self._scheduled = self._found_gone = self._left = 0
        self._fresh: Ids = self._buffer
        self._by_key: dict[int, SortedRuns] = {}
        self._by_values: dict[tuple[int, ...], tuple[SortedRuns, int]] = {}
        self._by_window, self._by_lapse = SortedRuns(), SortedRuns()
        self._least: dict[int, tuple[int | None, int]] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Ids:
        """All of them, in the order in which they came."""
        rows = self._buffer[: self._size]
        return rows if self._count == self._size else rows[self._runs.standing[rows]]

    def add(self, rows: Ids) -> None:
        """More runs."""
        needed = self._size + len(rows)
        if needed > len(self._buffer):
            grown = np.empty(max(needed, 2 * len(self._buffer)), dtype=np.int64)
            grown[: self._size] = self._buffer[: self._size]
            self._buffer = grown
        self._buffer[self._size : needed] = rows
        self._runs.standing[rows] = True
        self._size = needed
        self._count += len(rows)

    def remove(self, rows: Ids) -> None:
        """Drops these runs, as far as they are here; each is named once."""
        rows = rows[self._runs.standing[rows]]
        self._runs.standing[rows] = False
        self._count -= len(rows)
        self._left += len(rows)
        if self._size > 2 * (self._count + _UNSORTED_MAX):
            self.forget_gone()

    def keep(self, mask: Mask) -> None:
        """Drops the runs that the mask, in the order of `rows`, does not name."""
        if not mask.all():
            self.remove(self.rows[~mask])

    def replace(self, rows: Ids) -> None:
        """These runs and no others."""
        self._runs.standing[self.rows] = False
        self._reset(rows)

    def renumber(self, renumbered: Ids) -> None:
        """The rows have been compacted, right after `forget_gone`: old number → new."""
        self._buffer = renumbered[self._buffer[: self._size]]
        self._fresh = renumbered[self._fresh]
        for index in self._indexes():
            index.renumber(renumbered)

    def lookup(self, tables: Mapping[int, StepTable]) -> Ids:
        """The runs that these events may extend, and perhaps some more."""
        reached = [
            (number, table)
            for number, edge in self._edges
            if (table := tables.get(edge.target)) is not None and len(table)
        ]
        events = sum(len(table) for _, table in reached)
        if not reached or not self._count:
            return self._buffer[:0]
        if self._count <= max(_UNSORTED_MAX, _SCAN_FACTOR * events):
            found = self.rows
        else:
            self._sort()
            found = self._standing([self._search(number, table) for number, table in reached])
        self.looked_at += len(found)
        return found

    def waiting_in(self, partitions: Ids) -> Ids:
        """The runs of these partitions, each named once, and perhaps some more; all where there are no partitions."""
        if not self._waits_in_partition or self._count <= _UNSORTED_MAX:
            return self.rows
        self._sort()
        return self._standing([self._by_key[NONE].equal(partitions)] if self._by_key else [])

    def with_values(self, variables: tuple[int, ...], values: Sequence[int]) -> Ids:
        """The runs that have bound these variables to these values, and perhaps some whose hash is the same."""
        index, until = self._by_values.get(variables, (SortedRuns(), 0))
        rows = self._buffer[until : self._size]
        rows = rows[self._runs.standing[rows]]
        index.add(hash_columns([self._runs.register(rows, variable) for variable in variables], len(rows)), rows)
        self._by_values[variables] = index, self._size
        found = index.equal(hash_columns([np.array([value], dtype=np.int64) for value in values], 1))
        return found[self._runs.standing[found]]

    def expire(self, now: int, rank: int | None) -> None:
        """Drops runs that are over.

        now     no event before this time will come
        rank    of the next event, where windows count events that are in no partitions
        """
        self._schedule()
        over = [self._by_window.pop_below(now if rank is None else rank), self._by_lapse.pop_below(now)]
        for rows in over:
            self.looked_at += len(rows)
            self.remove(rows)

    def least(self, column: int) -> int | None:
        """A lower bound of a column of first events over the runs that have one; None: there is no such run.

        Runs that have gone count until they are a quarter of those that are here.
        """
        bound, until = self._least.get(column, (None, 0))
        rows = self._buffer[until : self._size]
        if _OLDEST_SHARE * self._left > self._count:
            self._least.clear()
            self._left, bound, rows = 0, None, self._buffer[: self._size]
        rows = rows[self._runs.standing[rows]]
        rows = rows[self._runs.column(rows, col.FIRST) != NONE]
        if len(rows):
            least = int(self._runs.column(rows, column).min())
            bound = least if bound is None else min(bound, least)
        self._least[column] = bound, self._size
        return bound if self._count else None

    # --- indexes ----------------------------------------------------------------------------------

    def _standing(self, indexed: Sequence[Ids]) -> Ids:
        """Of these indexed runs and of those that are not indexed the ones that are still here."""
        found = distinct([self._fresh, self._buffer[self._sorted : self._size], *indexed])
        standing = self._runs.standing[found]
        self._found_gone += len(found) - int(np.count_nonzero(standing))
        if self._found_gone > self._count:
            self._found_gone = 0
            for index in self._by_key.values():
                index.keep(self._runs.standing)
        return found[standing]

    def _reset(self, rows: Ids) -> None:
        """These runs, of which none is indexed."""
        self._buffer = rows.copy()
        self._size = self._count = len(rows)
        self._runs.standing[rows] = True
        self._sorted = self._scheduled = self._found_gone = self._left = 0
        self._fresh = rows[:0]
        self._by_key = {}
        self._by_values = {}
        self._by_window, self._by_lapse = SortedRuns(), SortedRuns()
        self._least = {}

    def _indexes(self) -> list[SortedRuns]:
        return [
            *self._by_key.values(),
            *(index for index, _ in self._by_values.values()),
            self._by_window,
            self._by_lapse,
        ]

    def forget_gone(self) -> None:
        """Drops runs that are over from list and indexes."""
        rows = self._buffer[: self._size]
        standing = self._runs.standing[rows]
        ends = np.concatenate(([0], np.cumsum(standing)))
        self._sorted, self._scheduled = int(ends[self._sorted]), int(ends[self._scheduled])
        self._by_values = {v: (index, int(ends[until])) for v, (index, until) in self._by_values.items()}
        self._least = {column: (bound, int(ends[until])) for column, (bound, until) in self._least.items()}
        self._buffer = rows[standing]
        self._size = len(self._buffer)
        self._fresh = self._fresh[self._runs.standing[self._fresh]]
        for index in self._indexes():
            index.keep(self._runs.standing)

    def _schedule(self) -> None:
        """Enters the runs that have come since the last time into the indexes of what ends them."""
        rows, self._scheduled = self._buffer[self._scheduled : self._size], self._size
        rows = rows[self._runs.standing[rows]]
        if not len(rows):
            return
        window, runs = self._plan.program.window, self._runs
        if not (window.in_events and self._plan.program.partition):
            begun = rows[runs.column(rows, col.FIRST) != NONE]
            columns = (runs.column(begun, column) for column in (col.FIRST_TIME, col.FIRST_RANK, col.WINDOW))
            self._by_window.add(deadline(window, *columns), begun)
        last = lapse(self._plan, runs, self._position, rows)
        if last is not None:
            limited = last < TIME_NS_MAX
            self._by_lapse.add(last[limited], rows[limited])

    def _sort(self) -> None:
        """Enters the runs that are not indexed, if they are many; those without an event stay outside."""
        rows = self._buffer[self._sorted : self._size]
        if len(rows) <= _UNSORTED_MAX:
            return
        self._sorted = self._size
        rows = rows[self._runs.standing[rows]]
        fresh = self._runs.column(rows, col.FIRST) == NONE
        # Runs without an event have no partition, window and slot to be found by.
        self._fresh = np.concatenate((self._fresh[self._runs.standing[self._fresh]], rows[fresh]))
        rows = rows[~fresh]
        if self._waits_in_partition:
            self._by_key.setdefault(NONE, SortedRuns()).add(self._runs.column(rows, col.PARTITION), rows)
            return
        for number, _ in self._edges:
            if (keys := self._keys(number)) is not None:
                self._by_key.setdefault(number, SortedRuns()).add(keys(rows), rows)

    def _search(self, number: int, table: StepTable) -> Ids:
        """The indexed runs that a table may extend by an edge."""
        if self._waits_in_partition:
            return self._by_key[NONE].equal(np.unique(table.partitions)) if self._by_key else self._fresh
        if number not in self._by_key:
            return self.rows
        index = self._by_key[number]
        if self._is_adjacent(number):
            return index.at_least(int(table.slots.min()) - 1)
        return index.equal(self._extender.index(number, table, True).keys)

    def _keys(self, number: int) -> Callable[[Ids], Ids] | None:
        """The values by which the index of an edge is sorted; None: there is no index."""
        if self._is_adjacent(number):
            return None if self._extender.substream is not None else lambda rows: self._runs.column(rows, col.SLOT)
        return lambda rows: self._extender.hashes(self._runs, number, rows, True)

    @property
    def _waits_in_partition(self) -> bool:
        """True if every run here is over with the next event of its partition: that event finds it."""
        return bool(self._plan.program.partition) and self._plan.positions[self._position].only_strict

    def _is_adjacent(self, number: int) -> bool:
        """True if only runs that have just taken an event take the edge."""
        edge = self._plan.edges[number]
        return edge.operator is Contiguity.STRICT and not edge.closes and not self._plan.program.partition
