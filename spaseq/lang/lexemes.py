"""The tokens of the outer language: their kinds, and the regular expressions that recognise them.

There are three lexicons. Outside of all brackets SPARQL's tokens apply; inside `SEQ( )` there are quantifiers but no
prefixed names; a GPM body, a template, an expression to be named or the condition of a FILTER is SPARQL and one lexeme
(BODY, TEMPLATE, EXPRESSION, CONSTRAINT).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from automata.plan.expression import Span


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token of the outer language; a keyword's kind is the keyword in upper case."""

    kind: str
    text: str
    span: Span


RESERVED = frozenset({"SEQ", "ALL", "DEFINE", "GPM", "ON", "WITHIN"})
"""The words that cannot be a Name, in any case."""

CLAUSES = frozenset({
    "BASE", "PREFIX", "REGISTER", "SELECT", "CONSTRUCT", "WITHIN", "PARTITION", "FROM", "WHERE", "SEQ", "DEFINE",
    "FILTER", "BIND", "GROUP", "HAVING", "AFTER", "LIMIT", "LBRACE", "RBRACE",
})  # fmt: skip
"""The kinds that begin a clause."""

_SINGULAR_UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "EVENT")
UNITS = (*_SINGULAR_UNITS, *(f"{unit}S" for unit in _SINGULAR_UNITS))
"""The units of windows."""

KEYWORDS = frozenset({
    *(CLAUSES - {"LBRACE", "RBRACE"}), *RESERVED, *UNITS,
    "STREAM", "AS", "DISTINCT", "STRICT", "NEXT", "FIRST", "LAST", "MAX", "TUMBLING", "SLIDING", "STARTING", "AT", "BY",
    "USING", "NAMED", "KB", "MATCH", "NO", "SKIP", "TO", "EVENT", "PAST", "CONSUME", "OVER", "MATCHES", "EVERY",
})  # fmt: skip
"""The keywords outside of SEQ( ), in upper case."""

PUNCTUATION = {
    "(": "LPAR", ")": "RPAR", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ";": "SEMICOLON", ":": "COLON", "|": "VBAR",
    "&": "AMPERSAND", "*": "STAR", "?": "QMARK", "!": "BANG",
}  # fmt: skip
"""The kind of each sign."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The Name of a stream or GPM."""

DEFINITION = re.compile(r"DEFINE\s+GPM\b", re.IGNORECASE)
"""The beginning of a GPM definition, which occurs nowhere in SPARQL."""

_LOCAL = r"(?:[\w:%\-]|\\[_~.\-!$&'()*+,;=/?\#@%]|\.(?=[\w:%.\-\\]))*"
_STRING = r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"""' + r"|'''(?:[^'\\]|\\.|'{1,2}(?!'))*'''"
_STRING += r'|"(?:[^"\\\r\n]|\\.)*"' + r"|'(?:[^'\\\r\n]|\\.)*'"

OUTER = re.compile(
    rf"""
      (?P<SPACE>(?:[\s\ufeff]|\#[^\r\n]*)+)
    | (?P<IRI><(?:[^<>"{{}}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}})*>)
    | (?P<BAD_IRI><[^>\r\n]*>?)
    | (?P<STRING>{_STRING})
    | (?P<BAD_STRING>["'][^\r\n]*)
    | (?P<VAR>[?$]\w+)
    | (?P<PNAME>(?:[^\W\d_](?:[\w\-]|\.(?=[\w.\-]*:))*)?:{_LOCAL})
    | (?P<WORD>[^\W\d]\w*)
    | (?P<NUMBER>[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<LANGTAG>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<DATATYPE>\^\^)
    | (?P<PUNCTUATION>[(){{}},*;:|&])
    | (?P<UNKNOWN>.)
    """,
    re.VERBOSE | re.DOTALL,
)

LIMIT_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w)")
"""What stands after WITHIN inside of SEQ( ); it should be whole."""

SEQUENCE = re.compile(
    r"""
      (?P<SPACE>(?:[\s\ufeff]|\#[^\r\n]*)+)
    | (?P<REPEAT>[,;:]?(?:[+*]|\{\s*[0-9]+\s*(?:,\s*(?:[0-9]+\s*)?)?\})\+?)
    | (?P<BAD_REPEAT>[,;:]?\{[^(){}\r\n]*\})
    | (?P<WORD>\w+)
    | (?P<BRACE>[{}])
    | (?P<PUNCTUATION>[(),;:|&?!])
    | (?P<UNKNOWN>.)
    """,
    re.VERBOSE | re.DOTALL,
)
