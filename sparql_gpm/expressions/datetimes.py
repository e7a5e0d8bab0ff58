"""xsd:dateTime and xsd:date as values: fields for the accessors, seconds for comparison (XML Schema 1.1, Part 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_ZONE = r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_DATE_TIME = re.compile(rf"{_DATE}T([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}}(?:\.[0-9]+)?){_ZONE}")
_DATE_ONLY = re.compile(_DATE + _ZONE)


@dataclass(frozen=True, slots=True)
class DateTime:
    """A point in time by its fields; `zone` is the text of the time zone, "" for none."""

    year: int
    month: int
    day: int
    hours: int
    minutes: int
    seconds: Decimal
    zone: str

    def instant(self) -> Decimal:
        """Seconds since 1970-01-01T00:00:00Z; without a zone it is taken as UTC."""
        minutes = (_days(self.year, self.month, self.day) * 24 + self.hours) * 60 + self.minutes
        return (minutes - (self.zone_minutes() or 0)) * 60 + self.seconds

    def zone_minutes(self) -> int | None:
        """The offset from UTC, or None without a zone."""
        if not self.zone:
            return None
        if self.zone == "Z":
            return 0
        minutes = int(self.zone[1:3]) * 60 + int(self.zone[4:6])
        return -minutes if self.zone[0] == "-" else minutes


def parse_date_time(lexical: str) -> DateTime | None:
    """The value of an xsd:dateTime, or None if the lexical form is none of its."""
    found = _DATE_TIME.fullmatch(lexical)
    if found is None:
        return None
    year, month, day, hours, minutes = (int(part) for part in found.groups()[:5])
    value = DateTime(year, month, day, hours, minutes, Decimal(found.group(6)), found.group(7) or "")
    midnight = hours == 24 and minutes == 0 and value.seconds == 0
    in_range = (hours < 24 or midnight) and minutes < 60 and value.seconds < 60
    return value if in_range and _is_day(year, month, day) else None


def parse_date(lexical: str) -> DateTime | None:
    """The value of an xsd:date as its first moment, or None if the lexical form is none of its."""
    found = _DATE_ONLY.fullmatch(lexical)
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups()[:3])
    return DateTime(year, month, day, 0, 0, Decimal(0), found.group(4) or "") if _is_day(year, month, day) else None


def _is_day(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= day <= lengths[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, for any year."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
