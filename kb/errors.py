"""Errors of background knowledge."""

from __future__ import annotations

from sparql_gpm.background import BackgroundError


class KnowledgeBaseError(BackgroundError):
    """A knowledge base cannot be used.

    message         what is wrong
    source          the file or IRI that was asked for
    line, column    where in the file, counted from 1; 0: not known
    located            both in one text
    hint            the way out
    """

    def __init__(self, message: str, source: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        place = ":".join(str(part) for part in (source, line, column) if part)
        self.located = f"{place}: {message}"
        super().__init__(self.located + (f" ({hint})" if hint else ""))
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        self.hint = hint
