"""The tokens of an embedded piece of SPARQL: up to its closing bracket, outside of strings, IRIs and comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from automata.plan.expression import Span
from sparql_gpm.syntax.tokens import Token, tokens
from spaseq.lang.codes import Code
from spaseq.lang.lexemes import DEFINITION
from spaseq.lang.report import Report

_LINE_END = re.compile(r"[\r\n]|\Z")
_CLOSED_BY = {"(": ")", "{": "}"}
_AFTER_FORM = frozenset({"WITHIN", "FROM", "PARTITION"})


@dataclass(frozen=True, slots=True)
class Extent:
    """The tokens of a piece, and the offset of the bracket (or AS) that closes it.

    If it is not `closed`, `end` is the offset of the token that shows that the bracket is missing.
    """

    tokens: tuple[Token, ...]
    end: int
    closed: bool


def group(text: str, start: int, report: Report) -> Extent:
    """The body of a GPM, which begins at `start`, after its brace."""
    return _braced(text, start, report, lambda token: bool(DEFINITION.match(text, token.start)))


def using(text: str, start: int, report: Report) -> Extent:
    """The group of USING."""
    return _braced(
        text, start, report, lambda token: token.is_word(*_AFTER_FORM) or bool(DEFINITION.match(text, token.start))
    )


def template(text: str, start: int, report: Report) -> Extent:
    """The template of CONSTRUCT."""
    return _braced(text, start, report, lambda token: token.text.upper() in _AFTER_FORM)


def constraint(text: str, start: int, report: Report) -> Extent:
    """The condition of a FILTER or HAVING, up to and with the bracket that closes its first one."""
    read: list[Token] = []
    opened: list[Token] = []
    for token in _tokens(text, start, report):
        if not opened and token.kind not in ("word", "iri", "pname") and token.text not in _CLOSED_BY:
            return Extent(tuple(read), token.start, True)
        if DEFINITION.match(text, token.start):
            return Extent(tuple(read), token.start, False)
        if token.text in _CLOSED_BY:
            opened.append(token)
        elif token.text in _CLOSED_BY.values():
            bracket = opened.pop()
            if _CLOSED_BY[bracket.text] != token.text:
                span = Span(bracket.start, bracket.end)
                report.add(Code.UNCLOSED_BRACKET, span, f"this '{bracket.text}' is never closed")
                return Extent(tuple(read), token.start, True)
            if not opened:
                return Extent((*read, token), token.end, True)
        read.append(token)
    return Extent(tuple(read), len(text), False)


def expression(text: str, start: int, report: Report) -> Extent:
    """An expression to be named, which begins after its parenthesis."""
    read: list[Token] = []
    parentheses, braces = 1, 0
    for token in _tokens(text, start, report):
        parentheses += (token.text == "(") - (token.text == ")")
        braces += (token.text == "{") - (token.text == "}")
        word = token.text.upper()
        if parentheses == 0 or (word == "AS" and (parentheses, braces) == (1, 0)):
            return Extent(tuple(read), token.start, True)
        if braces < 0 or (braces == 0 and word in _AFTER_FORM):
            return Extent(tuple(read), token.start, False)
        read.append(token)
    return Extent(tuple(read), len(text), False)


def _braced(text: str, start: int, report: Report, stops: Callable[[Token], bool]) -> Extent:
    read: list[Token] = []
    depth = 1
    for token in _tokens(text, start, report):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0 or stops(token):
            return Extent(tuple(read), token.start, depth == 0)
        read.append(token)
    return Extent(tuple(read), len(text), False)


def _tokens(text: str, start: int, report: Report) -> Iterator[Token]:
    """The SPARQL tokens from `start` on; text that is no token is reported."""
    while start < len(text):
        for token in tokens(text, start):
            if token.kind == "error":
                start = _report(text, token, report)
                break
            yield token
        else:
            return


def _report(text: str, token: Token, report: Report) -> int:
    """Reports text that is no token; the offset after it: the line's end for a string never closed."""
    span = Span(token.start, token.start + 1)
    if token.text[0] not in "\"'":
        report.add(Code.UNEXPECTED_CHARACTER, span, f"unexpected character {token.text[0]!r}")
        return token.start + 1
    report.add(Code.UNCLOSED_STRING, span, "this string is never closed")
    found = _LINE_END.search(text, token.start)
    return max(found.start() if found else len(text), token.start + 1)
