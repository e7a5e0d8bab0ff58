"""The slow way to a variable: from one step of a match, through the chain of its run (specification 3.2).

Needed where a condition or a negation stands inside a repetition that has moved on: what it sees is
the value in *its own* iteration, or one bound outside the repetition, never one of another iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from automata.chains.table import EDGE, PARENT, STATE, SYMBOL, Layout, Runs
from automata.plan.automaton import Automaton, Crossing
from automata.plan.facts import Analysis
from automata.values import NONE, UNBOUND


class Lookback:
    """Reads chains of one program's runs."""

    def __init__(self, automaton: Automaton, analysis: Analysis, layout: Layout) -> None:
        self._automaton = automaton
        self._analysis = analysis
        self._layout = layout

    def chain(self, runs: Runs, row: int) -> list[int]:
        """The rows of a run, oldest first; the members of an ALL stand one after the other before its own row."""
        rows: list[int] = []
        while row != NONE:
            rows.append(row)
            parent = int(runs.table[row, PARENT])
            for member in reversed(self.members(runs, row)):
                rows += self._member(runs, member, parent)
            row = parent
        rows.reverse()
        return rows

    def members(self, runs: Runs, row: int) -> list[int]:
        """The last rows of the members, if this is the row of an ALL."""
        columns = [self._layout.member(m) for m in range(self._layout.members)]
        state = int(runs.table[row, STATE])
        if state == NONE or self._automaton.positions[state].any_order < 0:
            return []
        return [int(m) for m in runs.table[row, columns] if m != NONE]

    def _member(self, runs: Runs, row: int, opened: int) -> list[int]:
        rows: list[int] = []
        while row not in (NONE, opened):
            rows.append(row)
            for member in reversed(self.members(runs, row)):
                rows += self._member(runs, member, int(runs.table[row, PARENT]))
            row = int(runs.table[row, PARENT])
        return rows

    def seen(
        self,
        runs: Runs,
        chain: Sequence[int],
        at: int,
        repetitions: tuple[int, ...],
        last: NDArray[np.int64],
        edge: int,
    ) -> tuple[NDArray[np.int64], dict[int, int]]:
        """What something in step number `at` of the chain sees, and for each repetition the last row of its iteration.

        That row is NONE when the iteration goes on to the end.

        repetitions     those around what looks, outermost first

        last    the registers at the end of the match so far
        edge    the edge by which a step is being taken that has no row yet; NONE if there is none
        """
        if not repetitions:
            return last, {}
        around = repetitions[::-1]
        crossed = [self._crossed(int(runs.table[row, EDGE])) for row in chain[at + 1 :]] + [self._crossed(edge)]
        ends = [self._end(crossed, repetition) for repetition in around]
        values = self._registers(runs, chain, at, ends[0], last, edge)
        rows = {r: chain[at + end] if at + end < len(chain) else NONE for r, end in zip(around, ends, strict=True)}
        for repetition, begin, end in zip(around, ends, [*ends[1:], len(crossed)], strict=True):
            outer = self._registers(runs, chain, at, end, last, edge)
            bound = self._bound_between(runs, chain, at, begin, end, edge, repetition)
            values = np.where((values == UNBOUND) & bound, outer, values)
        return values, rows

    def _crossed(self, edge: int) -> frozenset[int]:
        if edge == NONE:
            return frozenset()
        actions = self._automaton.edges[edge].actions
        return frozenset(a.repetition for a in actions if a.crossing is not Crossing.ENTER)

    @staticmethod
    def _end(crossed: list[frozenset[int]], repetition: int) -> int:
        """How many steps after the first its iteration of the repetition lasts."""
        for number, repetitions in enumerate(crossed):
            if repetition in repetitions:
                return number
        return len(crossed)

    def _registers(
        self, runs: Runs, chain: Sequence[int], at: int, end: int, last: NDArray[np.int64], edge: int
    ) -> NDArray[np.int64]:
        if at + end < len(chain):
            row: NDArray[np.int64] = runs.table[chain[at + end], self._layout.registers]
            return row
        return last

    def _bound_between(
        self, runs: Runs, chain: Sequence[int], at: int, begin: int, end: int, edge: int, repetition: int
    ) -> NDArray[np.bool_]:
        """Which variables a step outside the repetition may bind between the two ends."""
        bound = np.zeros(self._layout.variables, dtype=np.bool_)
        rows = chain[at + begin + 1 : at + end + 1]
        states = [
            int(state) for row in rows if (state := runs.table[row, STATE]) != NONE and runs.table[row, SYMBOL] != NONE
        ]
        if edge != NONE and at + end >= len(chain):
            states.append(self._automaton.edges[edge].target)
        for state in states:
            if state not in self._automaton.repetitions[repetition].positions:
                bound[list(self._analysis.scope[state])] = True
        return bound
