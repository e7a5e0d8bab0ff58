"""The search for the matches along one path: what each of its parts goes by."""

from __future__ import annotations

from dataclasses import dataclass

from automata.lazy.buffers import Buffers
from automata.lazy.limits import TimeBounds
from automata.lazy.partial import PartialLayout, Rows
from automata.lazy.path import Path
from automata.lazy.units import Units
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.slices.step_buffer import Buffer
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class Search:
    """One path of a plan: units, bounds of their times, columns of partial matches, and the buffers of all paths."""

    plan: Plan
    path: Path
    units: Units
    layout: PartialLayout
    buffers: Buffers
    condition_evaluator: ConditionEvaluator
    times: TimeBounds

    def buffer(self, unit: int) -> Buffer:
        """The buffer of a unit's symbol."""
        return self.buffers.positive[self.units.units[unit].symbol]

    def at(self, rows: Rows, unit: int, column: int) -> Ids:
        """A column of the buffer, at the events that partial matches have bound the unit to."""
        return self.buffer(unit).at(column, rows[:, self.layout.number(unit)])
