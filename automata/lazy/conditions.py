"""Conditions evaluated before a match is complete (K Section 3: conditions on the edges of a chain).

Only those whose outcome can no longer change; the others are decided when the match is replayed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automata.lazy.partial import Rows
from automata.lazy.search import Search
from automata.lazy.units import Needs
from automata.plan.program import MATCH, Reference
from automata.values import Ids, Mask


@dataclass(frozen=True, slots=True)
class _Early:
    """One condition of one unit."""

    condition: int
    variables: tuple[int, ...]
    needs: Needs


class EarlyConditions:
    """The conditions of one path that partial matches can be tested by."""

    def __init__(self, search: Search) -> None:
        program, units = search.plan.program, search.units
        self._program = program
        self._units = units
        self._layout = search.layout
        self._condition_evaluator = search.condition_evaluator
        found = [
            self._early(condition, home)
            for condition, spec in enumerate(program.conditions)
            for home in units.homes(spec.symbol)
        ]
        self._early_ones = [early for early in found if early is not None]

    def hold(self, bound: frozenset[int], unit: int, rows: Rows) -> Mask:
        """A mask of the rows that fulfil the conditions that can be evaluated now that `unit` is bound too."""
        passed = np.ones(len(rows), dtype=np.bool_)
        for early in self._early_ones:
            if early.needs.completed_by(unit, bound):
                which = np.flatnonzero(passed)
                if len(which):
                    registers = rows[which][:, self._layout.registers]
                    columns: dict[Reference, Ids] = {v: registers[:, v] for v in early.variables}
                    passed[which] = self._condition_evaluator.holds(early.condition, columns, len(which))
        return passed

    def _early(self, condition: int, home: frozenset[int]) -> _Early | None:
        spec = self._program.conditions[condition]
        variables = tuple(reference for reference in spec.references if isinstance(reference, int))
        if spec.needs_event or spec.at_end or len(variables) < len(spec.references):
            return None
        own = [] if spec.symbol == MATCH else [self._program.symbols[spec.symbol]]
        foreign = [variable for variable in variables if not any(variable in symbol.certain for symbol in own)]
        if any(symbol.scope & set(foreign) for symbol in own) or any(self._may_vary(variable) for variable in foreign):
            return None
        providers = tuple(self._units.providers(self._program, variable) for variable in foreign)
        return _Early(condition, variables, Needs(home, providers))

    def _may_vary(self, variable: int) -> bool:
        """A repeated step binds it in some iterations only: its value at the end says little of them."""
        return any(
            unit.repeated
            and variable in self._program.symbols[unit.symbol].scope - self._program.symbols[unit.symbol].certain
            for unit in self._units.units
        )
