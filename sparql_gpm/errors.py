"""Errors of the graph-pattern package."""

from __future__ import annotations

from enum import Enum, auto


class Fault(Enum):
    """The kind of a PatternSyntaxError: no SPARQL, a wrong IRI, depth, or a rule about scopes or aggregates."""

    SYNTAX = auto()
    IRI = auto()
    DEPTH = auto()
    SCOPE = auto()
    AGGREGATE = auto()


class PatternSyntaxError(ValueError):
    """The text of a pattern, expression or template is wrong.

    offset  0-based code point in the text that was given, of the first character of the offending token
    """

    def __init__(self, message: str, offset: int, hint: str = "", fault: Fault = Fault.SYNTAX) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint
        self.fault = fault


class ExpressionError(Exception):
    """SPARQL's type error: an expression has no value."""


class BrokenOff(Exception):
    """An input ends too early or cannot be read further; `complete` if its text is all there in spite of it."""

    def __init__(self, message: str, complete: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.complete = complete
