"""xsd:dateTime and xsd:date: their fields, the seconds that they are compared by (XML Schema 1.1, Part 2)."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from sparql_gpm.terms import WHITE_SPACE, XSD, Literal

KINDS = ("dateTime", "dateTimeStamp", "date")
"""Names of the datatypes."""
_LEXICAL = re.compile(
    r"(-?[0-9]{4,})-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_ZONE_MINUTES_MAX = 14 * 60
_DAYS_MAX = 1024
"""Days whose distance from the epoch is cached."""


class DateTime(NamedTuple):
    """A point in time by its fields; that of a date is its first moment.

    days    since 1970-01-01
    zone    the text of the time zone, "" for none
    """

    year: int
    month: int
    day: int
    hours: int
    minutes: int
    seconds: Decimal
    zone: str
    days: int

    def zone_minutes(self) -> int | None:
        """The offset from UTC, or None without a zone."""
        return _zone_minutes(self.zone) if self.zone else None

    def minutes_utc(self) -> int:
        """Whole minutes since 1970-01-01T00:00:00Z; without a zone it is taken as UTC."""
        return (self.days * 24 + self.hours) * 60 + self.minutes - (self.zone_minutes() or 0)

    def instant(self) -> Decimal:
        """Seconds since 1970-01-01T00:00:00Z; without a zone it is taken as UTC."""
        return self.minutes_utc() * 60 + self.seconds


def date_time_of(literal: Literal) -> DateTime | None:
    """The value of an xsd:dateTime, xsd:dateTimeStamp or xsd:date, None for what is none."""
    kind = literal.datatype.removeprefix(XSD)
    try:
        return parse_date_time(literal.lexical.strip(WHITE_SPACE), kind) if kind in KINDS else None
    except ValueError:
        return None


def parse_date_time(lexical: str, kind: str) -> DateTime:
    """The value of a lexical form of one of KINDS; ValueError says what is wrong with it."""
    found = _LEXICAL.fullmatch(lexical)
    if found is None or (found[4] is None) != (kind == "date"):
        raise ValueError(f"{lexical!r} is not an xsd:{kind}")
    year, month, day, hours, minutes, seconds, zone = found.groups(default="")
    if len(digits := year.lstrip("-")) > 4 and digits[0] == "0":
        raise ValueError(f"{lexical!r} has a year with leading zeros")
    if kind == "dateTimeStamp" and not zone:
        raise ValueError(f"{lexical!r} is not an xsd:dateTimeStamp: it has no time zone")
    if zone not in ("", "Z") and (int(zone[4:]) > 59 or abs(_zone_minutes(zone)) > _ZONE_MINUTES_MAX):
        raise ValueError(f"{lexical!r} has an impossible time zone, {zone}")
    days = _days_since_epoch(int(year), int(month), int(day))
    if days is None:
        raise ValueError(f"{lexical!r}: there is no such day")
    clock = int(hours or 0), int(minutes or 0), Decimal(seconds or 0)
    if clock > (24, 0, 0) or clock[1] > 59 or clock[2] >= 60:
        raise ValueError(f"{lexical!r} is not an xsd:{kind}: there is no such time of day")
    return DateTime(int(year), int(month), int(day), *clock, zone, days)


def _zone_minutes(zone: str) -> int:
    minutes = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


@lru_cache(maxsize=_DAYS_MAX)
def _days_since_epoch(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, for any year; None if there is no such day."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1]):
        return None
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
