"""Finds where a piece of SPARQL ends: the closing bracket, strings, IRIs and comments aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sparql_gpm.syntax.tokens import Token, tokens
from spaseq.lang.ast import Span
from spaseq.lang.lexemes import DEFINITION

_LINE_END = re.compile(r"[\r\n]|\Z")
_AFTER_FORM = frozenset({"WITHIN", "FROM", "PARTITION"})


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is no SPARQL token at all."""

    span: Span
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a piece ends.

    offset  of the closing bracket (of AS, for a projected expression), or of where its absence shows
    closed  whether it was there
    """

    offset: int
    closed: bool
    problems: tuple[Flaw, ...]


def group_end(text: str, start: int) -> Cut:
    """The end of a GPM's body that begins at `start`, after its brace."""
    return _closing_brace(text, start, lambda token: bool(DEFINITION.match(text, token.start)))


def template_end(text: str, start: int) -> Cut:
    """The end of a CONSTRUCT template that begins at `start`, after its brace."""
    return _closing_brace(text, start, lambda token: token.text.upper() in _AFTER_FORM)


def expression_end(text: str, start: int) -> Cut:
    """The end of a projected expression that begins at `start`, after its parenthesis."""
    flaws: list[Flaw] = []
    parentheses, braces = 1, 0
    for token in sparql_tokens(text, start, flaws):
        parentheses += (token.text == "(") - (token.text == ")")
        braces += (token.text == "{") - (token.text == "}")
        word = token.text.upper()
        if parentheses == 0 or (word == "AS" and (parentheses, braces) == (1, 0)):
            return Cut(token.start, True, tuple(flaws))
        if braces < 0 or (braces == 0 and word in _AFTER_FORM):
            return Cut(token.start, False, tuple(flaws))
    return Cut(len(text), False, tuple(flaws))


def sparql_tokens(text: str, start: int, flaws: list[Flaw]) -> Iterator[Token]:
    """SPARQL's tokens from `start`, at their offsets in `text`; what is none goes to `flaws`."""
    while start < len(text):
        for token in tokens(text[start:]):
            placed = Token(token.kind, token.text, token.start + start, token.end + start)
            if token.kind == "error":
                flaws.append(_flaw(placed))
                start = _resumption(text, placed)
                break
            yield placed
        else:
            return


def _closing_brace(text: str, start: int, stops: Callable[[Token], bool]) -> Cut:
    flaws: list[Flaw] = []
    depth = 1
    for token in sparql_tokens(text, start, flaws):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0:
            return Cut(token.start, True, tuple(flaws))
        if stops(token):
            return Cut(token.start, False, tuple(flaws))
    return Cut(len(text), False, tuple(flaws))


def _flaw(token: Token) -> Flaw:
    if token.text[:1] in {'"', "'"}:
        return Flaw(Span(token.start, token.start + 1), "this string is never closed")
    return Flaw(Span(token.start, token.start + 1), f"unexpected character {token.text[:1]!r}")


def _resumption(text: str, token: Token) -> int:
    """Where to read on: a string never closed has spoilt its line, another character only itself."""
    if token.text[:1] not in {'"', "'"}:
        return token.start + 1
    found = _LINE_END.search(text, token.start)
    return max(found.start() if found else len(text), token.start + 1)
