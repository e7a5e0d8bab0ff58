"""Which clauses a query has, in which order, and how often: the rule `Query` of LANGUAGE Section 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise

from spaseq.lang.ast import Span
from spaseq.lang.drafts import Clause, UnreadClause
from spaseq.lang.lexemes import CLAUSES, Lexeme
from spaseq.lang.report import Report
from spaseq.lang.syntax import parse_clause


class Part(IntEnum):
    """The parts of a query, in order."""

    FRONT = 0
    HEADER = 1
    BODY = 2
    MODIFIERS = 3


_FORMS = frozenset({"SELECT", "CONSTRUCT"})
_PLACES = {
    **dict.fromkeys(("BASE", "PREFIX"), (Part.FRONT, "at the beginning, before SELECT or CONSTRUCT")),
    **dict.fromkeys(("REGISTER", *_FORMS), (Part.FRONT, "after the prefixes and before WITHIN and FROM")),
    **dict.fromkeys(("WITHIN", "PARTITION", "FROM"), (Part.HEADER, "after SELECT or CONSTRUCT and before WHERE {")),
    **dict.fromkeys(("WHERE", "LBRACE"), (Part.HEADER, "after WITHIN and FROM")),
    **dict.fromkeys(("DEFINE", "RBRACE"), (Part.BODY, "after '{' and SEQ( )")),
    **dict.fromkeys(("AFTER", "LIMIT"), (Part.MODIFIERS, "after the closing '}'")),
    "SEQ": (Part.BODY, "right after '{'"),
}
"""The part that each clause belongs to, and the same in words."""

_ENTERED_AFTER = {**dict.fromkeys(_FORMS, Part.HEADER), "LBRACE": Part.BODY, "RBRACE": Part.MODIFIERS}
_NOT_AFTER = {
    "BASE": "REGISTER", "PREFIX": "REGISTER", "WITHIN": "WHERE", "PARTITION": "WHERE", "FROM": "WHERE", "SEQ": "DEFINE",
    "AFTER": "LIMIT",
}  # fmt: skip
"""Within a part: what must not stand before a clause."""

_BRACES_HINT = "SEQ( ) and the DEFINEs stand in one pair of braces"
_REPEATABLE = frozenset({"BASE", "PREFIX", "FROM", "DEFINE"})
_TITLES = {
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "PARTITION": "PARTITION BY",
    "AFTER": "AFTER MATCH",
    "REGISTER": "REGISTER STREAM",
    "SEQ": "SEQ( )",
    "DEFINE": "DEFINE GPM",
}


def read_clauses(lexemes: Sequence[Lexeme], end: int, report: Report) -> Iterator[Clause]:
    """Every clause, in order; mistakes in a clause or in their order are reported."""
    starts = [index for index, lexeme in enumerate(lexemes) if lexeme.kind in CLAUSES]
    stray = lexemes[: starts[0] if starts else len(lexemes)]
    if stray and not report.error_within(stray[0].span):
        report.error(stray[0].span, f"expected PREFIX, SELECT or CONSTRUCT, found '{stray[0].text}'")
    layout = _Layout(report)
    for start, stop in pairwise([*starts, len(lexemes)]):
        following = lexemes[stop] if stop < len(lexemes) else None
        layout.enter(lexemes[start], lexemes[start + 1] if start + 1 < stop else None)
        clause = parse_clause(lexemes[start:stop], following, end, report)
        names = frozenset(lexeme.text for lexeme in lexemes[start:stop] if lexeme.kind == "NAME")
        yield UnreadClause(names) if clause is None else clause
    layout.finish(Span(end, end + 1))


class _Layout:
    """Follows the order of the clauses and reports what is twice, out of place or missing."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._part = Part.FRONT
        self._seen: dict[str, Lexeme] = {}
        self._missed: set[str] = set()

    def enter(self, lexeme: Lexeme, second: Lexeme | None) -> None:
        """The next clause begins with these lexemes."""
        kind = lexeme.kind
        if kind in self._seen and kind not in _REPEATABLE:
            self._report.error(lexeme.span, f"{_title(kind)} is given twice", _twice_hint(kind))
            return
        if kind in _FORMS and _FORMS & self._seen.keys():
            self._report.error(lexeme.span, "a query has either SELECT or CONSTRUCT, not both", "keep one")
            return
        self._check_place(lexeme)
        self._seen.setdefault(kind, lexeme)
        if kind == "FROM" and (second is None or second.kind != "NAMED"):
            self._seen.setdefault("STREAM", lexeme)
        if kind == "LBRACE":
            self._require(lexeme.span, "SELECT", "WITHIN", "STREAM")
        elif kind == "RBRACE" and self._part == Part.BODY:
            self._require(lexeme.span, "SEQ", "DEFINE")
        self._part = max(self._part, _ENTERED_AFTER.get(kind, self._part))

    def finish(self, end: Span) -> None:
        """The query ends."""
        if not self._seen:
            return
        if "RBRACE" not in self._seen and self._part <= Part.BODY:
            self._require(end, "SELECT", "WITHIN", "STREAM", "SEQ", "DEFINE")
        if self._part < Part.BODY:
            self._report.error(end, "expected '{', found the end of the query", _BRACES_HINT)
        elif "LBRACE" in self._seen and "RBRACE" not in self._seen:
            self._report.error(self._seen["LBRACE"].span, "this '{' is never closed")

    def _check_place(self, lexeme: Lexeme) -> None:
        kind = lexeme.kind
        part, words = _PLACES[kind]
        if self._part == Part.FRONT and part == Part.HEADER:
            self._require(lexeme.span, "SELECT")
            self._part = Part.HEADER
        elif self._part == Part.HEADER and kind == "DEFINE":
            self._report.error(lexeme.span, "expected '{' before the first DEFINE", _BRACES_HINT)
            self._part = Part.BODY
        elif self._part != part and not (kind == "SEQ" and self._part == Part.HEADER):
            self._report.error(lexeme.span, f"{_title(kind)} is not expected here", f"it stands {words}")
        elif (after := _NOT_AFTER.get(kind)) in self._seen:
            self._report.error(lexeme.span, f"{_title(kind)} is not expected here", f"it stands before {after}")

    def _require(self, at: Span, *kinds: str) -> None:
        for kind in kinds:
            wanted = _FORMS if kind == "SELECT" else {kind}
            if kind not in self._missed and not wanted & self._seen.keys():
                self._report.error(at, *_MISSING[kind])
                self._missed.add(kind)


_MISSING = {
    "SELECT": ("the query has neither SELECT nor CONSTRUCT", "write what to report, such as SELECT *"),
    "WITHIN": ("the query has no WITHIN", "every query has a window, such as WITHIN 30 MINUTES"),
    "STREAM": ("the query has no FROM STREAM", "declare a stream: FROM STREAM S1 <http://example.org/stream>"),
    "SEQ": ("the query has no SEQ( )", "say in which order the events come: SEQ(A ; B)"),
    "DEFINE": ("the query has no DEFINE GPM", "define each step of SEQ: DEFINE GPM A ON S1 { ?s ?p ?o }"),
}


def _title(kind: str) -> str:
    return _TITLES.get(kind, kind)


def _twice_hint(kind: str) -> str:
    return _BRACES_HINT if kind in {"LBRACE", "RBRACE"} else "keep one"
