"""The order and number of the clauses of a query: the rule `Query` of specification 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise

from arrays.progress import advance, expect
from arrays.wanted import check_wanted
from automata.plan.expression import Span
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Clause, UnreadClause
from spaseq.lang.lexemes import CLAUSES, Lexeme
from spaseq.lang.report import Report
from spaseq.lang.syntax import parse_clause


class Section(IntEnum):
    """The sections of a query, in order."""

    FRONT = 0
    HEADER = 1
    BODY = 2
    MODIFIERS = 3


_FORMS = frozenset({"SELECT", "CONSTRUCT"})
_PLACES = {
    **dict.fromkeys(("BASE", "PREFIX", "VERSION"), (Section.FRONT, "at the beginning, before SELECT or CONSTRUCT")),
    **dict.fromkeys(("REGISTER", *_FORMS), (Section.FRONT, "after the prefixes and before WITHIN and FROM")),
    **dict.fromkeys(("WITHIN", "PARTITION", "FROM"), (Section.HEADER, "after SELECT or CONSTRUCT and before WHERE {")),
    **dict.fromkeys(("WHERE", "LBRACE"), (Section.HEADER, "after WITHIN and FROM")),
    **dict.fromkeys(("DEFINE", "FILTER", "BIND", "RBRACE"), (Section.BODY, "after '{' and SEQ( )")),
    **dict.fromkeys(("GROUP", "HAVING", "AFTER", "LIMIT"), (Section.MODIFIERS, "after the closing '}'")),
    "SEQ": (Section.BODY, "right after '{'"),
}
"""The section that each clause belongs to, and its place in words."""

_ENTERED_AFTER = {**dict.fromkeys(_FORMS, Section.HEADER), "LBRACE": Section.BODY, "RBRACE": Section.MODIFIERS}
_NOT_AFTER = {
    **dict.fromkeys(("BASE", "PREFIX", "VERSION"), ("REGISTER",)),
    **dict.fromkeys(("WITHIN", "PARTITION", "FROM"), ("WHERE",)),
    "SEQ": ("DEFINE",), "GROUP": ("HAVING", "AFTER", "LIMIT"), "HAVING": ("AFTER", "LIMIT"), "AFTER": ("LIMIT",),
}  # fmt: skip
"""For each kind of clause the kinds in its section that it must precede."""

_BRACES_HINT = "SEQ( ) and the DEFINEs stand in one pair of braces"
_REPEATABLE = frozenset({"BASE", "PREFIX", "VERSION", "FROM", "DEFINE", "FILTER", "BIND"})
_TITLES = {
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "PARTITION": "PARTITION BY",
    "GROUP": "GROUP BY",
    "AFTER": "AFTER MATCH",
    "REGISTER": "REGISTER STREAM",
    "SEQ": "SEQ( )",
    "DEFINE": "DEFINE GPM",
}


def read_clauses(lexemes: Sequence[Lexeme], end: int, report: Report) -> Iterator[Clause]:
    """Every clause, in order; errors in a clause or in their order are reported."""
    starts = [index for index, lexeme in enumerate(lexemes) if lexeme.kind in CLAUSES]
    stray = lexemes[: starts[0] if starts else len(lexemes)]
    if stray and not report.error_within(stray[0].span):
        message = f"expected PREFIX, SELECT or CONSTRUCT, found '{stray[0].text}'"
        report.add(Code.SYNTAX, stray[0].span, message)
    layout = _Layout(report)
    expect(len(starts))
    for start, stop in pairwise([*starts, len(lexemes)]):
        advance()
        check_wanted()
        following = lexemes[stop] if stop < len(lexemes) else None
        layout.enter(lexemes[start], lexemes[start + 1] if start + 1 < stop else None)
        clause = parse_clause(lexemes[start:stop], following, end, report)
        names = frozenset(lexeme.text for lexeme in lexemes[start:stop] if lexeme.kind == "NAME")
        yield UnreadClause(names) if clause is None else clause
    layout.finish(Span(end, end + 1))


class _Layout:
    """Follows the order of the clauses; reports those given twice, out of place or missing."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._section = Section.FRONT
        self._seen: dict[str, Lexeme] = {}
        self._missing: set[str] = set()

    def enter(self, lexeme: Lexeme, second: Lexeme | None) -> None:
        """Checks the place of the clause that begins with these lexemes."""
        kind = lexeme.kind
        if kind in self._seen and kind not in _REPEATABLE:
            hint = _BRACES_HINT if kind in {"LBRACE", "RBRACE"} else "keep one"
            message = f"{_TITLES.get(kind, kind)} is given twice"
            self._report.add(Code.REPEATED_CLAUSE, lexeme.span, message, hint)
            return
        if kind in _FORMS and _FORMS & self._seen.keys():
            message = "a query has either SELECT or CONSTRUCT, not both"
            self._report.add(Code.REPEATED_CLAUSE, lexeme.span, message, "keep one")
            return
        self._check_place(lexeme)
        self._seen.setdefault(kind, lexeme)
        if kind == "FROM" and (second is None or second.kind != "NAMED"):
            self._seen.setdefault("STREAM", lexeme)
        if kind == "LBRACE":
            self._require(lexeme.span, "SELECT", "WITHIN", "STREAM")
        elif kind == "RBRACE" and self._section == Section.BODY:
            self._require(lexeme.span, "SEQ", "DEFINE")
        self._section = max(self._section, _ENTERED_AFTER.get(kind, self._section))

    def finish(self, end: Span) -> None:
        """Checks what is missing at the end of the query."""
        if not self._seen:
            return
        if "RBRACE" not in self._seen and self._section <= Section.BODY:
            self._require(end, "SELECT", "WITHIN", "STREAM", "SEQ", "DEFINE")
        if self._section < Section.BODY:
            self._report.add(Code.MISSING_CLAUSE, end, "expected '{', found the end of the query", _BRACES_HINT)
        elif "LBRACE" in self._seen and "RBRACE" not in self._seen:
            self._report.add(Code.UNCLOSED_BRACKET, self._seen["LBRACE"].span, "this '{' is never closed")

    def _check_place(self, lexeme: Lexeme) -> None:
        kind = lexeme.kind
        section, words = _PLACES[kind]
        misplaced = f"{_TITLES.get(kind, kind)} is not expected here"
        if self._section == Section.FRONT and section == Section.HEADER:
            self._require(lexeme.span, "SELECT")
            self._section = Section.HEADER
        elif self._section == Section.HEADER and kind == "DEFINE":
            message = "expected '{' before the first DEFINE"
            self._report.add(Code.MISSING_CLAUSE, lexeme.span, message, _BRACES_HINT)
            self._section = Section.BODY
        elif self._section != section and not (kind == "SEQ" and self._section == Section.HEADER):
            self._report.add(Code.MISPLACED_CLAUSE, lexeme.span, misplaced, f"it stands {words}")
        elif after := next((later for later in _NOT_AFTER.get(kind, ()) if later in self._seen), None):
            hint = f"it stands before {_TITLES.get(after, after)}"
            self._report.add(Code.MISPLACED_CLAUSE, lexeme.span, misplaced, hint)

    def _require(self, at: Span, *kinds: str) -> None:
        for kind in kinds:
            accepted = _FORMS if kind == "SELECT" else {kind}
            if kind not in self._missing and not accepted & self._seen.keys():
                self._report.add(Code.MISSING_CLAUSE, at, *_MISSING[kind])
                self._missing.add(kind)


_MISSING = {
    "SELECT": ("the query has neither SELECT nor CONSTRUCT", "write what to report, such as SELECT *"),
    "WITHIN": ("the query has no WITHIN", "every query has a window, such as WITHIN 30 MINUTES"),
    "STREAM": ("the query has no FROM STREAM", "declare a stream: FROM STREAM S1 <http://example.org/stream>"),
    "SEQ": ("the query has no SEQ( )", "state the order of the events: SEQ(A ; B)"),
    "DEFINE": ("the query has no DEFINE GPM", "define each step of SEQ: DEFINE GPM A ON S1 { ?s ?p ?o }"),
}
