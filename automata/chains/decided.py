"""Conditions that were decided before and have nothing new to look at (specification 3.1).

A condition is decided once it waits for nothing, and again whenever a later iteration rebinds a variable of
it. An iteration that leaves the variable unbound is no reason to look again, though a look would fail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from automata.chains.lookback import Lookback
from automata.chains.table import STATE, Layout, Runs
from automata.plan.automaton import Automaton
from automata.plan.facts import Analysis, Check, watched_variables
from automata.plan.program import Program
from automata.values import NONE, UNBOUND


class DecidedConditions:
    """Reads off the chain of a run whether a condition has been decided."""

    def __init__(
        self, program: Program, automaton: Automaton, analysis: Analysis, layout: Layout, lookback: Lookback
    ) -> None:
        self._automaton = automaton
        self._analysis = analysis
        self._layout = layout
        self._lookback = lookback
        self._watched = [watched_variables(program, number) for number in range(len(program.conditions))]

    def before(
        self, runs: Runs, check: Check, chain: Sequence[int], at: int, edge: int, registers: NDArray[np.int64]
    ) -> bool:
        """Whether the instance in step number `at` of the chain was decided before the chain's last step, and still is.

        edge        the edge by which the last step is being taken if it has no row yet, else NONE
        registers   of the last step
        """
        around = self._automaton.positions[check.home].repetitions
        _, ends = self._lookback.seen(runs, chain, at, around, registers, edge)
        seen_until = {r: chain.index(row) if row != NONE else len(chain) for r, row in ends.items()}
        passed = chain if edge != NONE else chain[:-1]
        intervals = True
        for number in range(at, len(passed)):
            row = chain[number]
            position, values = int(runs.table[row, STATE]), runs.table[row, self._layout.registers]
            if position == NONE:
                continue
            intervals |= self._rebinds(check, position, values, number, seen_until)
            intervals &= self._waits(runs, check, chain[: number + 1], at, around, values, position)
        target = int(runs.table[chain[-1], STATE]) if edge == NONE else self._automaton.edges[edge].target
        return not intervals and not self._rebinds(check, target, registers, len(passed), seen_until)

    def _waits(
        self,
        runs: Runs,
        check: Check,
        chain: Sequence[int],
        at: int,
        around: tuple[int, ...],
        values: NDArray[np.int64],
        position: int,
    ) -> bool:
        seen, _ = self._lookback.seen(runs, chain, at, around, values, NONE)
        return any(seen[variable] == UNBOUND for variable in check.waits[position])

    def _rebinds(
        self, check: Check, position: int, values: NDArray[np.int64], number: int, seen_until: dict[int, int]
    ) -> bool:
        """Whether step `number`, in a repetition around it alone and visible, binds a variable."""
        repetitions = self._automaton.positions[position].repetitions
        outside = any(repetition not in seen_until for repetition in repetitions)
        visible = all(number <= seen_until.get(repetition, number) for repetition in repetitions)
        bound = self._watched[check.condition] & self._analysis.scope[position]
        return outside and visible and any(values[variable] != UNBOUND for variable in bound)
