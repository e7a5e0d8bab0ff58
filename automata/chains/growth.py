"""Writing the rows of runs that have taken a step, or that have come to an ALL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automata.chains.bindings import Bindings
from automata.chains.deferred import FIRST_COLUMNS, STEP_COLUMNS, crossed
from automata.chains.iteration import Tracks
from automata.chains.table import (
    CLOSED,
    EDGE,
    FIRST,
    INSTANCE,
    PARENT,
    POSITION,
    SOLUTION,
    SOURCE,
    STATE,
    SYMBOL,
    Layout,
    Runs,
)
from automata.plan.automaton import Automaton, Edge
from automata.plan.facts import Analysis
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids

Rows = NDArray[np.int64]
"""int64[n, layout.width]: rows not yet appended."""


class Growth:
    """Makes rows for one program."""

    def __init__(
        self, automaton: Automaton, analysis: Analysis, layout: Layout, tracks: Tracks, bindings: Bindings
    ) -> None:
        self._automaton = automaton
        self._layout = layout
        self._tracks = tracks
        self._bindings = bindings
        self._markers: dict[int, list[int]] = {}
        for marker, (_, home) in enumerate(analysis.markers):
            self._markers.setdefault(home, []).append(layout.marker(marker))
        self._members = [layout.member(m) for m in range(layout.members)]

    def take(self, runs: Runs, number: int, pairs: Pairs, table: StepTable) -> Ids:
        """The rows of runs that take an edge; a conjunction adds a row for each member, the last of which counts."""
        edge = self._automaton.edges[number]
        rows = self._copied(runs, pairs.rows, number, edge)
        self._bindings.bind(runs, number, table, pairs, rows[:, self._layout.registers])
        self._stamp(rows, table, pairs.steps, not self._automaton.positions[edge.source].symbols)
        rows[:, STATE] = edge.target
        rows[:, [*self._markers.get(edge.target, ())]] = 1
        self._track(runs, rows, pairs.rows, edge, len(pairs) * (len(table.parts) - 1))
        parents = pairs.rows
        for part in table.parts[:-1]:
            inner = rows.copy()
            inner[:, [EDGE, STATE]] = NONE
            self._fill(inner, parents, part.symbol, part.positions[pairs.steps], part.serials[pairs.steps])
            parents = runs.append(inner)
        last = table.parts[-1]
        self._fill(rows, parents, last.symbol, last.positions[pairs.steps], last.serials[pairs.steps])
        return runs.append(rows)

    def open(self, runs: Runs, number: int, sources: Ids) -> dict[int, Ids]:
        """The runs of each member of the ALL that an edge leads to: position of the member's start → rows."""
        edge = self._automaton.edges[number]
        unordered = self._automaton.unordered[self._automaton.positions[edge.target].any_order]
        opened = self._copied(runs, sources, number, edge)
        opened[:, self._layout.registers] = self._bindings.base(runs, number, sources)
        opened[:, PARENT] = sources
        opened[:, [STATE, SYMBOL, SOLUTION, POSITION]] = NONE
        for track in range(len(self._tracks)):
            if self._tracks.inside(track, edge.target) and self._tracks.begins(track, edge):
                opened[:, self._layout.previous(track)] = opened[:, self._layout.inside(track)]
        instances = runs.append(opened)
        started = {}
        for member in unordered.members:
            rows = opened.copy()
            rows[:, PARENT] = rows[:, SOURCE] = rows[:, INSTANCE] = instances
            rows[:, EDGE] = NONE
            rows[:, STATE] = member.start
            started[member.start] = runs.append(rows)
        return started

    def _copied(self, runs: Runs, sources: Ids, number: int, edge: Edge) -> Rows:
        rows: Rows = runs.table[sources]
        rows[:, SOURCE] = sources
        rows[:, EDGE] = number
        rows[:, CLOSED] = 0
        rows[:, self._members] = NONE
        for column, values in crossed(edge, runs, sources).items():
            rows[:, column] = values
        return rows

    @staticmethod
    def _fill(rows: Rows, parents: Ids, symbol: int, positions: Ids, serials: Ids) -> None:
        rows[:, PARENT] = parents
        rows[:, SYMBOL] = symbol
        rows[:, POSITION] = positions
        rows[:, SOLUTION] = serials

    @staticmethod
    def _stamp(rows: Rows, table: StepTable, steps: Ids, begins: bool) -> None:
        """When and where the step was taken; it may be the first one of a run where its edge `begins`."""
        for column, name in STEP_COLUMNS.items():
            rows[:, column] = getattr(table, name)[steps]
        if begins:
            fresh = np.flatnonzero(rows[:, FIRST] == NONE)
            for column, name in FIRST_COLUMNS.items():
                rows[fresh, column] = getattr(table, name)[steps[fresh]]

    def _track(self, runs: Runs, rows: Rows, sources: Ids, edge: Edge, before: int) -> None:
        """Iteration pointers; the rows will be appended after `before` others."""
        own = runs.size + before + np.arange(len(rows), dtype=np.int64)
        for track in range(len(self._tracks)):
            if self._tracks.inside(track, edge.target):
                if self._tracks.begins(track, edge):
                    rows[:, self._layout.previous(track)] = runs.column(sources, self._layout.inside(track))
                rows[:, self._layout.inside(track)] = own
