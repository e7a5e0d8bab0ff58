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
from automata.plan.variables import Variables
from automata.plan.waiting import EvaluationPoint, watched_variables
from automata.values import NONE, UNBOUND


class DecidedConditions:
    """Reads off the chain of a run whether a condition has been decided."""

    def __init__(self, plan: Plan, runs: Runs, lookback: Lookback) -> None:
        self._plan = plan
        self._runs = runs
        self._lookback = lookback
        self._watched = [watched_variables(plan.program, number) for number in range(len(plan.program.conditions))]

    def before(
        self, point: EvaluationPoint, chain: Sequence[int], at: int, edge: int, registers: Registers, told: Variables
    ) -> bool:
        """True if the instance in step number `at` of the chain was decided before the chain's last step, and still is.

        edge        the edge by which the last step is being taken if it has no row yet, else NONE
        registers   of the last step
        told        those of `Plan.told` that it binds, if it has no row yet
        """
        members = [self._lookback.chain(member) for member in self._lookback.members(chain[-1])] if edge == NONE else []
        if members and all(chain[at] in member for member in members):
            return all(self._is_decided(point, member, member.index(chain[at]), registers) for member in members)
        chain, at = self._lookback.own(chain, at)
        seen_until = self._seen_until(point, chain, at, edge, registers)
        passed = chain if edge != NONE else chain[:-1]
        if edge == NONE:
            target, binds = int(self._runs.table[chain[-1], col.STATE]), self._lookback.bound_by(chain[-1])
        else:
            target = self._plan.edges[edge].target
            scope = (v for v in self._plan.positions[target].scope if registers[v] != UNBOUND)
            binds = frozenset(v for v in scope if v in told or v not in self._plan.told)
        if self._rebinds(point, target, binds, len(passed), seen_until):
            return False
        return not self._is_open(point, passed, at, seen_until)

    def _is_decided(self, point: EvaluationPoint, member: Sequence[int], at: int, registers: Registers) -> bool:
        """True if a member of an ALL has decided the instance by itself: it does not see the others."""
        return not self._is_open(point, member, at, self._seen_until(point, member, at, NONE, registers))

    def _is_open(self, point: EvaluationPoint, passed: Sequence[int], at: int, seen_until: dict[int, int]) -> bool:
        """True if the instance is still to be decided after these steps."""
        around = self._plan.positions[point.owner].repetitions
        open_ = True
        for number in range(at, len(passed)):
            row = self._runs.table[passed[number]]
            position, values = int(row[col.STATE]), row[self._runs.layout.registers]
            if position == NONE:
                continue
            open_ |= self._rebinds(point, position, self._lookback.bound_by(passed[number]), number, seen_until)
            seen, _ = self._lookback.seen(passed[: number + 1], at, around, values, NONE)
            open_ &= any(seen[variable] == UNBOUND for variable in point.waits[position])
        return open_

    def _seen_until(
        self, point: EvaluationPoint, chain: Sequence[int], at: int, edge: int, registers: Registers
    ) -> dict[int, int]:
        """Repetition around the instance → the number of the last step of its iteration."""
        _, ends = self._lookback.seen(chain, at, self._plan.positions[point.owner].repetitions, registers, edge)
        return {r: chain.index(row) if row != NONE else len(chain) for r, row in ends.items()}

    def _rebinds(
        self, point: EvaluationPoint, position: int, binds: Variables, number: int, seen_until: dict[int, int]
    ) -> bool:
        """True if step `number`, in a repetition around it alone and visible, binds a variable that is watched."""
        repetitions = self._plan.positions[position].repetitions
        outside = any(repetition not in seen_until for repetition in repetitions)
        visible = all(number <= seen_until.get(repetition, number) for repetition in repetitions)
        return outside and visible and bool(self._watched[point.condition] & binds)
