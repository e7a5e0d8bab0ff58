"""The interpreter of guards: postfix code over float64, packed for a kernel (RMA Section 4).

A guard is an approximation that knows its limits: where float64 could differ from the arithmetic that
the values really have, it answers UNKNOWN, and whoever asked takes the slow way to the host.
"""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.jit import lean_kernel
from automata.registers.guard import Guard, Op
from automata.values import UNBOUND, Ids

FALSE, TRUE, UNKNOWN = 0, 1, 2
"""Values of a guard; UNKNOWN: ask the host."""
_MISTAKEN = 3
"""Inside a guard: an error in SPARQL's logic, FALSE in the end."""
_UNBOUND_ERROR = -1.0
"""In place of how far a number may be off: there is none, a variable is unbound."""


class GuardCode(NamedTuple):
    """The guards of a program for the kernel.

    code        int64[2, conditions, places]: instructions and operands, short rows filled up with -1
    constants   of all guards
    stack       float64[3, depth]: numbers, how far they may be off, truths
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
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = int(Op.ADD), int(Op.SUBTRACT), int(Op.MULTIPLY), int(Op.DIVIDE)
_LESS, _AT_MOST, _GREATER, _AT_LEAST = int(Op.LESS), int(Op.AT_MOST), int(Op.GREATER), int(Op.AT_LEAST)
_EQUAL, _NOT, _AND = int(Op.EQUAL), int(Op.NOT), int(Op.AND)

_WHOLE_MAX, _FRACTION = 2.0**24, 2.0**10
"""Multiples of 1/_FRACTION up to _WHOLE_MAX that float32 holds are themselves in every numeric type."""
_ROUNDING = 2.0**-22
"""More than the relative error of one operation, single precision included."""
_MAGNITUDE_MIN, _MAGNITUDE_MAX = 1e-12, 1e30
"""Between these no numeric type overflows or loses digits."""


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
            if stack[_TRUTH, top] <= TRUE:
                stack[_TRUTH, top] = 1 - stack[_TRUTH, top]
        else:
            top -= 1
            if op <= _DIVIDE:
                _calculate(stack, op, top)
            elif op >= _AND:
                stack[_TRUTH, top] = _connected(op == _AND, int(stack[_TRUTH, top]), int(stack[_TRUTH, top + 1]))
            else:
                stack[_TRUTH, top] = _compared(stack, op, top)
    return FALSE if stack[_TRUTH, 0] == _MISTAKEN else int(stack[_TRUTH, 0])


@lean_kernel
def _connected(both: bool, left: int, right: int) -> int:
    """`&&` or `||` of two truths."""
    decisive = FALSE if both else TRUE
    if left == decisive or right == decisive:
        return decisive
    if left == UNKNOWN or right == UNKNOWN:
        return UNKNOWN
    return _MISTAKEN if left == _MISTAKEN or right == _MISTAKEN else 1 - decisive


@lean_kernel
def _compared(stack: NDArray[np.float64], op: int, top: int) -> int:
    """The comparison of the two uppermost numbers; UNKNOWN where their numeric type could matter."""
    if stack[_ERROR, top] < 0 or stack[_ERROR, top + 1] < 0:
        return _MISTAKEN
    a, b = float(stack[_VALUE, top]), float(stack[_VALUE, top + 1])
    if isnan(a) or isnan(b):
        return UNKNOWN
    if a != b and (abs(a) > _MAGNITUDE_MAX or abs(b) > _MAGNITUDE_MAX or np.float32(a) == np.float32(b)):
        return UNKNOWN
    error = stack[_ERROR, top] + stack[_ERROR, top + 1]
    if error > 0 and not abs(a - b) > error:
        return UNKNOWN
    if op == _LESS:
        holds = a < b
    elif op == _AT_MOST:
        holds = a <= b
    elif op == _GREATER:
        holds = a > b
    elif op == _AT_LEAST:
        holds = a >= b
    elif op == _EQUAL:
        holds = a == b
    else:
        holds = a != b
    return TRUE if holds else FALSE


@lean_kernel
def _calculate(stack: NDArray[np.float64], op: int, top: int) -> None:
    """`+ - * /` with a bound of the error: 0 where operands and result are the same in every numeric type."""
    if stack[_ERROR, top] < 0 or stack[_ERROR, top + 1] < 0:
        stack[_ERROR, top] = _UNBOUND_ERROR
        return
    a, b = float(stack[_VALUE, top]), float(stack[_VALUE, top + 1])
    first = float(stack[_ERROR, top]) + abs(a) * _ROUNDING
    second = float(stack[_ERROR, top + 1]) + abs(b) * _ROUNDING
    small = _is_small(a) and _is_small(b) and stack[_ERROR, top] == 0 and stack[_ERROR, top + 1] == 0
    stack[_VALUE, top], stack[_ERROR, top] = nan, 0.0
    if not (_is_moderate(a) and _is_moderate(b)) or (op == _DIVIDE and not abs(b) > second):
        return
    if op == _ADD:
        result, error = a + b, first + second
    elif op == _SUBTRACT:
        result, error = a - b, first + second
    elif op == _MULTIPLY:
        result, error = a * b, abs(a) * second + abs(b) * first + first * second
    else:
        result = a / b
        error = (first + abs(result) * second) / (abs(b) - second)
        small = small and result * b == a
    if small and _is_small(result):
        stack[_VALUE, top] = result
    elif _is_moderate(result) and result != 0:
        stack[_VALUE, top], stack[_ERROR, top] = result, error + abs(result) * _ROUNDING


@lean_kernel
def _is_small(value: float) -> bool:
    """Whether the number is itself in every numeric type."""
    if not abs(value) <= _WHOLE_MAX:
        return False
    scaled = value * _FRACTION
    return bool(scaled == np.floor(scaled) and np.float32(value) == value)


@lean_kernel
def _is_moderate(value: float) -> bool:
    """Whether no numeric type overflows or loses digits there."""
    return value == 0 or _MAGNITUDE_MIN <= abs(value) <= _MAGNITUDE_MAX
