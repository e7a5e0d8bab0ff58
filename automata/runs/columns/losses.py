"""Runs that no event extends over an edge, by the cause of the last event tried.

What is tried are the solutions of the edge's step that come after the run, but none after the first one that its window
or a limit keeps out. Under `,` they are those that stand right after it: another event in that place ends it. Under `;`
an event that takes another branch ends it. The cause is the first in the order of `Cause` that holds for the last event
tried; of an event with several solutions that of the one which comes furthest. A run whose repetitions do not let it
take the edge tries nothing.

So a run is decided once one event is known that ends it. Until then its row is kept, and of the solutions of each step
those of the latest time: they are the last ones of runs that nothing ends. Nothing is looked at before there is as much
to look at as there are runs that wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from arrays.times import AFTER_ALL
from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.chains.table import ROOT
from automata.plan.automaton import START
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.runs.columns.partition_events import PartitionEvents
from automata.runs.columns.trials import Cause, Trials
from automata.slices.step_table import SEVERAL, StepTable
from automata.slices.timeline import Timeline
from automata.values import NONE, Ids, Mask

_SETTLED_SHARE = 4
"""Runs are looked at once a quarter as many runs and solutions have come as there are runs that wait."""


class Losses:
    """Counts what the edges of one plan lose; every run of it must be a row."""

    def __init__(self, chains: ChainStore, timeline: Timeline) -> None:
        self._chains, self._plan, self._timeline = chains, chains.plan, timeline
        edges = [number for number in range(len(self._plan.edges)) if _is_told(self._plan, number)]
        self._trials, self._edges = Trials(chains), edges
        self._begins = [number for number in edges if self._plan.edges[number].source == START]
        self._onward = [number for number in edges if number not in self._begins]
        chains.undecided.update({number: np.zeros(0, dtype=np.int64) for number in self._onward})
        self._arrived: dict[int, list[Ids]] = {self._plan.edges[number].source: [] for number in self._onward}
        self._extended: dict[int, list[Ids]] = {number: [] for number in self._onward}
        self._begun: set[int] = set()
        self._came: dict[int, list[StepTable]] = {self._plan.edges[number].target: [] for number in edges}
        self._latest: dict[int, StepTable] = {}
        strict = any(self._plan.edges[number].operator is Contiguity.STRICT for number in self._onward)
        self._events = PartitionEvents() if strict and self._plan.program.partition else None
        self._unseen = 0

    def pass_by(self, tables: Iterable[StepTable]) -> None:
        """All solutions of the next slice, of negated steps, too."""
        if self._events is not None:
            self._unseen += self._events.add(tables)

    def see(self, tables: Mapping[int, StepTable]) -> None:
        """The solutions of the next slice, by position."""
        for position, table in tables.items():
            if position in self._came and len(table):
                self._came[position].append(table)
                self._unseen += len(table)

    def arrive(self, position: int, rows: Ids) -> None:
        """Runs have come to a position."""
        if position in self._arrived:
            self._arrived[position].append(rows)
            self._unseen += len(rows)

    def extend(self, number: int, rows: Ids) -> None:
        """Runs have taken an edge, each once or more often."""
        if number in self._extended:
            self._extended[number].append(rows)
        elif len(rows):
            self._begun.add(number)

    def look(self) -> None:
        """The slice is over: decides what can be decided, if enough has come."""
        if _SETTLED_SHARE * self._unseen >= sum(map(len, self._chains.undecided.values())):
            self.settle()

    def settle(self) -> None:
        """Decides what can be decided."""
        came = {position: StepTable.concatenate(tables) for position, tables in self._came.items() if tables}
        for number in self._onward:
            edge = self._plan.edges[number]
            rows = self._waiting(number)
            rows = rows[~self._rivalled(number, rows)]
            end = self._first_outside
            if edge.operator is Contiguity.STRICT:
                end = self._nearest if self._events is None else self._nearest_in_partition
            self._chains.undecided[number] = end(number, rows, came.get(edge.target))
        for position, table in came.items():
            known = StepTable.concatenate([self._latest[position], table]) if position in self._latest else table
            self._latest[position] = known.take(known.times == known.times[-1])
        self._came = {position: [] for position in self._came}
        self._arrived = {position: [] for position in self._arrived}
        self._extended = {number: [] for number in self._extended}
        if self._events is not None:
            self._events.forget()
        self._unseen = 0

    def finish(self) -> None:
        """The streams have ended: decides the rest."""
        self.settle()
        for number in self._onward:
            rows = self._chains.undecided[number]
            latest = self._latest.get(self._plan.edges[number].target)
            if latest is not None and self._plan.edges[number].operator is not Contiguity.STRICT:
                rows = self._trials.count(number, rows, latest, np.zeros_like(rows), np.full_like(rows, len(latest)))
            self._trials.counts[number][Cause.END] += len(rows)
            self._chains.undecided[number] = rows[:0]
        for number in self._begins:
            latest = self._latest.get(self._plan.edges[number].target)
            if number not in self._begun and latest is not None:
                self._trials.count_at_start(number, ROOT, latest)
            elif number not in self._begun:
                self._trials.counts[number][Cause.END] += 1

    def counts(self) -> list[Mapping[str, int] | None]:
        """By edge of the plan the runs that it has lost so far, by cause; None: it is not told."""
        found: list[Mapping[str, int] | None] = [None] * len(self._plan.edges)
        for number in self._edges:
            counts = self._trials.counts[number]
            found[number] = {cause.name.lower(): counts[cause] for cause in Cause if counts[cause]}
        return found

    def live_ids(self) -> list[Ids]:
        """Columns of the ids in the solutions that are kept."""
        kept = [*self._latest.values(), *(table for tables in self._came.values() for table in tables)]
        return [np.unique(column) for table in kept for column in table.values.values()]

    # --- what ends a run --------------------------------------------------------------------------

    def _waiting(self, number: int) -> Ids:
        """The runs that wait at an edge and have not taken it; counts those that it is not open to."""
        edge = self._plan.edges[number]
        fresh = np.concatenate([self._chains.undecided[number][:0], *self._arrived[edge.source]])
        able = self._chains.extender.able(self._chains.runs, number, fresh)
        self._trials.counts[number][Cause.ITERATIONS] += len(fresh) - len(able)
        rows = np.concatenate((self._chains.undecided[number], able))
        extended = np.zeros(self._chains.runs.size, dtype=np.bool_)
        for taken in self._extended[number]:
            extended[taken] = True
        left: Ids = rows[~extended[rows]]
        return left

    def _rivalled(self, number: int, rows: Ids) -> Mask:
        """A mask of the runs that another branch has extended under `;`; counts them."""
        closed = np.zeros(len(rows), dtype=np.bool_)
        for column, mask in self._chains.layout.closed_masks(self._plan.edges[number].blockers).items():
            closed |= self._chains.runs.column(rows, column) & mask != 0
        self._trials.counts[number][Cause.CONTIGUITY] += int(np.count_nonzero(closed))
        return closed

    def _nearest(self, number: int, rows: Ids, table: StepTable | None) -> Ids:
        """Counts the runs that an event has followed, by what stands right after them; returns the others."""
        runs, slot = self._chains.runs, self._chains.runs.column(rows, col.SLOT)
        inside = (runs.column(rows, col.TAIL) == 0) & (runs.column(rows, col.HIGH_STREAM) != SEVERAL)
        over = (self._timeline.slot(0) > slot) | inside
        followed, slot = rows[over], slot[over]
        if table is not None:
            begin, end = np.searchsorted(table.slots, slot), np.searchsorted(table.slots, slot + 1, "right")
            followed = self._trials.count(number, followed, table, begin, end)
        self._trials.counts[number][Cause.CONTIGUITY] += len(followed)
        left: Ids = rows[~over]
        return left

    def _nearest_in_partition(self, number: int, rows: Ids, table: StepTable | None) -> Ids:
        """As `_nearest`; a solution of another partition ends those whose window or limit does not reach so far."""
        runs, last = self._chains.runs, np.full(len(rows), AFTER_ALL, dtype=np.int64)
        if table is not None:
            last = np.append(table.low, AFTER_ALL)[self._trials.outside(number, rows, table)]
        assert self._events is not None
        columns = (runs.column(rows, c) for c in (col.PARTITION, col.HIGH_TIME, col.HIGH_STREAM, col.HIGH))
        following, times = self._events.following(*columns)
        near = (following <= last) & (following < AFTER_ALL)
        followed = rows[near]
        if table is not None:
            ordered = table.take(np.lexsort((table.low, table.times, table.partitions)))
            begin, end = _ranges(ordered, runs.column(followed, col.PARTITION), times[near])
            followed = self._trials.count(number, followed, ordered, begin, end)
        self._trials.counts[number][Cause.CONTIGUITY] += len(followed)
        over = ~near & (last < AFTER_ALL)
        self._trials.counts[number][Cause.JOIN] += int(np.count_nonzero(over))
        left: Ids = rows[~near & ~over]
        return left

    def _first_outside(self, number: int, rows: Ids, table: StepTable | None) -> Ids:
        """Counts the runs that a solution outside of their window or limit has followed; returns the others."""
        if table is None or not len(rows):
            return rows
        first = self._trials.outside(number, rows, table)
        over = first < len(table)
        last = np.searchsorted(table.low, table.low[first[over]], "right")
        self._trials.count(number, rows[over], table, first[over], last)
        return rows[~over]


def _is_told(plan: Plan, number: int) -> bool:
    """True if the columns tell what an edge loses.

    Not so where an event's graph has to be at hand, and where windows count events but in one order of all: the places
    of events of other partitions are not known. With USING an event may be in several partitions.
    """
    edge, program = plan.edges[number], plan.program
    conditions = (program.conditions[point.condition] for point in plan.positions[edge.target].arriving)
    if any(condition.needs_event for condition in conditions) or not plan.positions[edge.target].symbols:
        return False
    if program.partition and (program.window.in_events or program.using != NONE):
        return False
    return program.window.hop is None and not (program.window.in_events and plan.whole_slots)


def _ranges(table: StepTable, partitions: Ids, times: Ids) -> tuple[Ids, Ids]:
    """The ranges of the rows with these partitions and times in a table that is sorted by them."""
    known, distinct_times = np.unique(table.partitions), np.unique(table.times)
    codes = np.searchsorted(known, table.partitions) * len(distinct_times) + np.searchsorted(
        distinct_times, table.times
    )
    which, when = (np.searchsorted(column, asked) for column, asked in ((known, partitions), (distinct_times, times)))
    there = (np.append(known, NONE)[which] == partitions) & (np.append(distinct_times, NONE)[when] == times)
    asked = np.where(there, which * len(distinct_times) + when, NONE)
    return np.searchsorted(codes, asked), np.searchsorted(codes, asked, "right")
