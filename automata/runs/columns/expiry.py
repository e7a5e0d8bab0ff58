"""Which runs no later event can extend: their window has passed, or the steps that they wait for cannot come."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automata.chains.deferred import DeferredRuns, RunView
from automata.chains.table import CLOSED, FIRST, FIRST_RANK, FIRST_TIME, INSTANCE, PARTITION, SLOT, WINDOW
from automata.plan.automaton import START, Automaton
from automata.plan.expression import Contiguity
from automata.plan.program import Program
from automata.slices.step_table import StepTable
from automata.slices.timeline import Timeline
from automata.values import NONE, Ids, Mask


class Expiry:
    """Looks at the runs of one program."""

    def __init__(self, program: Program, automaton: Automaton) -> None:
        self._program = program
        self._automaton = automaton
        positions = range(len(automaton.positions))
        self._all_next = [self._only_next(position) for position in positions]
        self._all_strict = [self._only_strict(position) for position in positions]

    def fresh_or_in_window(
        self, runs: RunView, rows: Ids, oldest_time: int, window: int, ranks: Timeline | None
    ) -> Mask:
        """Runs without an event; those begun not before a time nor in an earlier window, whose ranks last."""
        first = runs.column(rows, FIRST)
        fits = (runs.column(rows, FIRST_TIME) >= oldest_time) & (runs.column(rows, WINDOW) >= window)
        if ranks is not None:
            fits &= self._rank_fits(runs, rows, ranks)
        result: Mask = (first == NONE) | fits
        return result

    def extendable(self, runs: RunView, position: int, rows: Ids, timeline: Timeline) -> Mask:
        """Runs at a position that are not closed, nor wait for an adjacent event that did not come."""
        keep = self._not_closed(runs, position, rows)
        if self._all_strict[position]:
            keep &= self._adjacent_possible(runs, rows, timeline)
        return keep

    def lasting(self, came: DeferredRuns, position: int, tables: Mapping[int, StepTable]) -> Mask:
        """At least the runs that have come to a position which events after those of the tables may extend."""
        rows = np.arange(len(came), dtype=np.int64)
        keep = self._not_closed(came, position, rows)
        window, reached = self._program.window, [table for table in tables.values() if len(table)]
        if not window.sliding and not (window.in_events and self._program.partition):
            keep &= came.column(rows, WINDOW) >= max(int(table.windows.max()) for table in reached)
        elif window.sliding and not window.in_events:
            newest = max(int(table.times.max()) for table in reached)
            keep &= came.column(rows, FIRST_TIME) >= newest - window.size
        return keep

    def _not_closed(self, runs: RunView, position: int, rows: Ids) -> Mask:
        if not self._all_next[position]:
            return np.ones(len(rows), dtype=np.bool_)
        everything = (1 << len(self._automaton.outgoing[position])) - 1
        result: Mask = runs.column(rows, CLOSED) != everything
        return result

    def _rank_fits(self, runs: RunView, rows: Ids, ranks: Timeline) -> Mask:
        window = self._program.window
        partitions, inverse = np.unique(runs.column(rows, PARTITION), return_inverse=True)
        now = np.array([ranks.rank(int(partition)) for partition in partitions], dtype=np.int64)
        if not len(now):
            return np.ones(len(rows), dtype=np.bool_)
        first = runs.column(rows, FIRST_RANK)
        if not window.sliding:
            first = first - (first - window.start) % window.size
        return now[inverse] - first < window.size

    def _only_next(self, position: int) -> bool:
        edges = [self._automaton.edges[number] for number in self._automaton.outgoing[position]]
        return bool(edges) and all(e.operator is Contiguity.NEXT and not e.rivals for e in edges)

    def _only_strict(self, position: int) -> bool:
        edges = [self._automaton.edges[number] for number in self._automaton.outgoing[position]]
        return position != START and all(edge.operator is Contiguity.STRICT for edge in edges)

    @staticmethod
    def _adjacent_possible(runs: RunView, rows: Ids, timeline: Timeline) -> Mask:
        partitions, inverse = np.unique(runs.column(rows, PARTITION), return_inverse=True)
        slots = np.array([timeline.slot(int(partition)) for partition in partitions], dtype=np.int64)
        possible = runs.column(rows, SLOT) >= slots[inverse]
        result: Mask = possible | (runs.column(rows, FIRST) == NONE) | (runs.column(rows, INSTANCE) != NONE)
        return result
