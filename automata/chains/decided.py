"""Conditions that were decided before and have nothing new to evaluate (specification 3.1).

A condition is decided once it waits for nothing, and again whenever a later iteration rebinds a variable of
it. An iteration that leaves the variable unbound does not make it be evaluated again, though it would fail then.
"""

from __future__ import annotations

from collections.abc import Sequence

from automata.chains import columns as col
from automata.chains.lookback import Lookback, Registers
from automata.chains.table import Runs
from automata.plan.plan import Plan
from automata.plan.waiting import EvaluationPoint, watched_variables
from automata.values import NONE, UNBOUND


class DecidedConditions:
    """Reads off the chain of a run whether a condition has been decided."""

    def __init__(self, plan: Plan, runs: Runs, lookback: Lookback) -> None:
        self._plan = plan
        self._runs = runs
        self._lookback = lookback
        self._watched = [watched_variables(plan.program, number) for number in range(len(plan.program.conditions))]

    def before(self, point: EvaluationPoint, chain: Sequence[int], at: int, edge: int, registers: Registers) -> bool:
        """True if the instance in step number `at` of the chain was decided before the chain's last step, and still is.

        edge        the edge by which the last step is being taken if it has no row yet, else NONE
        registers   of the last step
        """
        around = self._plan.positions[point.owner].repetitions
        chain, at = self._lookback.own(chain, at)
        _, ends = self._lookback.seen(chain, at, around, registers, edge)
        seen_until = {r: chain.index(row) if row != NONE else len(chain) for r, row in ends.items()}
        passed = chain if edge != NONE else chain[:-1]
        open_ = True
        for number in range(at, len(passed)):
            row = self._runs.table[chain[number]]
            position, values = int(row[col.STATE]), row[self._runs.layout.registers]
            if position == NONE:
                continue
            open_ |= self._rebinds(point, position, values, number, seen_until)
            seen, _ = self._lookback.seen(chain[: number + 1], at, around, values, NONE)
            open_ &= any(seen[variable] == UNBOUND for variable in point.waits[position])
        target = int(self._runs.table[chain[-1], col.STATE]) if edge == NONE else self._plan.edges[edge].target
        return not open_ and not self._rebinds(point, target, registers, len(passed), seen_until)

    def _rebinds(
        self, point: EvaluationPoint, position: int, values: Registers, number: int, seen_until: dict[int, int]
    ) -> bool:
        """True if step `number`, in a repetition around it alone and visible, binds a variable."""
        repetitions = self._plan.positions[position].repetitions
        outside = any(repetition not in seen_until for repetition in repetitions)
        visible = all(number <= seen_until.get(repetition, number) for repetition in repetitions)
        bound = self._watched[point.condition].intersection(self._plan.positions[position].scope)
        return outside and visible and any(values[variable] != UNBOUND for variable in bound)
