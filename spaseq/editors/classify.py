"""The tokens of a query with the kinds that an editor shows, as the lexer reads the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sparql_gpm.syntax.signs import SIGNS
from sparql_gpm.syntax.tokens import Token
from sparql_gpm.syntax.words import CONSTANTS, FUNCTIONS
from sparql_gpm.syntax.words import KEYWORDS as SPARQL_KEYWORDS
from spaseq.editors.kinds import BRACKETS, OUTER_KINDS, SEQUENCE_KINDS, SIGN_KINDS, SPARQL_KINDS, Kind
from spaseq.lang.lexemes import PIECES, Lexeme
from spaseq.lang.report import Report
from spaseq.lang.scan import scan

_BETWEEN = re.compile(r"""(?P<SPACE>[\s\ufeff]+)|(?P<COMMENT>\#[^\r\n]*)|(?P<BAD_STRING>["'][^\r\n]*)|(?P<SIGN>.)""")


@dataclass(frozen=True, slots=True)
class Classified:
    """A token's kind and the code points [start, end) of the text that it stands on."""

    kind: Kind
    start: int
    end: int


def classified(text: str, lexemes: Sequence[Lexeme] | None = None) -> Iterator[Classified]:
    """Every token and comment of a text, in order; `lexemes` are those of the text, if they are known."""
    end = 0
    for token in _tokens(text, scan(text, Report(text)) if lexemes is None else lexemes):
        yield from _between(text, end, token.start)
        yield token
        end = token.end
    yield from _between(text, end, len(text))


def _tokens(text: str, lexemes: Sequence[Lexeme]) -> Iterator[Classified]:
    depth = 0
    in_sequence = False
    for lexeme in lexemes:
        if lexeme.kind in PIECES:
            yield from (Classified(sparql_kind(token), token.start, token.end) for token in lexeme.tokens)
            continue
        in_sequence = in_sequence or lexeme.kind == "SEQ"
        yield Classified(_kind(lexeme, in_sequence), lexeme.span.start, lexeme.span.end)
        if in_sequence:
            depth += (lexeme.kind == "LPAR") - (lexeme.kind == "RPAR")
            in_sequence = depth > 0 or lexeme.kind == "SEQ"


def _kind(lexeme: Lexeme, in_sequence: bool) -> Kind:
    return (SEQUENCE_KINDS if in_sequence else OUTER_KINDS)[lexeme.kind]


def sparql_kind(token: Token) -> Kind:
    """The kind of a token of SPARQL."""
    match token.kind:
        case "word" if token.text == "a" or token.text.upper() in SPARQL_KEYWORDS:
            return Kind.KEYWORD
        case "word" if token.text.upper() in FUNCTIONS:
            return Kind.FUNCTION
        case "word" if token.text.upper() in CONSTANTS:
            return Kind.CONSTANT
        case "punctuation" if token.text in SIGNS:
            return SIGN_KINDS[SIGNS[token.text].use]
    return SPARQL_KINDS[token.kind]


def _between(text: str, start: int, end: int) -> Iterator[Classified]:
    """Text between two tokens: comments, the brace that closes a piece of SPARQL, and text that is no token."""
    for found in _BETWEEN.finditer(text, start, end):
        match found.lastgroup:
            case "COMMENT":
                yield Classified(Kind.COMMENT, found.start(), found.end())
            case "SIGN" if found.group() in BRACKETS:
                yield Classified(Kind.BRACKET, found.start(), found.end())
            case "SIGN" | "BAD_STRING":
                yield Classified(Kind.INVALID, found.start(), found.end())
