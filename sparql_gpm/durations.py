"""Durations and the arithmetic of dates (XML Schema 1.1, Part 2, 3.3.6; XPath Functions 3.1, Sections 8 and 9)."""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import NamedTuple

from arrays.comparison import COMPARISONS
from sparql_gpm.datetimes import DateTime, date_time_of, day_of, days_of, length_of_month
from sparql_gpm.errors import ExpressionError
from sparql_gpm.numeric import EXACT, Number, NumericType, calculate, cast, number, numeric_literal
from sparql_gpm.terms import WHITE_SPACE, XSD, Literal, Term

DAY_TIME, YEAR_MONTH, DURATION = "dayTimeDuration", "yearMonthDuration", "duration"
"""Local names of the datatypes; only the first two have an order."""
_LEXICAL = re.compile(
    r"(-?)P(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)
_YEAR_MAX = 10**9
_SECONDS_MAX = _YEAR_MAX * 366 * 86_400
_DIGITS_MAX = 100
"""Characters of a lexical form; a longer one has no value."""
_CACHED_MAX = 1 << 14
"""Lexical forms whose values are cached."""


class Duration(NamedTuple):
    """A length of time: months and exact seconds, not of opposite signs."""

    kind: str
    months: int
    seconds: Decimal


def duration_of(term: Term) -> Duration | None:
    """The value of a literal of one of the three datatypes; None for what is none."""
    if not isinstance(term, Literal) or not term.datatype.endswith("uration"):
        return None
    kind = term.datatype.removeprefix(XSD)
    return _read(term.lexical, kind) if kind in (DAY_TIME, YEAR_MONTH, DURATION) else None


@lru_cache(maxsize=_CACHED_MAX)
def _read(lexical: str, kind: str) -> Duration | None:
    stripped = lexical.strip(WHITE_SPACE)
    found = _LEXICAL.fullmatch(stripped) if len(stripped) <= _DIGITS_MAX else None
    if found is None or (kind == DAY_TIME and (found[2] or found[3])):
        return None
    if kind == YEAR_MONTH and (any(found.groups()[3:]) or "T" in stripped):
        return None
    sign, *fields, seconds = found.groups(default="0")
    years, months, days, hours, minutes = map(int, fields)
    factor = -1 if sign == "-" else 1
    exact = EXACT.add(Decimal(((days * 24 + hours) * 60 + minutes) * 60), Decimal(seconds))
    return Duration(kind, factor * (years * 12 + months), EXACT.multiply(factor, exact))


def duration_literal(value: Duration) -> Literal:
    """The canonical literal of a dayTimeDuration or yearMonthDuration: `P1DT1H30M`, `PT0S`, `-P1Y2M`."""
    if value.kind == YEAR_MONTH:
        years, months = divmod(abs(value.months), 12)
        text = _fields((years, "Y"), (months, "M")) or "0M"
        return Literal(f"{'-' * (value.months < 0)}P{text}", XSD + YEAR_MONTH)
    seconds = abs(value.seconds)
    whole = int(seconds)
    days, in_day = divmod(whole, 86_400)
    exact = EXACT.add(Decimal(in_day % 60), EXACT.subtract(seconds, Decimal(whole)))
    clock = _fields((in_day // 3600, "H"), (in_day // 60 % 60, "M"), (exact, "S"))
    text = _fields((days, "D")) + (f"T{clock}" if clock else "")
    return Literal(f"{'-' * (value.seconds < 0)}P{text or 'T0S'}", XSD + DAY_TIME)


def _fields(*fields: tuple[int | Decimal, str]) -> str:
    return "".join(f"{_plain(amount)}{letter}" for amount, letter in fields if amount)


def _plain(amount: int | Decimal) -> str:
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def compare_durations(name: str, left: Duration, right: Duration) -> bool:
    """`=` and `!=` of any two; an order only among dayTimeDurations and among yearMonthDurations."""
    if name not in ("=", "!=") and (left.kind != right.kind or left.kind == DURATION):
        raise ExpressionError("durations of two kinds have no order")
    return bool(COMPARISONS[name](left[1:], right[1:]))


def calculate_terms(name: str, left: Term, right: Term) -> Literal:
    """`+ - * /` of numbers, dates and durations; ExpressionError for other operands."""
    first, second = _value(left), _value(right)
    match first, second:
        case Number(), Number():
            return numeric_literal(calculate(name, first, second))
        case DateTime(), DateTime() if name == "-" and _is_date(left) == _is_date(right):
            return duration_literal(Duration(DAY_TIME, 0, EXACT.subtract(first.instant(), second.instant())))
        case DateTime(), Duration() if name in "+-":
            return _moved(first, _signed(name, second), left)
        case Duration(), DateTime() if name == "+":
            return _moved(second, first, right)
        case Duration(), Duration() if name in "+-" and first.kind == second.kind != DURATION:
            return duration_literal(_sum(first, _signed(name, second)))
        case Duration(), Duration() if name == "/" and first.kind == second.kind == DAY_TIME:
            return numeric_literal(calculate("/", _decimal(first.seconds), _decimal(second.seconds)))
        case Duration(), Number() if name in "*/" and first.kind == DAY_TIME:
            return _scaled(name, first, second)
        case Number(), Duration() if name == "*" and second.kind == DAY_TIME:
            return _scaled(name, second, first)
    raise ExpressionError(f"{name} has no meaning for these operands")


def _value(term: Term) -> Number | DateTime | Duration | None:
    found = number(term)
    if found is None and isinstance(term, Literal):
        return date_time_of(term) or duration_of(term)
    return found


def _is_date(term: Term) -> bool:
    return isinstance(term, Literal) and term.datatype == XSD + "date"


def _signed(name: str, value: Duration) -> Duration:
    return Duration(value.kind, -value.months, -value.seconds) if name == "-" else value


def _sum(left: Duration, right: Duration) -> Duration:
    return Duration(left.kind, left.months + right.months, EXACT.add(left.seconds, right.seconds))


def _decimal(value: Decimal) -> Number:
    return Number(NumericType.DECIMAL, value)


def _scaled(name: str, value: Duration, factor: Number) -> Literal:
    """A dayTimeDuration times or divided by a number; an error for NaN, infinity and division by zero."""
    exact = calculate(name, _decimal(value.seconds), cast(factor, NumericType.DECIMAL))
    return duration_literal(Duration(DAY_TIME, 0, Decimal(exact.value)))


def _moved(moment: DateTime, by: Duration, like: Term) -> Literal:
    """A dateTime or date with a duration added, in its own time zone (XML Schema 1.1, Part 2, Appendix E.3.3)."""
    assert isinstance(like, Literal), like
    year, month = divmod(moment.date.year * 12 + moment.date.month - 1 + by.months, 12)
    total = EXACT.add(Decimal((moment.hours * 60 + moment.minutes) * 60), EXACT.add(moment.seconds, by.seconds))
    if abs(year) > _YEAR_MAX or abs(total) > _SECONDS_MAX:
        raise ExpressionError("a year out of range")
    whole = int(total.to_integral_value(ROUND_FLOOR))
    days, second = divmod(whole, 86_400)
    day = min(moment.date.day, length_of_month(year, month + 1))
    date = day_of(days_of(year, month + 1, day) + days)
    text = f"{'-' * (date.year < 0)}{abs(date.year):04}-{date.month:02}-{date.day:02}"
    if _is_date(like):
        return Literal(text + moment.zone, like.datatype)
    fraction = _plain(EXACT.subtract(total, Decimal(whole)))[1:]
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{fraction}"
    return Literal(f"{text}T{clock}{moment.zone}", XSD + "dateTime")
