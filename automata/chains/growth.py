"""Writing the rows of runs that have taken a step, or that have come to an ALL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.clocks import opened_clocks, set_clocks
from automata.chains.deferred import crossed
from automata.chains.table import Runs
from automata.plan.plan import Plan, PlannedEdge
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids

Rows = NDArray[np.int64]
"""int64[n, layout.width]: rows not yet appended."""


class Growth:
    """Makes rows for one plan."""

    def __init__(self, plan: Plan, runs: Runs) -> None:
        self._plan = plan
        self._runs = runs
        self._own = runs.layout.own
        self._left = [[runs.layout.left(r) for r in edge.leaves if r in plan.possessive] for edge in plan.edges]
        self._markers = [[runs.layout.marker(marker) for marker in each.markers] for each in plan.positions]

    def take(self, number: int, pairs: Pairs, table: StepTable) -> Ids:
        """The rows of runs that take an edge; a conjunction adds a row for each member, the last of which counts."""
        edge = self._plan.edges[number]
        rows = self._copied(pairs.rows, number, edge)
        bindings.bind(self._runs, edge, table, pairs, rows[:, self._runs.layout.registers])
        self._stamp(rows, table, pairs.steps, edge.begins)
        for variable, binds in bindings.told(self._plan, edge, table, pairs).items():
            rows[:, self._runs.layout.told[variable]] = binds
        for column, deadline in set_clocks(self._runs, edge, pairs.rows, table.times[pairs.steps]).items():
            rows[:, column] = deadline
        rows[:, col.STATE] = edge.target
        rows[:, self._markers[edge.target]] = 1
        self._note_own(rows, pairs.rows, number, len(pairs) * (len(table.parts) - 1))
        parents = pairs.rows
        for part in table.parts[:-1]:
            inner = rows.copy()
            inner[:, [col.EDGE, col.STATE]] = NONE
            self._fill(inner, parents, part.symbol, part.positions[pairs.steps], part.numbers[pairs.steps])
            parents = self._runs.append(inner)
        last = table.parts[-1]
        self._fill(rows, parents, last.symbol, last.positions[pairs.steps], last.numbers[pairs.steps])
        return self._runs.append(rows)

    def open(self, number: int, sources: Ids) -> dict[int, Ids]:
        """The runs of each member of the ALL that an edge leads to: position of the member's start → rows."""
        edge, layout = self._plan.edges[number], self._runs.layout
        opened = self._copied(sources, number, edge)
        opened[:, layout.registers] = bindings.base(self._runs, edge, sources)
        opened[:, col.PARENT] = sources
        opened[:, [col.STATE, col.SYMBOL, col.SOLUTION, col.POSITION]] = NONE
        for column, deadline in opened_clocks(self._plan, self._runs, edge, sources).items():
            opened[:, column] = deadline
        for domain in self._plan.positions[edge.target].inside & edge.begun:
            opened[:, layout.previous(domain)] = opened[:, layout.inside(domain)]
        instances = self._runs.append(opened)
        started = {}
        for member in self._plan.unordered[self._plan.positions[edge.target].any_order].members:
            rows = opened.copy()
            rows[:, col.PARENT] = rows[:, col.SOURCE] = rows[:, col.INSTANCE] = instances
            rows[:, col.EDGE] = NONE
            rows[:, col.STATE] = member.start
            started[member.start] = self._runs.append(rows)
        return started

    def _copied(self, sources: Ids, number: int, edge: PlannedEdge) -> Rows:
        self._runs.check(len(sources))
        rows: Rows = self._runs.table[sources]
        rows[:, col.SOURCE] = sources
        rows[:, col.EDGE] = number
        for column in self._runs.layout.closed:
            rows[:, column] = 0
        rows[:, self._own] = NONE
        for column, values in crossed(edge, self._runs, sources).items():
            rows[:, column] = values
        return rows

    @staticmethod
    def _fill(rows: Rows, parents: Ids, symbol: int, positions: Ids, numbers: Ids) -> None:
        rows[:, col.PARENT] = parents
        rows[:, col.SYMBOL] = symbol
        rows[:, col.POSITION] = positions
        rows[:, col.SOLUTION] = numbers

    @staticmethod
    def _stamp(rows: Rows, table: StepTable, steps: Ids, begins: bool) -> None:
        """Time and place at which the step was taken; it may be the first one of a run where its edge `begins`."""
        for column, name in col.STEP_COLUMNS.items():
            rows[:, column] = getattr(table, name)[steps]
        if begins:
            fresh = np.flatnonzero(rows[:, col.FIRST] == NONE)
            for column, name in col.FIRST_COLUMNS.items():
                rows[fresh, column] = getattr(table, name)[steps[fresh]]

    def _note_own(self, rows: Rows, sources: Ids, number: int, before: int) -> None:
        """Pointers to the rows themselves, and between iterations; they will be appended after `before` others."""
        layout, own = self._runs.layout, self._runs.size + before + np.arange(len(rows), dtype=np.int64)
        edge = self._plan.edges[number]
        for column in self._left[number]:
            rows[:, column] = own
        for domain in self._plan.positions[edge.target].inside:
            if domain in edge.begun:
                rows[:, layout.previous(domain)] = self._runs.column(sources, layout.inside(domain))
            rows[:, layout.inside(domain)] = own
