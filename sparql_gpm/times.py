"""Times and durations as integer nanoseconds, read from literals and printed.

A time is counted from 1970-01-01T00:00:00Z. int64 reaches from 1677-09-21 to 2262-04-11; a time
outside is an error, never a wrapped number.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import ROUND_DOWN, Context, Decimal
from functools import lru_cache

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.datetimes import KINDS, parse_date_time
from sparql_gpm.numeric import NUMERIC_TYPES, is_number
from sparql_gpm.terms import WHITE_SPACE, XSD, Literal

SECOND_NS = 1_000_000_000
_DAY_NS = 86_400 * SECOND_NS
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EXPONENT_MAX = 40
"""Powers of ten beyond this are out of range."""
_CUT = Context(prec=_EXPONENT_MAX, rounding=ROUND_DOWN)

_UNITS_NS = {
    "ns": 1, "us": 1_000, "ms": 1_000_000, "": SECOND_NS, "s": SECOND_NS, "m": 60 * SECOND_NS, "h": 3600 * SECOND_NS,
    "d": _DAY_NS,
}  # fmt: skip
_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-5][0-9](?:\.[0-9]+)?Z")
"""The usual lexical form of a time, whose minute is cached."""
_MINUTES_MAX = 1024
_SIMPLE_DURATION = re.compile(r"(\d{1,30})(?:\.(\d{1,30}))? *([a-z]*)", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?=[\dT])(?:(\d{1,30})D)?(?:T(?=\d)(?:(\d{1,30})H)?(?:(\d{1,30})M)?(?:(\d{1,30})(?:\.(\d{1,30}))?S)?)?", re.ASCII
)


def parse_time(literal: Literal, unit_ns: int = SECOND_NS, origin_ns: int = 0) -> int:
    """The time that a literal states, in nanoseconds since the epoch, UTC.

    unit_ns     the nanoseconds that a number counts: a power of ten
    origin_ns   the time at which numbers begin

    xsd:dateTime, xsd:dateTimeStamp and xsd:date (its first instant); without a zone it is UTC. A number is
    taken from its decimal digits (so 0.3 seconds as xsd:double are 300 ms). Digits beyond the nanosecond
    are cut off. ValueError says what is wrong with anything else.
    """
    lexical, kind = literal.lexical.strip(WHITE_SPACE), literal.datatype.removeprefix(XSD)
    if kind == "dateTime" and _PLAIN.fullmatch(lexical) and (minute := _minute_ns(lexical[:16])) is not None:
        return minute + int(f"{lexical[17:19]}{lexical[20:-1]:0<9.9}")
    if kind in KINDS:
        moment = parse_date_time(lexical, kind)
        seconds, _, fraction = moment.seconds_text.partition(".")
        time_ns = (moment.minutes_utc() * 60 + int(seconds)) * SECOND_NS + int(f"{fraction}00000000"[:9])
    elif literal.datatype in NUMERIC_TYPES:
        time_ns = origin_ns + _number_ns(lexical, literal.datatype, len(str(unit_ns)) - 1)
    else:
        shown = f"a literal of type <{literal.datatype}>" if not literal.language else "a language-tagged string"
        raise ValueError(
            f"{shown} is not a time: expected xsd:dateTime, xsd:dateTimeStamp, xsd:date or a number of seconds"
        )
    if not TIME_NS_MIN <= time_ns <= TIME_NS_MAX:
        shown = lexical if len(lexical) <= 60 else lexical[:57] + "..."
        raise ValueError(f"time {shown!r} is out of range: it must lie between the years 1678 and 2261")
    return time_ns


@lru_cache(maxsize=_MINUTES_MAX)
def _minute_ns(text: str) -> int | None:
    """The time of `2026-01-01T00:00` in UTC; None where it or a second of it is no time."""
    try:
        time_ns = parse_date_time(f"{text}:00Z", "dateTime").minutes_utc() * 60 * SECOND_NS
    except ValueError:
        return None
    return time_ns if TIME_NS_MIN <= time_ns <= TIME_NS_MAX - 60 * SECOND_NS else None


def _number_ns(lexical: str, datatype: str, digits: int) -> int:
    """A number of units of 10^digits ns, cut off (towards zero) at the nanosecond; beyond 2**64 if out of range."""
    try:
        number = Decimal(lexical if is_number(lexical, NUMERIC_TYPES[datatype]) else "NaN")
        return 2**65 if number and number.adjusted() > _EXPONENT_MAX else int(_CUT.scaleb(number, digits))
    except (ArithmeticError, ValueError):  # also INF and exponents of 20 digits
        raise ValueError(f"{lexical!r} is no finite number of type xsd:{datatype.removeprefix(XSD)}") from None


def format_time(time_ns: int) -> str:
    """A time as the text of an xsd:dateTime in UTC; a fraction only when it is not zero, no trailing zeros."""
    days, in_day = divmod(time_ns, _DAY_NS)
    seconds, fraction = divmod(in_day, SECOND_NS)
    day = date.fromordinal(_EPOCH_DAY + days).isoformat()
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = "." + f"{fraction:09}".rstrip("0") if fraction else ""
    return f"{day}T{clock}{tail}Z"


def time_literal(time_ns: int) -> Literal:
    """A time as an xsd:dateTime in UTC."""
    return Literal(format_time(time_ns), XSD + "dateTime")


def parse_duration(text: str) -> int:
    """A length of time in nanoseconds: `500ms`, `10s`, `5m`, `1.5h`, `2d`, `PT10S`, or a plain number of seconds."""
    stripped = text.strip()
    if match := _SIMPLE_DURATION.fullmatch(stripped):
        whole, fraction, unit = match.groups()
        if unit in _UNITS_NS:
            return _duration_in_range(_scaled(whole, fraction or "", _UNITS_NS[unit]), text)
    elif match := _ISO_DURATION.fullmatch(stripped):
        days, hours, minutes, seconds, fraction = match.groups(default="")
        whole_seconds = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        return _duration_in_range(_scaled(str(whole_seconds), fraction, SECOND_NS), text)
    raise ValueError(f"{text!r} is not a duration: expected for example 500ms, 10s, 5m, 1h, 2d, PT10S or 2.5 (seconds)")


def _scaled(whole: str, fraction: str, unit_ns: int) -> int:
    """whole.fraction units, cut off at the nanosecond."""
    ten_power: int = 10 ** len(fraction)
    return int(whole + fraction) * unit_ns // ten_power


def _duration_in_range(duration_ns: int, text: str) -> int:
    if duration_ns > TIME_NS_MAX:
        raise ValueError(f"{text!r} is too long: the longest duration is about 292 years")
    return duration_ns
