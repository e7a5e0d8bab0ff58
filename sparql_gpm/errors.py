"""Errors of the graph-pattern package."""

from __future__ import annotations


class PatternSyntaxError(ValueError):
    """The text of a pattern, expression or template is wrong.

    offset  0-based code point in the text that was given, of the first character of the offending token
    """

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class ExpressionError(Exception):
    """SPARQL's type error: an expression has no value."""


class RDFSyntaxError(ValueError):
    """RDF data is malformed; line and column are counted from 1 (0: not known)."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
