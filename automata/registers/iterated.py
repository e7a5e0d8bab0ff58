"""Registers for values of iterations: PREV, FIRST and LAST (specification 3.2).

Each tracked variable has four registers of its own, after those of the variables themselves.
"""

from __future__ import annotations

from enum import IntEnum

from automata.plan.plan import references_of
from automata.plan.program import IterationValue, Program, Reference


class Iterated(IntEnum):
    """Registers of a tracked variable: its values in this iteration and the one before; the first and last bound."""

    CURRENT = 0
    PREV = 1
    FIRST = 2
    LAST = 3


CURRENT, PREVIOUS, FIRST_VALUE, LAST_VALUE = (int(kind) for kind in Iterated)
"""The same as plain numbers, for kernels."""
ITERATED = len(Iterated)
"""Registers of a tracked variable."""


def register_of(program: Program) -> dict[Reference, int]:
    """The register of every reference of conditions and outputs, except aggregates."""
    tracked = tracked_variables(program)
    registers: dict[Reference, int] = {variable: variable for variable in range(program.variables)}
    for reference in references_of(program):
        if isinstance(reference, IterationValue):
            first = program.variables + ITERATED * tracked.index(reference.variable)
            registers[reference] = first + Iterated[reference.kind]
    return registers


def tracked_variables(program: Program) -> list[int]:
    """The variables of PREV, FIRST and LAST."""
    return sorted({reference.variable for reference in references_of(program) if isinstance(reference, IterationValue)})
