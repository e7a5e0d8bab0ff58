"""Guards: conditions over several events that compare numbers, as postfix code over registers (RMA Section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from automata.plan.program import ConditionEvaluator


class Op(IntEnum):
    """Instructions; REGISTER, CONSTANT and BOUND take an operand, the others their operands from the stack."""

    REGISTER = 0
    CONSTANT = 1
    BOUND = 2
    ADD = 3
    SUBTRACT = 4
    MULTIPLY = 5
    DIVIDE = 6
    LESS = 7
    AT_MOST = 8
    GREATER = 9
    AT_LEAST = 10
    EQUAL = 11
    UNEQUAL = 12
    NOT = 13
    AND = 14
    OR = 15


@dataclass(frozen=True, slots=True)
class Guard:
    """Postfix code: (instruction, operand), the operand a variable or an index into `constants`."""

    code: tuple[tuple[Op, int], ...]
    constants: tuple[float, ...] = ()

    def depth(self) -> int:
        """The greatest number of values on the stack."""
        height = deepest = 0
        for op, _ in self.code:
            height += 1 if op <= Op.BOUND else 0 if op is Op.NOT else -1
            deepest = max(deepest, height)
        return deepest


class GuardConditionEvaluator(ConditionEvaluator, Protocol):
    """A condition evaluator with guards for its conditions."""

    def guard(self, condition: int) -> Guard | None:
        """The condition as a guard, None if it is more than comparisons of numbers."""

    @property
    def numbers(self) -> NDArray[np.float64]:
        """By id: the number that float64 compares exactly as `holds` would, else NaN; long enough for every id."""
