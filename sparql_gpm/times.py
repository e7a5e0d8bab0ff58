"""Times and durations as integer nanoseconds: what a timestamp literal says, and how a time is printed.

A time is counted from 1970-01-01T00:00:00Z. int64 reaches from 1677-09-21 to 2262-04-11; a time
outside is an error, never a wrapped number.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from sparql_gpm.dictionary import INTEGER_TYPES
from sparql_gpm.terms import XSD, Literal

SECOND_NS = 1_000_000_000
_DAY_NS = 86_400 * SECOND_NS
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_TIME_NS_MIN = -(2**63) + 1
_TIME_NS_MAX = 2**63 - 1
_EXPONENT_MAX = 40
"""A power of ten beyond this is out of the range of times whatever stands before it (zero apart)."""
_OFFSET_MINUTES_MAX = 14 * 60

_SPACE = " \t\r\n"
_ZONE = r"(Z|[+-]\d\d:\d\d)?"
_DATE = re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d){_ZONE}", re.ASCII)
_DATE_TIME = re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?{_ZONE}", re.ASCII)
_NUMBER = re.compile(r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,9}))?", re.ASCII)
_NOT_INTEGER = frozenset(".eE")
_FOREIGN = {XSD + "decimal": frozenset("eE"), XSD + "double": frozenset[str](), XSD + "float": frozenset[str]()}
"""Characters of a number that the datatype does not allow; integers allow digits and a sign only."""
_NUMERIC_TYPES = INTEGER_TYPES | {XSD + "decimal", XSD + "double", XSD + "float"}

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "": SECOND_NS,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3600 * SECOND_NS,
    "d": _DAY_NS,
}
_SIMPLE_DURATION = re.compile(r"(\d{1,30})(?:\.(\d{1,30}))? *([a-z]*)", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?=[\dT])(?:(\d{1,30})D)?(?:T(?=\d)(?:(\d{1,30})H)?(?:(\d{1,30})M)?(?:(\d{1,30})(?:\.(\d{1,30}))?S)?)?", re.ASCII
)


def parse_time(literal: Literal) -> int:
    """The time that a literal states, in nanoseconds since the epoch, UTC.

    xsd:dateTime, xsd:dateTimeStamp and xsd:date (its first instant); without a zone it is UTC. A number is
    seconds, taken from its decimal digits (so 0.3 as xsd:double is 300 ms). Digits beyond the nanosecond
    are cut off. ValueError says what is wrong with anything else.
    """
    lexical, datatype = literal.lexical.strip(_SPACE), literal.datatype
    if datatype in (XSD + "dateTime", XSD + "dateTimeStamp"):
        return _in_range(_date_time_ns(lexical, zone_needed=datatype.endswith("Stamp")), lexical)
    if datatype == XSD + "date":
        return _in_range(_date_ns(lexical), lexical)
    if datatype in _NUMERIC_TYPES:
        return _in_range(_seconds_ns(lexical, datatype), lexical)
    kind = f"a literal of type <{datatype}>" if not literal.language else "a language-tagged string"
    raise ValueError(f"{kind} is not a time: expected xsd:dateTime, xsd:dateTimeStamp, xsd:date or a number of seconds")


def format_time(time_ns: int) -> str:
    """A time as the text of an xsd:dateTime in UTC; a fraction only when it is not zero, no trailing zeros."""
    days, in_day = divmod(time_ns, _DAY_NS)
    seconds, fraction = divmod(in_day, SECOND_NS)
    day = date.fromordinal(_EPOCH_DAY + days).isoformat()
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = "." + f"{fraction:09}".rstrip("0") if fraction else ""
    return f"{day}T{clock}{tail}Z"


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
    if duration_ns > _TIME_NS_MAX:
        raise ValueError(f"{text!r} is too long: the longest duration is about 292 years")
    return duration_ns


def _in_range(time_ns: int, lexical: str) -> int:
    if not _TIME_NS_MIN <= time_ns <= _TIME_NS_MAX:
        raise _out_of_range(lexical)
    return time_ns


def _out_of_range(lexical: str) -> ValueError:
    shown = lexical if len(lexical) <= 60 else lexical[:57] + "..."
    return ValueError(f"time {shown!r} is out of range: it must lie between the years 1678 and 2261")


def _date_ns(lexical: str) -> int:
    match = _DATE.fullmatch(lexical)
    if match is None:
        raise ValueError(f"{lexical!r} is not an xsd:date")
    year, month, day, zone = match.groups()
    return _day(year, month, day, lexical) * _DAY_NS - _zone_ns(zone, lexical)


def _date_time_ns(lexical: str, zone_needed: bool) -> int:
    match = _DATE_TIME.fullmatch(lexical)
    if match is None:
        raise ValueError(f"{lexical!r} is not an xsd:dateTime")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if zone_needed and zone is None:
        raise ValueError(f"{lexical!r} is not an xsd:dateTimeStamp: it has no time zone")
    hours, minutes, seconds = int(hour), int(minute), int(second)
    fraction_ns = int((fraction + "00000000")[:9]) if fraction else 0
    midnight = hours == 24 and not minutes and not seconds and not (fraction or "").strip("0")
    if not midnight and (hours > 23 or minutes > 59 or seconds > 59):
        raise ValueError(f"{lexical!r} is not an xsd:dateTime: there is no such time of day")
    in_day = (hours * 3600 + minutes * 60 + seconds) * SECOND_NS + fraction_ns
    return _day(year, month, day, lexical) * _DAY_NS + in_day - _zone_ns(zone, lexical)


def _day(year: str, month: str, day: str, lexical: str) -> int:
    """Days since 1970-01-01."""
    if len(year) != 4:
        if year.lstrip("-").startswith("0") and len(year.lstrip("-")) > 4:
            raise ValueError(f"{lexical!r} has a year with leading zeros")
        raise _out_of_range(lexical)
    if year == "0000":
        raise _out_of_range(lexical)
    try:
        return _calendar_day(year, month, day)
    except ValueError:
        raise ValueError(f"{lexical!r}: there is no such day") from None


@lru_cache(maxsize=1024)
def _calendar_day(year: str, month: str, day: str) -> int:
    return date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY


def _zone_ns(zone: str | None, lexical: str) -> int:
    """How far the zone is ahead of UTC."""
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    if int(zone[4:6]) > 59 or minutes > _OFFSET_MINUTES_MAX:
        raise ValueError(f"{lexical!r} has an impossible time zone, {zone}")
    return (minutes if zone[0] == "+" else -minutes) * 60 * SECOND_NS


def _seconds_ns(lexical: str, datatype: str) -> int:
    """A number of seconds, from its digits, cut off (towards zero) at the nanosecond."""
    match = _NUMBER.fullmatch(lexical)
    if match is None or set(lexical) & _FOREIGN.get(datatype, _NOT_INTEGER):
        raise ValueError(f"{lexical!r} is no finite number of type xsd:{datatype.removeprefix(XSD)}")
    sign, whole, fraction, only_fraction, exponent = match.groups()
    decimals = fraction or only_fraction or ""
    digits = ((whole or "") + decimals).lstrip("0")
    if not digits:
        return 0
    shift = int(exponent or 0) - len(decimals) + 9
    magnitude = len(digits) + shift
    if magnitude > _EXPONENT_MAX:
        raise _out_of_range(lexical)
    if magnitude <= 0:
        return 0
    value = int(digits) * 10**shift if shift >= 0 else int(digits[:shift])
    return -value if sign == "-" else value
