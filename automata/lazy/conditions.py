"""Conditions that can be looked at before a match is complete (K Section 3: conditions on the edges of a chain).

A partial match is dropped as soon as a condition between units that it has bound fails. Only such
conditions are looked at whose outcome cannot change any more; the others, and those over
iterations or the event's own graph, are decided when the whole match is replayed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automata.lazy.partial import PartialLayout, Rows
from automata.lazy.units import Units
from automata.plan.program import ConditionEvaluator, Program, Reference
from automata.values import Mask


@dataclass(frozen=True, slots=True)
class _Early:
    """One condition of one unit.

    providers   for each variable from elsewhere the units that bind it for certain: one of them must be bound
    """

    condition: int
    home: int
    variables: tuple[int, ...]
    providers: tuple[frozenset[int], ...]

    def ready(self, bound: frozenset[int]) -> bool:
        """True if partial matches of these units can be tested by it."""
        return self.home in bound and all(units & bound for units in self.providers)


class EarlyConditions:
    """The conditions of one way that partial matches can be tested by."""

    def __init__(
        self, program: Program, units: Units, layout: PartialLayout, condition_evaluator: ConditionEvaluator
    ) -> None:
        self._program = program
        self._units = units
        self._layout = layout
        self._condition_evaluator = condition_evaluator
        found = [
            self._early(condition, home)
            for condition, spec in enumerate(program.conditions)
            for home, unit in enumerate(units.units)
            if unit.symbol == spec.symbol
        ]
        self._early_ones = [early for early in found if early is not None]

    def hold(self, bound: frozenset[int], unit: int, rows: Rows) -> Mask:
        """A mask of the rows that fulfil the conditions that can be evaluated now that `unit` is bound too."""
        passed = np.ones(len(rows), dtype=np.bool_)
        for early in self._early_ones:
            if early.ready(bound | {unit}) and not early.ready(bound):
                which = np.flatnonzero(passed)
                if len(which):
                    registers = rows[which][:, self._layout.registers]
                    columns: dict[Reference, np.ndarray[tuple[int], np.dtype[np.int64]]]
                    columns = {variable: registers[:, variable] for variable in early.variables}
                    passed[which] = self._condition_evaluator.holds(early.condition, columns, len(which))
        return passed

    def _early(self, condition: int, home: int) -> _Early | None:
        spec = self._program.conditions[condition]
        variables = tuple(reference for reference in spec.references if isinstance(reference, int))
        if spec.needs_event or len(variables) < len(spec.references):
            return None
        own = self._program.symbols[spec.symbol]
        foreign = [variable for variable in variables if variable not in own.certain]
        if own.scope & set(foreign) or any(self._may_vary(variable) for variable in foreign):
            return None
        return _Early(condition, home, variables, tuple(self._providers(variable) for variable in foreign))

    def _providers(self, variable: int) -> frozenset[int]:
        return frozenset(
            number
            for number, unit in enumerate(self._units.units)
            if variable in self._program.symbols[unit.symbol].certain
        )

    def _may_vary(self, variable: int) -> bool:
        """A repeated step binds it in some iterations only: its value at the end says little of them."""
        return any(
            unit.repeated
            and variable in self._program.symbols[unit.symbol].scope - self._program.symbols[unit.symbol].certain
            for unit in self._units.units
        )
