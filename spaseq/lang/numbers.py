"""The numbers of a query: window sizes and starts, LIMIT."""

from __future__ import annotations

from automata.plan.program import Window
from sparql_gpm.syntax.tokens import string_value
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from spaseq.lang.ast import Unit
from spaseq.lang.codes import Code
from spaseq.lang.drafts import EveryDraft, StartingDraft, WithinClause, Word
from spaseq.lang.iris import Namespace
from spaseq.lang.report import Report

NUMBER_MAX = 2**63 - 1
"""The largest count, and the longest duration in nanoseconds."""
_DIGITS_MAX = 19


def read_window(clause: WithinClause, namespace: Namespace, report: Report) -> Window | None:
    """The window of WITHIN; None after reporting an error."""
    unit = Unit[clause.unit.text.upper().removesuffix("S")]
    in_events = unit is Unit.EVENT
    every = clause.mode if isinstance(clause.mode, EveryDraft) else None
    sliding = isinstance(clause.mode, Word) and clause.mode.text.upper() == "SLIDING"
    count = read_count(clause.size, "a window", report)
    if count is not None and count * max(unit.value, 1) > NUMBER_MAX:
        message = "a window is 292 years long at most"
        report.add(Code.TOO_LARGE, clause.size.span, message, "choose a smaller number or unit")
        count = None
    start = None
    if clause.starting is not None:
        if sliding:
            hint = "a sliding window begins with each match: leave out STARTING AT, or SLIDING"
            message = "STARTING AT cannot stand with SLIDING"
            report.add(Code.START_OF_SLIDING, clause.starting.keyword.span, message, hint)
        start = _start(clause.starting, in_events, namespace, report)
    if count is None:
        return None
    size = count * max(unit.value, 1)
    hop = None if every is None else _hop(every, size, in_events, report)
    return Window(size, in_events, sliding, start or 0, start is not None, None if hop == size else hop)


def _hop(every: EveryDraft, size: int, in_events: bool, report: Report) -> int | None:
    """The hop of EVERY in the unit of the window's size; None after reporting an error."""
    unit = Unit[every.unit.text.upper().removesuffix("S")]
    count = read_count(every.size, "EVERY", report)
    if count is None:
        return None
    hop = count * max(unit.value, 1)
    if (unit is Unit.EVENT) != in_events:
        counted, hint = ("events", "EVERY 10 EVENTS") if in_events else ("time", "EVERY 1 MINUTE")
        message = f"a window of {counted} cannot hop by {'time' if in_events else 'events'}"
        report.add(Code.HOP, every.keyword.span, message, f"count both in the same way: {hint}")
    elif hop > size:
        message = "EVERY is longer than the window: what happens between two windows would be in none"
        report.add(Code.HOP, every.size.span, message, "write a hop up to the length of the window")
    return hop


def read_count(word: Word, what: str, report: Report) -> int | None:
    """A whole number from 1 on; None after reporting an error."""
    digits = word.text.removeprefix("+")
    if not (digits.isascii() and digits.isdecimal()):
        hint = "write it without sign, fraction and exponent; for fractions take a smaller unit"
        message = f"{what} needs a whole number, not '{word.text}'"
        report.add(Code.NOT_A_WHOLE_NUMBER, word.span, message, hint)
        return None
    significant = digits.lstrip("0")
    if not significant:
        report.add(Code.ZERO, word.span, f"{what} cannot be 0", "write a number from 1 on")
        return None
    if len(significant) > _DIGITS_MAX or int(significant) > NUMBER_MAX:
        report.add(Code.TOO_LARGE, word.span, "this number is too large", f"the largest is {NUMBER_MAX}")
        return None
    return int(significant)


def _start(starting: StartingDraft, in_events: bool, namespace: Namespace, report: Report) -> int | None:
    """STARTING AT: a position for a window of events, else a time in nanoseconds."""
    if in_events:
        return _position(starting.value, report)
    try:
        return parse_time(_literal(starting, namespace))
    except ValueError as error:
        hint = 'write a dateTime such as "2026-01-01T00:00:00Z", or a number of seconds since 1970'
        report.add(Code.BAD_START, starting.value.span, f"STARTING AT: {error}", hint)
        return None


def _position(value: Word, report: Report) -> int | None:
    digits = value.text.removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < _DIGITS_MAX):
        hint = "positions are counted from 0: STARTING AT 10"
        message = f"a window of events starts at a position, not at {value.text}"
        report.add(Code.BAD_START, value.span, message, hint)
        return None
    return int(digits)


def _literal(starting: StartingDraft, namespace: Namespace) -> Literal:
    """The RDF literal of STARTING AT; a string alone is a dateTime, a number has its SPARQL datatype."""
    value, written = starting.value, starting.datatype
    if value.text[0] not in "\"'":
        kind = "double" if "e" in value.text.lower() else "decimal" if "." in value.text else "integer"
        return Literal(value.text, XSD + kind)
    datatype = namespace.expand(written) if written else XSD + "dateTime"
    return Literal(string_value(value.text), datatype or XSD + "dateTime")
