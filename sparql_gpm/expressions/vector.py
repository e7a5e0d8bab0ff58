"""Truth of comparisons over columns of numbers, where float64 gives the answer that SPARQL gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import Mask

Truths = NDArray[np.int8]
Floats = NDArray[np.float64]

FALSE, TRUE, ERROR, UNKNOWN = 0, 1, 2, 3
"""Values of a Truths column; UNKNOWN asks for the scalar path."""

_WHOLE_MAX = 2.0**24
_FRACTION = 2.0**10
"""Multiples of 1/_FRACTION up to _WHOLE_MAX that float32 holds are themselves in every numeric type."""

_ROUNDING = 2.0**-22
"""More than the relative error of one operation, single precision included."""

_MAGNITUDE_MIN, _MAGNITUDE_MAX = 1e-12, 1e30
"""Between these no numeric type overflows or loses digits."""

_COMPARISONS: dict[str, Callable[[Floats, Floats], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
COMPARISONS = frozenset(_COMPARISONS)
ARITHMETIC = frozenset("+-*/")


class Bounded(NamedTuple):
    """Numbers as float64, NaN where unknown, and how far their value by SPARQL's rules can be from that."""

    values: Floats
    errors: Floats


def exactly(values: Floats) -> Bounded:
    """The numbers of terms."""
    return Bounded(values, np.zeros(len(values)))


def compare_numbers(operator: str, left: Bounded, right: Bounded) -> Truths:
    """The comparison of each row; UNKNOWN where a side is NaN or the type of the numbers could matter."""
    a, b = left.values, right.values
    result: Truths = _COMPARISONS[operator](a, b).astype(np.int8)
    unclear = np.isnan(a) | np.isnan(b)
    different = a != b
    with np.errstate(all="ignore"):
        if different.any():
            unclear |= different & (a.astype(np.float32) == b.astype(np.float32))
        errors = left.errors + right.errors
        if errors.any():
            unclear |= (errors > 0) & ~(np.abs(a - b) > errors)
    result[unclear] = UNKNOWN
    return result


def calculate_numbers(operator: str, left: Bounded, right: Bounded) -> Bounded:
    """`+ - * /` with a bound of the error: 0 where operands and result are the same in every numeric type."""
    a, b = left.values, right.values
    with np.errstate(all="ignore"):
        first, second = _inexact(left), _inexact(right)
        match operator:
            case "+" | "-":
                result = a + b if operator == "+" else a - b
                errors = first + second
            case "*":
                result = a * b
                errors = np.abs(a) * second + np.abs(b) * first + first * second
            case _:
                result = a / b
                errors = (first + np.abs(result) * second) / (np.abs(b) - second)
        exact = _is_small(left) & _is_small(right) & _is_small(exactly(result))
        if operator == "/":
            exact &= result * b == a
        errors = np.where(exact, 0.0, errors + np.abs(result) * _ROUNDING)
        moderate = (_is_moderate(a) | (a == 0)) & (_is_moderate(b) | (b == 0)) & _is_moderate(result)
        known = exact | (moderate & (errors >= 0))
    return Bounded(np.where(known, result, np.nan), np.where(known, errors, 0.0))


def _inexact(numbers: Bounded) -> Floats:
    """Their errors, with that of a conversion to single precision."""
    return numbers.errors + np.abs(numbers.values) * _ROUNDING


def _is_small(numbers: Bounded) -> Mask:
    values = numbers.values
    small: Mask = (np.abs(values) <= _WHOLE_MAX) & (numbers.errors == 0)
    small &= values.astype(np.float32) == values
    scaled = values * _FRACTION
    small &= scaled == np.trunc(scaled)
    return small


def _is_moderate(values: Floats) -> Mask:
    magnitude = np.abs(values)
    moderate: Mask = (magnitude >= _MAGNITUDE_MIN) & (magnitude <= _MAGNITUDE_MAX)
    return moderate


def negation(operand: Truths) -> Truths:
    """`!`."""
    return np.array((TRUE, FALSE, ERROR), dtype=np.int8)[operand]


def conjunction(left: Truths, right: Truths) -> Truths:
    """`&&`: false if either is false, else an error if either is."""
    table = np.array(((0, 0, 0), (0, 1, 2), (0, 2, 2)), dtype=np.int8)
    return table[left, right]


def disjunction(left: Truths, right: Truths) -> Truths:
    """`||`: true if either is true, else an error if either is."""
    table = np.array(((0, 1, 2), (1, 1, 1), (2, 1, 2)), dtype=np.int8)
    return table[left, right]
