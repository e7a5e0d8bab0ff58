"""The tokens of the language as a machine with a stack of states, for highlighters that read a line at a time.

A state is a list of rows. The first row whose pattern matches at the current place is taken: it gives the token its
kind and may enter another state or leave this one. Patterns are those of the lexers (`spaseq.lang.lexemes`,
`sparql_gpm.syntax.tokens`); what follows from their order in the text, such as that a Name follows ON, is a state here.
Editors get the machine as JSON, as a TextMate grammar and as a lexer of Pygments; tests compare each with the lexer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from sparql_gpm.syntax import tokens as sparql
from sparql_gpm.syntax import words
from sparql_gpm.syntax.signs import SIGNS, Use, any_of
from spaseq.editors.kinds import OUTER_KINDS, SEQUENCE_USES, SIGN_KINDS, SPARQL_KINDS, Kind
from spaseq.lang import lexemes
from spaseq.lang.signs import SEQUENCE_SIGNS


@dataclass(frozen=True, slots=True)
class Row:
    """A pattern, and what it does where it matches.

    kind    of the token; None for text that has no kind, and for a pattern that takes no text
    push    the state to enter
    pop     True for a row that leaves its state
    """

    pattern: str
    kind: Kind | None
    ignore_case: bool = False
    push: str | None = None
    pop: bool = False


_BLANKS = (Row("[\\s\ufeff]+", None), Row(r"#[^\r\n]*", Kind.COMMENT))
_OTHER = (Row(r"[^\s]", Kind.INVALID),)
LEAVE = Row(r"(?=[^\s#])", None, pop=True)
"""Anything that a state has no row for: it ends before it."""
_LEAVE_GROUP = Row(f"(?={lexemes.DEFINITION.pattern})", None, ignore_case=True, pop=True)
_NAME = Row(rf"(?!(?:{'|'.join(sorted(lexemes.RESERVED))})(?!\w)){lexemes.NAME.pattern}(?!\w)", Kind.NAME, True)


def _words(found: Iterable[str], kind: Kind = Kind.KEYWORD, push: str | None = None, pop: bool = False) -> Row:
    """The row of some words, in any case."""
    alternatives = "|".join(sorted(found, key=lambda word: (-len(word), word)))
    return Row(rf"(?:{alternatives})(?!\w)", kind, True, push, pop)


def _signs(use: Use) -> Row:
    """The row of the signs of SPARQL with a use."""
    return Row(any_of(sign for sign in SIGNS if SIGNS[sign].use is use), SIGN_KINDS[use])


def _strings(quotes: str) -> str:
    return "long_single" if quotes == "'''" else "long_double"


_LONG_STRINGS = tuple(Row(quotes, Kind.STRING, push=_strings(quotes)) for quotes, _ in sparql.LONG_STRINGS)


def _outer() -> Iterable[Row]:
    """The rows outside of SEQ( ) and of SPARQL; a word enters the state of its clause."""
    for name, pattern in lexemes.OUTER_PATTERNS:
        match name:
            case "SPACE":
                yield from _BLANKS
            case "STRING":
                yield from _LONG_STRINGS
                yield Row(lexemes.SHORT_STRING, Kind.STRING)
            case "WORD":
                yield from _CLAUSES
                yield _words(lexemes.KEYWORDS)
                yield Row(pattern, Kind.INVALID)
            case "PUNCTUATION":
                yield Row(r"\(", Kind.BRACKET, push="parentheses")
                yield Row(r"[){}]", Kind.BRACKET)
                yield Row(r"\*", Kind.OPERATOR)
                yield Row(pattern, Kind.PUNCTUATION)
            case "UNKNOWN":
                yield from _OTHER
            case _:
                yield Row(pattern, OUTER_KINDS[name])


_CLAUSES = (
    _words(["SEQ"], push="sequence_begins"),
    _words(["DEFINE"], push="define"),
    _words(["FROM"], push="from"),
    _words(["TO"], push="to"),
    _words(["USING"], push="braces"),
    _words(["CONSTRUCT"], push="construct"),
    _words(["FILTER", "HAVING"], push="constraint"),
)
"""The words after which words or brackets have a meaning of their own."""


def _sparql() -> Iterable[Row]:
    """The rows of SPARQL, brackets aside."""
    for name, pattern in sparql.token_patterns(False):
        match name:
            case "skipped":
                yield from _BLANKS
            case "string":
                yield from _LONG_STRINGS
                yield Row(sparql.SHORT_STRING, Kind.STRING)
            case "unclosed":
                yield Row(r"""["'][^\r\n]*""", Kind.INVALID)
            case "word":
                yield Row(r"a(?!\w)", Kind.KEYWORD)
                yield from _SPARQL_WORDS
                yield Row(pattern, Kind.INVALID)
            case "punctuation":
                yield _signs(Use.BRACKET)
                yield _signs(Use.SEPARATOR)
                yield Row(pattern, Kind.OPERATOR)
            case "unknown":
                yield from _OTHER
            case _:
                yield Row(pattern, SPARQL_KINDS[name])


_SPARQL_WORDS = (
    _words(words.KEYWORDS),
    _words(words.FUNCTIONS, Kind.FUNCTION),
    _words(words.CONSTANTS, Kind.CONSTANT),
)
_OPENED = (
    Row(any_of(sign for sign in SIGNS if len(sign) > 1 and SIGNS[sign].use is Use.BRACKET), Kind.BRACKET),
    Row(r"\(", Kind.BRACKET, push="parentheses"), Row(r"\{", Kind.BRACKET, push="group"),
)  # fmt: skip
_IN_SPARQL = (_LEAVE_GROUP, *_OPENED)


_QUANTIFIERS = "|".join(pattern for name, pattern in lexemes.SEQUENCE_PATTERNS if name.endswith("REPEAT"))


def _sequence() -> Iterable[Row]:
    """The rows inside of SEQ( )."""
    yield _LEAVE_GROUP
    for name, pattern in lexemes.SEQUENCE_PATTERNS:
        match name:
            case "SPACE":
                yield from _BLANKS
            case "REPEAT":
                yield Row(pattern, Kind.QUANTIFIER)
            case "WORD":
                yield _words(["ALL", "SEQ"])
                yield _words(["WITHIN"], push="limit")
                yield _NAME
                yield Row(pattern, Kind.INVALID)
            case "BRACE":
                yield Row(rf"(?!{_QUANTIFIERS})(?=[{{}}])", None, pop=True)
            case "PUNCTUATION":
                yield Row(r"\(", Kind.BRACKET, push="sequence")
                yield Row(r"\)", Kind.BRACKET, pop=True)
                for use, kind in SEQUENCE_USES.items():
                    yield Row(any_of(sign for sign in SEQUENCE_SIGNS if SEQUENCE_SIGNS[sign].use is use), kind)
            case _:
                yield Row(pattern, Kind.INVALID)


def _long_string(quotes: str, character: str) -> tuple[Row, ...]:
    return (Row(quotes, Kind.STRING, pop=True), Row(f"(?:{character})+", Kind.STRING), Row(r"[^\s]", Kind.STRING))


START = "query"

STATES: Mapping[str, tuple[Row, ...]] = {
    START: tuple(_outer()),
    "sequence_begins": (*_BLANKS, Row(r"\(", Kind.BRACKET, push="sequence"), LEAVE),
    "sequence": tuple(_sequence()),
    "limit": (*_BLANKS, Row(lexemes.LIMIT_NUMBER.pattern, Kind.NUMBER), _words(lexemes.UNITS, pop=True), LEAVE),
    "name": (*_BLANKS, Row(_NAME.pattern, Kind.NAME, True, pop=True), LEAVE),
    "define": (
        *_BLANKS, _words(["GPM", "ON"], push="name"), Row(",", Kind.PUNCTUATION, push="name"), _words(["AS", "AT"]),
        Row(r"[?$]\w+", Kind.VARIABLE), Row(r"\{", Kind.BRACKET, push="group"), LEAVE,
    ),
    "from": (*_BLANKS, _words(["STREAM"], push="name"), _words(["NAMED", "KB"]), LEAVE),
    "to": (*_BLANKS, _words(["FIRST", "LAST"], push="name"), LEAVE),
    "braces": (*_BLANKS, Row(r"\{", Kind.BRACKET, push="group"), LEAVE),
    "construct": (
        *_BLANKS, _words(["ALL", "STRICT", "NEXT", "LAST", "MAX", "OVER", "MATCHES"]),
        Row(r"\{", Kind.BRACKET, push="group"), LEAVE,
    ),
    "constraint": (
        *_BLANKS, *_SPARQL_WORDS, *(Row(pattern, SPARQL_KINDS[name]) for name, pattern in sparql.token_patterns(False)
        if name in ("iri", "pname")), *_OPENED, LEAVE,
    ),
    "parentheses": (*_IN_SPARQL, Row(r"\)", Kind.BRACKET, pop=True), *_sparql()),
    "group": (*_IN_SPARQL, Row(r"\}", Kind.BRACKET, pop=True), *_sparql()),
    **{_strings(quotes): _long_string(quotes, character) for quotes, character in sparql.LONG_STRINGS},
}  # fmt: skip
"""The rows of each state; a text begins in START."""


@cache
def _compiled(state: str) -> tuple[tuple[re.Pattern[str], Row], ...]:
    return tuple((re.compile(row.pattern, re.IGNORECASE if row.ignore_case else 0), row) for row in STATES[state])


TEXT = "text"
"""The state inside a comment or a string."""


def stack_at(text: str, end: int) -> tuple[str, ...]:
    """The states that a text is in at an offset, the innermost last; in a token that goes on, before that token."""
    stack, place = [START], 0
    last: Kind | None = None
    while place < end:
        found = ((pattern.match(text, place), row) for pattern, row in _compiled(stack[-1]))
        match, row = next(((match, row) for match, row in found if match), (None, None))
        if match is None or row is None:
            place += 1
            continue
        if match.end() > end:
            return (*stack, TEXT) if row.kind in (Kind.COMMENT, Kind.STRING) else tuple(stack)
        place = match.end()
        if row.pop and len(stack) > 1:
            stack.pop()
        if row.push:
            stack.append(row.push)
        last = row.kind
    return (*stack, TEXT) if last is Kind.COMMENT or stack[-1].startswith("long") else tuple(stack)
