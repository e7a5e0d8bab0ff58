"""The values of terms as Python has them."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta, timezone
from decimal import Decimal

from sparql_gpm.datetimes import DateTime, date_time_of
from sparql_gpm.numeric import number
from sparql_gpm.terms import WHITE_SPACE, XSD, XSD_STRING, Literal, Term

PythonValue = int | Decimal | float | bool | datetime | date | str | Term
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_MICRO = Decimal("0.000001")


def python_value(term: Term) -> PythonValue:
    """The value of a literal as Python has it; any other term, and what Python would round or has not, as it is.

    Numbers are int, Decimal and float, strings without a language str; an xsd:dateTime has a zone if it states one,
    an xsd:date with a zone is a term, and so is a time of more digits than microseconds have.
    """
    if not isinstance(term, Literal):
        return term
    if term.datatype == XSD_STRING:
        return term.lexical
    if (found := number(term)) is not None:
        return found.value
    if term.datatype == XSD + "boolean":
        return _BOOLEANS.get(term.lexical.strip(WHITE_SPACE), term)
    moment = date_time_of(term)
    if moment is None or not MINYEAR <= moment.date.year <= MAXYEAR:
        return term
    if term.datatype == XSD + "date":
        return term if moment.zone else date(moment.date.year, moment.date.month, moment.date.day)
    return _datetime(moment) or term


def _datetime(moment: DateTime) -> datetime | None:
    """The moment; None if Python has none."""
    if moment.seconds % _MICRO:
        return None
    offset = moment.zone_minutes()
    zone = None if offset is None else timezone(timedelta(minutes=offset))
    passed = timedelta(hours=moment.hours, minutes=moment.minutes, microseconds=int(moment.seconds / _MICRO))
    try:
        return datetime(moment.date.year, moment.date.month, moment.date.day, tzinfo=zone) + passed
    except OverflowError:  # the last midnight of the year 9999
        return None
