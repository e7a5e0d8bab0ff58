"""The end of an embedded piece of SPARQL: its closing bracket outside of strings, IRIs and comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from automata.plan.expression import Span
from sparql_gpm.syntax.tokens import Token, tokens
from spaseq.lang.codes import Code
from spaseq.lang.lexemes import DEFINITION

_LINE_END = re.compile(r"[\r\n]|\Z")
_CLOSED_BY = {"(": ")", "{": "}"}
_AFTER_FORM = frozenset({"WITHIN", "FROM", "PARTITION"})


@dataclass(frozen=True, slots=True)
class BadToken:
    """Text that is no SPARQL token."""

    code: Code
    span: Span
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """The offset of the bracket (or AS) that closes a piece; if not `closed`, of the token that shows it is missing."""

    offset: int
    closed: bool
    problems: tuple[BadToken, ...]


def group_end(text: str, start: int) -> Cut:
    """The end of a GPM's body that begins at `start`, after its brace."""
    return _closing_brace(text, start, lambda token: bool(DEFINITION.match(text, token.start)))


def using_end(text: str, start: int) -> Cut:
    """The end of the group of USING that begins at `start`, after its brace."""
    return _closing_brace(
        text, start, lambda token: bool(token.is_word(*_AFTER_FORM) or DEFINITION.match(text, token.start))
    )


def template_end(text: str, start: int) -> Cut:
    """The end of a CONSTRUCT template that begins at `start`, after its brace."""
    return _closing_brace(text, start, lambda token: token.text.upper() in _AFTER_FORM)


def constraint_end(text: str, start: int) -> Cut:
    """The end of the condition of a FILTER, after the bracket that closes its first one."""
    bad: list[BadToken] = []
    opened: list[Token] = []
    for token in sparql_tokens(text, start, bad):
        if not opened and token.kind not in ("word", "iri", "pname") and token.text not in _CLOSED_BY:
            return Cut(token.start, True, tuple(bad))
        if DEFINITION.match(text, token.start):
            return Cut(token.start, False, tuple(bad))
        if token.text in _CLOSED_BY:
            opened.append(token)
        elif token.text in _CLOSED_BY.values():
            bracket = opened.pop()
            if _CLOSED_BY[bracket.text] != token.text:
                message, span = f"this '{bracket.text}' is never closed", Span(bracket.start, bracket.end)
                missing = BadToken(Code.UNCLOSED_BRACKET, span, message)
                return Cut(token.start, True, (*bad, missing))
            if not opened:
                return Cut(token.end, True, tuple(bad))
    return Cut(len(text), False, tuple(bad))


def expression_end(text: str, start: int) -> Cut:
    """The end of a projected expression that begins at `start`, after its parenthesis."""
    bad: list[BadToken] = []
    parentheses, braces = 1, 0
    for token in sparql_tokens(text, start, bad):
        parentheses += (token.text == "(") - (token.text == ")")
        braces += (token.text == "{") - (token.text == "}")
        word = token.text.upper()
        if parentheses == 0 or (word == "AS" and (parentheses, braces) == (1, 0)):
            return Cut(token.start, True, tuple(bad))
        if braces < 0 or (braces == 0 and word in _AFTER_FORM):
            return Cut(token.start, False, tuple(bad))
    return Cut(len(text), False, tuple(bad))


def sparql_tokens(text: str, start: int, bad: list[BadToken], end: int | None = None) -> Iterator[Token]:
    """The SPARQL tokens from `start` to `end`; text that is no token goes to `bad`."""
    stop = len(text) if end is None else end
    while start < stop:
        for token in tokens(text, start, stop):
            if token.kind == "error":
                bad.append(_bad_token(token))
                start = _resumption(text, token)
                break
            yield token
        else:
            return


def _closing_brace(text: str, start: int, stops: Callable[[Token], bool]) -> Cut:
    bad: list[BadToken] = []
    depth = 1
    for token in sparql_tokens(text, start, bad):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0:
            return Cut(token.start, True, tuple(bad))
        if stops(token):
            return Cut(token.start, False, tuple(bad))
    return Cut(len(text), False, tuple(bad))


def _bad_token(token: Token) -> BadToken:
    span = Span(token.start, token.start + 1)
    if token.text[:1] in {'"', "'"}:
        return BadToken(Code.UNCLOSED_STRING, span, "this string is never closed")
    return BadToken(Code.UNEXPECTED_CHARACTER, span, f"unexpected character {token.text[:1]!r}")


def _resumption(text: str, token: Token) -> int:
    """The offset after text that is no token: the line's end for a string never closed, else the next character."""
    if token.text[:1] not in {'"', "'"}:
        return token.start + 1
    found = _LINE_END.search(text, token.start)
    return max(found.start() if found else len(text), token.start + 1)
