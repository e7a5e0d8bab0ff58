"""The order of several ways to one match: a match that is reached in several ways is seen by the first of them.

Ways are compared step by step, by the place of a step in the sequence, then by its iterations, of outer repetitions
before inner ones: so of what may go on, an iteration of an inner repetition comes before one of an outer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from automata.chains import columns as col
from automata.chains.table import Runs
from automata.plan.plan import Plan
from automata.values import NONE, Ids


class WayOrder:
    """The order of the ways of one plan; members of an ALL( ) are not looked into.

    several     runs on the same steps and events may have taken other edges
    """

    def __init__(self, plan: Plan) -> None:
        positions = plan.positions
        symbols = [position.symbols for position in positions if position.symbols]
        arcs = [(edge.source, edge.target) for edge in plan.edges]
        self.several = len(set(symbols)) < len(symbols) or len(set(arcs)) < len(arcs)
        self._depths = [len(position.repetitions) for position in positions]
        self._width = max(self._depths, default=0) + 1
        self._turns = [
            self._turn(edge.target, positions[edge.target].repetitions.index(edge.loop))
            if edge.loop != NONE
            else self._turn(edge.target, self._depths[edge.target])
            for edge in plan.edges
        ]
        self._states = [self._turn(state, depth) for state, depth in enumerate(self._depths)]

    def _turn(self, state: int, depth: int) -> int:
        """The place of a step, and whose iteration it begins: of the repetition at a depth, the deepest first."""
        return state * self._width + self._width - 1 - depth

    def of_row(self, row_of: Callable[[int], Sequence[int]], row: int) -> list[int]:
        """The key that ways to one match are compared by, while runs are lists."""
        way = []
        while row != NONE:
            own = row_of(row)
            edge = own[col.EDGE]
            way.append(self._states[own[col.STATE]] if edge == NONE else self._turns[edge])
            row = own[col.PARENT]
        return way[::-1]

    def ordered(self, runs: Runs, rows: Ids) -> Ids:
        """The numbers of rows in an order in which the first way to each match comes before others to it."""
        if len(rows) < 2:
            return np.arange(len(rows), dtype=np.int64)
        turns, states = np.array([*self._turns, 0], dtype=np.int64), np.array(self._states, dtype=np.int64)
        steps, here = list[Ids](), rows
        while (going := here != NONE).any():
            edge, state, parent = runs.table[np.where(going, here, 0)][:, (col.EDGE, col.STATE, col.PARENT)].T
            turn = np.where(edge == NONE, states[state], turns[edge])
            steps.append(np.where(going, turn, NONE))
            here = np.where(going, parent, NONE)
        return np.lexsort(steps)
