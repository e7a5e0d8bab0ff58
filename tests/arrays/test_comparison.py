"""What float64 decides of numbers, against exact arithmetic and single precision."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrays import comparison

NUMBERS = st.one_of(
    st.floats(allow_nan=True),
    st.floats(-1e6, 1e6, width=32),
    st.integers(-(2**26), 2**26).map(lambda number: number / 1024),
    st.sampled_from((0.1, 16777216.0, 16777217.0, 1e-12, 1e30, 3.0, 0.0)),
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_the_rules_say_of_columns_what_they_say_of_floats(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    with np.errstate(all="ignore"):
        assert comparison.is_ambiguous(a, b).tolist() == [bool(comparison.is_ambiguous(x, y)) for x, y in pairs]
        assert comparison.is_exact(a).tolist() == [bool(comparison.is_exact(x)) for x, _ in pairs]
        for number in range(4):
            columns = comparison.bounded(number, a, 0.0, b, 0.0)
            rows = [comparison.bounded(number, x, 0.0, y, 0.0) for x, y in pairs]
            for *found, known in zip(*(column.tolist() for column in columns), strict=True):
                result, error, same = rows.pop(0)
                assert known == bool(same) and (not known or found == [result, error])


@given(st.sampled_from(list(comparison.COMPARISONS)), NUMBERS, NUMBERS)
def test_what_is_decided_of_two_floats_holds_whatever_their_types(operator: str, a: float, b: float) -> None:
    found, differing = comparison.decision(operator)(a, b), comparison.decision(operator, equal=False)(a, b)
    with np.errstate(all="ignore"):
        assert found == comparison.UNKNOWN or not comparison.is_ambiguous(a, b)
    assert found in (comparison.UNKNOWN, comparison.COMPARISONS[operator](a, b))
    assert differing in (comparison.UNKNOWN, found) and (a != b or differing == comparison.UNKNOWN)


@given(st.integers(0, 3), NUMBERS, NUMBERS)
def test_a_known_result_is_within_its_error_in_double_and_in_single_precision(number: int, a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        result, error, known = comparison.bounded(number, a, 0.0, b, 0.0)
        if not known:
            return
        exact = _calculated(number, Fraction(a), Fraction(b))
        single = Fraction(float(_calculated(number, np.float32(a), np.float32(b))))
    assert max(abs(exact - Fraction(result)), abs(single - Fraction(result))) <= Fraction(float(error))


def _calculated(number: int, a: Any, b: Any) -> Any:
    return (operator.add, operator.sub, operator.mul, operator.truediv)[number](a, b)


def test_errors_and_unknown_truths_yield_to_a_decisive_operand() -> None:
    false, true, error, unknown = comparison.FALSE, comparison.TRUE, comparison.ERROR, comparison.UNKNOWN
    for left, right in product((false, true, error, unknown), repeat=2):
        both, either = comparison.conjunction(left, right), comparison.disjunction(left, right)
        assert both == comparison.negation(comparison.disjunction(*map(comparison.negation, (left, right))))
        assert (both == false) == (false in (left, right)) and (either == true) == (true in (left, right))
        assert unknown not in (left, right) or both in (false, unknown)
