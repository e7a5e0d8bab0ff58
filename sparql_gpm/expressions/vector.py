"""Numbers and truths as columns: `arrays.comparison` row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays import comparison

Truths = NDArray[np.int8]
Floats = NDArray[np.float64]


class Bounded(NamedTuple):
    """Numbers as float64, NaN where unknown, and the bounds of their errors; None: there are none."""

    values: Floats
    errors: Floats | None = None


def compare_numbers(operator: str, left: Bounded, right: Bounded) -> Truths:
    """The comparison of each row; UNKNOWN where float64 does not decide it."""
    a, b = left.values, right.values
    result: Truths = comparison.COMPARISONS[operator](a, b).astype(np.int8)
    with np.errstate(all="ignore"):
        unknown = comparison.is_ambiguous(a, b)
        if left.errors is not None or right.errors is not None:
            unknown |= comparison.is_within(a, b, _errors(left) + _errors(right))
    result[unknown] = comparison.UNKNOWN
    return result


def calculate_numbers(operator: str, left: Bounded, right: Bounded) -> Bounded:
    """`+ - * /` of each row."""
    number = comparison.ARITHMETIC.index(operator)
    with np.errstate(all="ignore"):
        result, errors, known = comparison.bounded(number, left.values, _errors(left), right.values, _errors(right))
    return Bounded(np.where(known, result, np.nan), np.where(known, errors, 0.0))


def _errors(numbers: Bounded) -> Floats | float:
    return 0.0 if numbers.errors is None else numbers.errors


def _table(connect: Callable[[int, int], int]) -> Truths:
    truths = range(comparison.UNKNOWN)
    return np.array([[connect(left, right) for right in truths] for left in truths], dtype=np.int8)


NEGATION: Truths = np.array([comparison.negation(truth) for truth in range(comparison.UNKNOWN)], dtype=np.int8)
"""By the operand; CONNECTIVES by left and right."""
CONNECTIVES = {name: _table(connect) for name, (connect, _) in comparison.CONNECTIVES.items()}
