"""Durations and the arithmetic of dates (XPath Functions 3.1, 8 and 9), by Python's calendar; years 1 to 9999 only."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from sparql_gpm.terms import XSD, Literal, Term
from tests.reference.values import DECIMAL, ExpressionError, literal, number

Duration = tuple[str, int, Fraction]
"""(local name of the datatype, months, seconds)."""
Moment = tuple[str, datetime, Fraction]
"""(local name of the datatype, the local time of day cut to the second, fraction of the second)."""

_FORMS = {
    "dayTimeDuration": r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    "yearMonthDuration": r"(-)?P(?:(\d+)Y)?(?:(\d+)M)?",
    "duration": r"(-)?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
}
_WEIGHTS = {
    "dayTimeDuration": ((0, 86_400), (0, 3_600), (0, 60), (0, 1)),
    "yearMonthDuration": ((12, 0), (1, 0)),
    "duration": ((12, 0), (1, 0), (0, 86_400), (0, 3_600), (0, 60), (0, 1)),
}
"""(months, seconds) of one unit of each field."""


def duration(term: Term) -> Duration | None:
    """The value of a duration, None for anything else."""
    kind = term.datatype.removeprefix(XSD) if isinstance(term, Literal) else ""
    if kind not in _FORMS or not isinstance(term, Literal):
        return None
    form = re.fullmatch(_FORMS[kind], term.lexical)
    if form is None or term.lexical[-1] in "PT":
        return None
    sign = -1 if form[1] else 1
    amounts = [Fraction(field or 0) for field in form.groups()[1:]]
    months = sum(amount * weight[0] for amount, weight in zip(amounts, _WEIGHTS[kind], strict=True))
    seconds = sum(amount * weight[1] for amount, weight in zip(amounts, _WEIGHTS[kind], strict=True))
    return kind, int(sign * months), Fraction(sign * seconds)


def time_arithmetic(name: str, left: Term, right: Term) -> Literal:
    """+ - * / where not both are numbers."""
    a, b = duration(left), duration(right)
    when, then = _moment(left), _moment(right)
    x, y = number(left), number(right)
    if when and then and name == "-" and (when[0] == "date") == (then[0] == "date"):
        return _day_time(_seconds(when) - _seconds(then))
    if when and b and name in "+-":
        return _moved(when, b, 1 if name == "+" else -1)
    if a and then and name == "+":
        return _moved(then, a, 1)
    if a and b and a[0] == b[0] != "duration":
        if name in "+-":
            sign = 1 if name == "+" else -1
            total = (a[0], a[1] + sign * b[1], a[2] + sign * b[2])
            return _day_time(total[2]) if a[0] == "dayTimeDuration" else _year_month(total[1])
        if name == "/" and a[0] == "dayTimeDuration" and b[2]:
            return literal(DECIMAL, a[2] / b[2])
    if a and a[0] == "dayTimeDuration" and y and (name == "*" or (name == "/" and y[1])):
        return _day_time(a[2] * Fraction(y[1]) if name == "*" else a[2] / Fraction(y[1]))
    if b and b[0] == "dayTimeDuration" and x and name == "*":
        return _day_time(b[2] * Fraction(x[1]))
    raise ExpressionError(f"no {name} of {left} and {right}")


def _moment(term: Term) -> Moment | None:
    kind = term.datatype.removeprefix(XSD) if isinstance(term, Literal) else ""
    if not isinstance(term, Literal) or kind not in ("dateTime", "dateTimeStamp", "date"):
        return None
    form = re.fullmatch(r"(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", term.lexical)
    if form is None or (form[2] is None) != (kind == "date"):
        return None
    try:
        return (
            kind,
            datetime.fromisoformat(form[1] + (form[2] or "T00:00:00") + (form[4] or "")),
            Fraction(form[3] or 0),
        )
    except ValueError:
        return None


def _seconds(when: Moment) -> Fraction:
    """Seconds since 1970 in UTC; without a zone it is taken as UTC."""
    zoned = when[1] if when[1].tzinfo else when[1].replace(tzinfo=UTC)
    since = zoned - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400 + since.seconds + when[2]


def _moved(when: Moment, by: Duration, sign: int) -> Literal:
    kind, local, fraction = when
    year, month = divmod(local.year * 12 + local.month - 1 + sign * by[1], 12)
    day = min(local.day, calendar.monthrange(year, month + 1)[1])
    total = fraction + sign * by[2]
    whole = total.numerator // total.denominator
    moved = local.replace(year=year, month=month + 1, day=day) + timedelta(seconds=whole)
    zone = moved.isoformat()[19:].replace("+00:00", "Z")
    if kind == "date":
        return Literal(f"{moved:%Y-%m-%d}{zone}", XSD + "date")
    return Literal(f"{moved:%Y-%m-%dT%H:%M:%S}{_decimal(total - whole)[1:]}{zone}", XSD + "dateTime")


def _decimal(value: Fraction) -> str:
    """`0`, `0.5`: the text of a decimal."""
    text = literal(DECIMAL, value).lexical
    return "" if text == "0" else text


def _day_time(seconds: Fraction) -> Literal:
    amount = abs(seconds)
    whole = amount.numerator // amount.denominator
    fields = [(whole // 3_600 % 24, "H"), (whole // 60 % 60, "M")]
    clock = "".join(f"{count}{letter}" for count, letter in fields if count)
    rest = whole % 60 + (amount - whole)
    clock += f"{literal(DECIMAL, rest).lexical}S" if rest else ""
    text = (f"{whole // 86_400}D" if whole >= 86_400 else "") + (f"T{clock}" if clock else "")
    return Literal(f"{'-' if seconds < 0 else ''}P{text or 'T0S'}", XSD + "dayTimeDuration")


def _year_month(months: int) -> Literal:
    years, rest = divmod(abs(months), 12)
    text = (f"{years}Y" if years else "") + (f"{rest}M" if rest else "")
    return Literal(f"{'-' if months < 0 else ''}P{text or '0M'}", XSD + "yearMonthDuration")
