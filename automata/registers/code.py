"""The interpreter of guards: postfix code over float64, packed for a kernel (RMA Section 4).

A guard is UNKNOWN where float64 does not decide (`arrays.comparison`); the condition evaluator then decides.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.comparison import (
    ERROR,
    FALSE,
    RULES,
    TRUE,
    UNKNOWN,
    bounded,
    conjunction,
    disjunction,
    is_ambiguous,
    is_within,
    negation,
)
from arrays.jit import callable_from_kernels, lean_kernel, lean_part
from automata.registers.guard import Guard, Op
from automata.values import UNBOUND, Ids

_UNBOUND_ERROR = -1.0
"""The error bound of a number that does not exist, because a variable is unbound."""


class GuardCode(NamedTuple):
    """The guards of a program for the kernel.

    code        int64[2, conditions, places]: instructions and operands, short rows filled up with -1
    constants   of all guards
    stack       float64[3, depth]: numbers, their error bounds, truth values
    """

    code: Ids
    constants: NDArray[np.float64]
    stack: NDArray[np.float64]


def guard_code(guards: list[Guard]) -> GuardCode:
    """The guards of all conditions, packed."""
    longest = max((len(guard.code) for guard in guards), default=1)
    deepest = max((guard.depth() for guard in guards), default=1)
    packed = np.full((2, len(guards), longest), -1, dtype=np.int64)
    constants: list[float] = []
    for number, guard in enumerate(guards):
        for place, (op, operand) in enumerate(guard.code):
            packed[0, number, place] = op
            packed[1, number, place] = operand + (len(constants) if op is Op.CONSTANT else 0)
        constants += guard.constants
    return GuardCode(packed, np.array(constants, dtype=np.float64), np.zeros((3, deepest), dtype=np.float64))


_VALUE, _ERROR, _TRUTH = range(3)
_REGISTER, _CONSTANT, _BOUND = int(Op.REGISTER), int(Op.CONSTANT), int(Op.BOUND)
_ADD, _DIVIDE, _EQUAL, _NOT, _AND = int(Op.ADD), int(Op.DIVIDE), int(Op.EQUAL), int(Op.NOT), int(Op.AND)
_LESS, _AT_MOST, _GREATER, _AT_LEAST = int(Op.LESS), int(Op.AT_MOST), int(Op.GREATER), int(Op.AT_LEAST)

for _rule in RULES:
    callable_from_kernels(_rule)


@lean_kernel
def evaluate_guard(code: GuardCode, condition: int, registers: Ids, numbers: NDArray[np.float64]) -> int:
    """FALSE, TRUE or UNKNOWN, from the ids in the registers."""
    stack, top = code.stack, -1
    for place in range(code.code.shape[2]):
        op, operand = code.code[0, condition, place], code.code[1, condition, place]
        if op < 0:
            break
        if op <= _BOUND:
            top += 1
            stack[_ERROR, top] = 0.0
            if op == _REGISTER:
                stack[_VALUE, top] = numbers[registers[operand]]
                if registers[operand] == UNBOUND:
                    stack[_ERROR, top] = _UNBOUND_ERROR
            elif op == _CONSTANT:
                stack[_VALUE, top] = code.constants[operand]
            else:
                stack[_TRUTH, top] = TRUE if registers[operand] != UNBOUND else FALSE
        elif op == _NOT:
            stack[_TRUTH, top] = negation(int(stack[_TRUTH, top]))
        else:
            top -= 1
            if op <= _DIVIDE:
                _calculate(stack, op, top)
            elif op >= _AND:
                left, right = int(stack[_TRUTH, top]), int(stack[_TRUTH, top + 1])
                stack[_TRUTH, top] = conjunction(left, right) if op == _AND else disjunction(left, right)
            else:
                stack[_TRUTH, top] = _compared(stack, op, top)
    return FALSE if stack[_TRUTH, 0] == ERROR else int(stack[_TRUTH, 0])


@lean_part
def _compared(stack: NDArray[np.float64], op: int, top: int) -> int:
    """The comparison of the two uppermost numbers."""
    if stack[_ERROR, top] < 0 or stack[_ERROR, top + 1] < 0:
        return ERROR
    a, b = float(stack[_VALUE, top]), float(stack[_VALUE, top + 1])
    if is_ambiguous(a, b) or is_within(a, b, stack[_ERROR, top] + stack[_ERROR, top + 1]):
        return UNKNOWN
    if op == _LESS:
        holds = a < b
    elif op == _AT_MOST:
        holds = a <= b
    elif op == _GREATER:
        holds = a > b
    elif op == _AT_LEAST:
        holds = a >= b
    else:
        holds = (a == b) == (op == _EQUAL)
    return TRUE if holds else FALSE


@lean_part
def _calculate(stack: NDArray[np.float64], op: int, top: int) -> None:
    """`+ - * /` of the two uppermost numbers; NaN where float64 does not decide."""
    if stack[_ERROR, top] < 0 or stack[_ERROR, top + 1] < 0:
        stack[_ERROR, top] = _UNBOUND_ERROR
        return
    a, b = float(stack[_VALUE, top]), float(stack[_VALUE, top + 1])
    result, error, known = bounded(op - _ADD, a, float(stack[_ERROR, top]), b, float(stack[_ERROR, top + 1]))
    stack[_VALUE, top], stack[_ERROR, top] = nan, 0.0
    if known:
        stack[_VALUE, top], stack[_ERROR, top] = result, error
