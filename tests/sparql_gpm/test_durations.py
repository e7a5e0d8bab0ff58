"""Arithmetic and comparison of dates and durations, against the reference and by XPath's examples."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.durations import calculate_terms, duration_literal, duration_of
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.values import compare, order_key, value_key
from sparql_gpm.terms import XSD, Literal, Term
from tests.reference import values as reference
from tests.reference.functions import function


def typed(text: str) -> Literal:
    """`"P1D"^^dayTimeDuration` and the like."""
    lexical, _, kind = text.partition("^^")
    return Literal(lexical, XSD + kind)


DAY_TIMES = st.builds(
    lambda sign, d, h, m, s, f: f"{sign}P{d}DT{h}H{m}M{s}{f}S^^dayTimeDuration",
    st.sampled_from(["", "-"]),
    st.integers(0, 400),
    st.integers(0, 30),
    st.integers(0, 90),
    st.integers(0, 90),
    st.sampled_from(["", ".5", ".125"]),
)
YEAR_MONTHS = st.builds(
    lambda sign, y, m: f"{sign}P{y}Y{m}M^^yearMonthDuration",
    st.sampled_from(["", "-"]),
    st.integers(0, 3),
    st.integers(0, 30),
)
ANY_DURATIONS = st.builds(
    lambda sign, m, s: f"{sign}P{m}MT{s}S^^duration", st.sampled_from(["", "-"]), st.integers(0, 3), st.integers(0, 3)
)
ZONES = st.sampled_from(["", "Z", "+02:00", "-05:30"])
DATES = st.builds(
    lambda day, zone: f"{day.isoformat()}{zone}^^date",
    st.dates(min_value=date(1200, 1, 1), max_value=date(2800, 12, 31)),
    ZONES,
)
MOMENTS = st.builds(
    lambda moment, fraction, zone: f"{moment.replace(microsecond=0).isoformat()}{fraction}{zone}^^dateTime",
    st.datetimes(min_value=datetime(1200, 1, 1), max_value=datetime(2800, 12, 31)),
    st.sampled_from(["", ".25", ".5"]),
    ZONES,
)
QUOTIENT_ERROR_MAX = Decimal("1E-20")
"""Quotients that do not end are cut off at different places."""
NUMBERS = st.sampled_from(["2^^integer", "0^^integer", "-3^^integer", "0.5^^decimal", "2.0E0^^double"])
TERMS = st.one_of(DAY_TIMES, YEAR_MONTHS, ANY_DURATIONS, DATES, MOMENTS, NUMBERS, st.just("x^^string")).map(typed)


def found(name: str, left: Term, right: Term) -> Term | None:
    try:
        return calculate_terms(name, left, right)
    except ExpressionError:
        return None


def expected(name: str, left: Term, right: Term) -> Term | None:
    try:
        return function(name, (left, right))
    except reference.ExpressionError:
        return None


def seconds(term: Term | None) -> Decimal:
    """The seconds of a duration, or the number."""
    assert isinstance(term, Literal), term
    value = duration_of(term)
    return Decimal(term.lexical) if value is None else value.seconds


def compared(name: str, left: Term, right: Term) -> bool | None:
    try:
        return compare(name, left, right)
    except ExpressionError:
        return None


@given(st.sampled_from("+-*/"), TERMS, TERMS)
def test_arithmetic_is_that_of_the_reference(name: str, left: Literal, right: Literal) -> None:
    result, wanted = found(name, left, right), expected(name, left, right)
    assert result == wanted or (name == "/" and abs(seconds(result) - seconds(wanted)) < QUOTIENT_ERROR_MAX)


@given(st.one_of(DAY_TIMES, YEAR_MONTHS, ANY_DURATIONS).map(typed), st.one_of(DAY_TIMES, YEAR_MONTHS).map(typed))
def test_durations_compare_as_in_the_reference(left: Literal, right: Literal) -> None:
    for name in ("=", "!=", "<", "<=", ">", ">="):
        assert (truth := expected(name, left, right)) is None or truth == Literal(
            str(compared(name, left, right)).lower(), XSD + "boolean"
        )
        assert (truth is None) == (compared(name, left, right) is None)
    if compared("=", left, right):
        assert value_key(left) == value_key(right)
    if left.datatype == right.datatype:
        assert bool(compared("<", left, right)) == (order_key(left) < order_key(right))


@given(st.one_of(DAY_TIMES, YEAR_MONTHS).map(typed))
def test_a_canonical_duration_has_the_same_value(literal: Literal) -> None:
    value = duration_of(literal)
    assert value is not None and duration_of(duration_literal(value)) == value


@pytest.mark.parametrize(
    ("name", "left", "right", "result"),
    [
        ("-", "2000-10-30T06:12:00-05:00^^dateTime", "1999-11-28T09:00:00Z^^dateTime", "P337DT2H12M^^dayTimeDuration"),
        ("-", "2000-10-30^^date", "1999-11-28^^date", "P337D^^dayTimeDuration"),
        ("+", "2000-10-30T11:12:00^^dateTime", "P1Y2M^^yearMonthDuration", "2001-12-30T11:12:00^^dateTime"),
        ("+", "2000-10-30T11:12:00^^dateTime", "P3DT1H15M^^dayTimeDuration", "2000-11-02T12:27:00^^dateTime"),
        ("-", "2000-10-30T11:12:00^^dateTime", "P1Y2M^^yearMonthDuration", "1999-08-30T11:12:00^^dateTime"),
        ("-", "2000-02-29^^date", "P1Y^^yearMonthDuration", "1999-02-28^^date"),
        ("+", "P1M^^duration", "2026-01-31T00:00:00Z^^dateTime", "2026-02-28T00:00:00Z^^dateTime"),
        ("+", "9999-12-31T23:59:59Z^^dateTime", "PT1S^^dayTimeDuration", "10000-01-01T00:00:00Z^^dateTime"),
        ("-", "0001-01-01T00:00:00Z^^dateTime", "PT0.5S^^dayTimeDuration", "0000-12-31T23:59:59.5Z^^dateTime"),
        ("*", "PT2H10M^^dayTimeDuration", "2.1^^decimal", "PT4H33M^^dayTimeDuration"),
        ("/", "P1DT2H30M10.5S^^dayTimeDuration", "1.5^^decimal", "PT17H40M7S^^dayTimeDuration"),
        ("/", "P2DT53M11S^^dayTimeDuration", "PT1S^^dayTimeDuration", "175991^^decimal"),
        ("-", "PT1S^^dayTimeDuration", "PT1S^^dayTimeDuration", "PT0S^^dayTimeDuration"),
    ],
)
def test_examples_of_xpath(name: str, left: str, right: str, result: str) -> None:
    assert calculate_terms(name, typed(left), typed(right)) == typed(result)


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [
        ("+", "P1M^^yearMonthDuration", "P1D^^dayTimeDuration"),
        ("+", "P1M^^duration", "P1M^^duration"),
        ("-", "2000-10-30^^date", "1999-11-28T09:00:00Z^^dateTime"),
        ("-", "P1D^^dayTimeDuration", "2000-10-30^^date"),
        ("/", "P1D^^dayTimeDuration", "0^^integer"),
        ("/", "P1D^^dayTimeDuration", "PT0S^^dayTimeDuration"),
        ("*", "P1D^^dayTimeDuration", "NaN^^double"),
        ("*", "P1D^^dayTimeDuration", "INF^^double"),
        ("+", f"P{10**12}Y^^yearMonthDuration", "2000-10-30^^date"),
        ("+", "P^^dayTimeDuration", "2000-10-30^^date"),
        ("+", "P1DT^^dayTimeDuration", "2000-10-30^^date"),
        ("+", "P1YT1S^^yearMonthDuration", "2000-10-30^^date"),
    ],
)
def test_other_operands_are_errors(name: str, left: str, right: str) -> None:
    with pytest.raises(ExpressionError):
        calculate_terms(name, typed(left), typed(right))
