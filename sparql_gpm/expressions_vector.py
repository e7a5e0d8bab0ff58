"""Truth of comparisons over columns of numbers, where float64 gives the answer that SPARQL gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import Mask

Truths = NDArray[np.int8]
Floats = NDArray[np.float64]

FALSE, TRUE, ERROR, UNKNOWN = 0, 1, 2, 3
"""Values of a Truths column; UNKNOWN asks for the scalar path."""

_EXACT_MAX = 2.0**24
"""Whole numbers up to here are themselves in every numeric type, single precision included."""

_COMPARISONS: dict[str, Callable[[Floats, Floats], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
COMPARISONS = frozenset(_COMPARISONS)
ARITHMETIC = frozenset("+-*/")


def compare_numbers(operator: str, left: Floats, right: Floats) -> Truths:
    """The comparison of each row; UNKNOWN where a side is NaN, or single precision could tell otherwise."""
    result: Truths = _COMPARISONS[operator](left, right).astype(np.int8)
    unclear = np.isnan(left) | np.isnan(right)
    different = left != right
    if different.any():
        with np.errstate(over="ignore"):
            unclear |= different & (left.astype(np.float32) == right.astype(np.float32))
    result[unclear] = UNKNOWN
    return result


def calculate_numbers(operator: str, left: Floats, right: Floats) -> Floats:
    """`+ - * /` where operands and result are small whole numbers, and so exact in every type; NaN elsewhere."""
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case _:
                result = left / right
        exact = _is_small(left) & _is_small(right) & _is_small(result)
    return np.where(exact, result, np.nan)


def _is_small(values: Floats) -> Mask:
    small: Mask = np.abs(values) <= _EXACT_MAX
    small &= values == np.trunc(values)
    return small


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
