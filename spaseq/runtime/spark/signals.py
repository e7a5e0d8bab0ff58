"""Signals: comment lines that say how far a stream has come."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from spaseq.errors import RunError
from spaseq.runtime.order.reorder import BEFORE_ALL

_PREFIX = b"#!spaseq"


@dataclass(frozen=True, slots=True)
class Signal:
    """The stream has ended, or no event before `advance` will follow (BEFORE_ALL: not said)."""

    ended: bool = False
    advance: int = BEFORE_ALL


def signal(text: bytes) -> Signal | None:
    """The signal that a text is, if it is one line that begins like a signal; raises RunError for an unknown one."""
    if not text.startswith(_PREFIX) or b"\n" in text.rstrip():
        return None
    words = text.strip().decode("utf-8", errors="backslashreplace").split()
    match words:
        case ["#!spaseq", "end"]:
            return Signal(ended=True)
        case ["#!spaseq", "advance", time]:
            with suppress(ValueError):
                return Signal(advance=parse_time(Literal(time, XSD + "dateTime")))
    if words[0] == _PREFIX.decode():
        hint = "write '#!spaseq end' or '#!spaseq advance 2026-01-01T00:00:10Z'"
        raise RunError(f"the input has an unknown signal: {' '.join(words)}", hint=hint)
    return None
