"""xsd:dateTime and xsd:date: their fields, and the seconds that they are compared by (XML Schema 1.1, Part 2)."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from sparql_gpm.terms import WHITE_SPACE, XSD, Literal

KINDS = ("dateTime", "dateTimeStamp", "date")
"""Names of the datatypes."""
_LEXICAL = re.compile(
    r"(-?[0-9]{4,}-[0-9]{2}-[0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?))?(Z|[+-][0-9]{2}:[0-9]{2}|)"
)
_ZONE_MINUTES_MAX = 14 * 60
_CACHED_MAX = 1024
"""Days, and zones, whose distances are cached."""


class Date(NamedTuple):
    """A day by its fields; `days` since 1970-01-01."""

    year: int
    month: int
    day: int
    days: int


class DateTime(NamedTuple):
    """A point in time by its fields; that of a date is its first moment.

    seconds_text    two digits, perhaps with a fraction
    zone            the text of the time zone, "" for none
    """

    date: Date
    hours: int
    minutes: int
    seconds_text: str
    zone: str

    @property
    def seconds(self) -> Decimal:
        """The seconds of the minute."""
        return Decimal(self.seconds_text)

    def zone_minutes(self) -> int | None:
        """The offset from UTC, or None without a zone."""
        return _zone_minutes(self.zone) if self.zone else None

    def minutes_utc(self) -> int:
        """Whole minutes since 1970-01-01T00:00:00Z; without a zone it is taken as UTC."""
        return (self.date.days * 24 + self.hours) * 60 + self.minutes - _zone_minutes(self.zone)

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
    if found is None or (found[2] is None) != (kind == "date"):
        raise ValueError(f"{lexical!r} is not an xsd:{kind}")
    day, hours, minutes, seconds, zone = found.groups(default="00")
    try:
        value = DateTime(_date(day), int(hours), int(minutes), seconds, zone)
        _zone_minutes(zone)
    except ValueError as error:
        raise ValueError(f"{lexical!r}{error}") from None
    if kind == "dateTimeStamp" and not zone:
        raise ValueError(f"{lexical!r} is not an xsd:dateTimeStamp: it has no time zone")
    if (hours > "23" and (hours > "24" or minutes != "00" or seconds.strip("0."))) or minutes > "59" or seconds >= "60":
        raise ValueError(f"{lexical!r} is not an xsd:{kind}: there is no such time of day")
    return value


@lru_cache(maxsize=_CACHED_MAX)
def _zone_minutes(zone: str) -> int:
    if zone in ("", "Z"):
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    if zone[4:] > "59" or minutes > _ZONE_MINUTES_MAX:
        raise ValueError(f" has an impossible time zone, {zone}")
    return -minutes if zone[0] == "-" else minutes


@lru_cache(maxsize=_CACHED_MAX)
def _date(text: str) -> Date:
    """A day of the proleptic Gregorian calendar, of any year."""
    digits, month, day = text[:-6], int(text[-5:-3]), int(text[-2:])
    if len(digits.lstrip("-")) > 4 and digits.lstrip("-").startswith("0"):
        raise ValueError(" has a year with leading zeros")
    year = int(digits)
    if not (1 <= month <= 12 and 1 <= day <= length_of_month(year, month)):
        raise ValueError(": there is no such day")
    return Date(year, month, day, days_of(year, month, day))


def length_of_month(year: int, month: int) -> int:
    """The days of a month of the proleptic Gregorian calendar."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def days_of(year: int, month: int, day: int) -> int:
    """The days from 1970-01-01 to a day of the proleptic Gregorian calendar."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def day_of(days: int) -> Date:
    """The day so many days after 1970-01-01; the inverse of `days_of`."""
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return Date(year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1, days)
