"""Comparison of numbers by float64, and SPARQL's three-valued logic: the rules behind every way of evaluation.

SPARQL compares an integer, a decimal, a float and a double after promotion to the wider type. float64 stands for all
four where the type cannot change the outcome. Columns, single rows and compiled guards all call the functions here,
written with `&` and `|`, so that they take floats and columns of them alike and compile into kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

FALSE, TRUE, ERROR, UNKNOWN = 0, 1, 2, 3
"""Truth values; UNKNOWN: float64 does not decide, the terms have to be compared."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ARITHMETIC = "+-*/"
"""The operators of `bounded`, by their number."""

Value = Any
"""A float, or a column of them."""
Holds = Any
"""A truth, or a column of them."""

_EXACT_MAX, _FRACTION = 2.0**24, 2.0**10
"""Multiples of 1/_FRACTION up to _EXACT_MAX that float32 holds are themselves in every numeric type."""
_ROUNDING = 2.0**-22
"""More than the relative error of one operation, single precision included."""
_DISTANCE_MIN = 1e-6
"""Numbers that differ by more than this, relatively, differ in every numeric type; single precision has 6e-8."""
_MAGNITUDE_MIN, _MAGNITUDE_MAX = 1e-12, 1e30
"""Between these no numeric type overflows or loses digits."""


def negation(operand: int) -> int:
    """`!`."""
    return 1 - operand if operand <= TRUE else operand


def conjunction(left: int, right: int) -> int:
    """`&&`: false if either is false, else unknown if either is unknown, else an error if either is one."""
    return FALSE if left == FALSE or right == FALSE else max(left, right)


def disjunction(left: int, right: int) -> int:
    """`||`: true if either is true, else unknown if either is unknown, else an error if either is one."""
    return TRUE if left == TRUE or right == TRUE else max(left, right)


CONNECTIVES = {"&&": (conjunction, FALSE), "||": (disjunction, TRUE)}
"""Each with the truth of one operand that decides it."""


def is_ambiguous(a: Value, b: Value) -> Holds:
    """True if the types of two numbers could matter: they differ as doubles and not as floats, or one is NaN."""
    return (a != a) | (b != b) | ((a != b) & (np.float32(a) == np.float32(b)))


def is_within(a: Value, b: Value, error: Value) -> Holds:
    """True if two numbers that are off by up to `error` together may be equal; false for error 0."""
    return (error > 0) & (abs(a - b) <= error)


def decision(operator: str, equal: bool = True) -> Callable[[float, float], int]:
    """The comparison of two Python floats: decided if they differ by more than a millionth, or are equal.

    equal   False: equal floats are UNKNOWN as well, as where one is only an estimate

    It decides less than `is_ambiguous` lets, in a tenth of the time.
    """
    holds = COMPARISONS[operator]
    less, same, greater = int(holds(0, 1)), int(holds(0, 0)) if equal else UNKNOWN, int(holds(1, 0))

    def decide(a: float, b: float) -> int:
        if a == b:
            return same
        size = abs(a) + abs(b)
        if _MAGNITUDE_MIN < size < _MAGNITUDE_MAX and abs(a - b) > _DISTANCE_MIN * size:
            return less if a < b else greater
        return UNKNOWN

    return decide


def is_exact(value: Value) -> Holds:
    """True if the number is the same in every numeric type."""
    scaled = value * _FRACTION
    return (abs(value) <= _EXACT_MAX) & (scaled == np.floor(scaled)) & (np.float64(np.float32(value)) == value)


def is_moderate(value: Value) -> Holds:
    """True if no numeric type overflows or loses digits there."""
    return (value == 0) | ((abs(value) >= _MAGNITUDE_MIN) & (abs(value) <= _MAGNITUDE_MAX))


def bounded(number: int, a: Value, a_error: Value, b: Value, b_error: Value) -> tuple[Value, Value, Holds]:
    """`+ - * /` of numbers that are off by up to their errors: the result, its error, and whether both are known.

    number  of the operator, in ARITHMETIC

    The error is 0 where operands and result are the same in every numeric type.
    """
    first, second = abs(a) * _ROUNDING + a_error, abs(b) * _ROUNDING + b_error
    exact = is_exact(a) & is_exact(b) & (a_error + b_error == 0)
    usable = exact | is_moderate(a) & is_moderate(b)
    if number == 0:
        result, error = a + b, first + second
    elif number == 1:
        result, error = a - b, first + second
    elif number == 2:
        result, error = a * b, abs(a) * second + abs(b) * first + first * second
    else:
        usable = usable & (abs(b) > second)
        result = a / (b * usable + (1 - usable))
        error = (first + abs(result) * second) / ((abs(b) - second) * usable + (1 - usable))
        exact = exact & (result * b == a)
    exact = exact & is_exact(result)
    known = usable & (exact | is_moderate(result) & (result != 0))
    return result, (abs(result) * _ROUNDING + error) * (1 - exact), known


RULES = (negation, conjunction, disjunction, is_ambiguous, is_within, is_exact, is_moderate, bounded)
"""The functions that kernels call."""
