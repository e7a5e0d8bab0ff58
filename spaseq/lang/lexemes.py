"""The tokens of the outer language: their kinds, and the regular expressions that recognise them.

There are three lexicons. Outside of all brackets SPARQL's tokens apply; inside `SEQ( )` there are quantifiers but no
prefixed names; a GPM body, a template, an expression to be named or the condition of a FILTER is one lexeme (BODY,
TEMPLATE, EXPRESSION, CONSTRAINT) with the tokens of SPARQL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from automata.plan.expression import Span
from sparql_gpm.syntax.signs import SIGNS, any_of
from sparql_gpm.syntax.tokens import PREFIX_CHARACTERS_MAX, Token
from spaseq.lang.signs import CONTIGUITIES, SEQUENCE_SIGNS


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token of the outer language; a keyword's kind is the keyword in upper case.

    tokens  those of SPARQL in one of PIECES
    """

    kind: str
    text: str
    span: Span
    tokens: tuple[Token, ...] = ()

    @property
    def type(self) -> str:
        """Its terminal in the grammar."""
        return self.kind


PIECES = frozenset({"BODY", "TEMPLATE", "EXPRESSION", "CONSTRAINT"})
"""The lexemes that are pieces of SPARQL."""


RESERVED = frozenset({"SEQ", "ALL", "DEFINE", "GPM", "ON", "WITHIN"})
"""The words that cannot be a Name, in any case."""

CLAUSES = frozenset({
    "BASE", "PREFIX", "VERSION", "REGISTER", "SELECT", "CONSTRUCT", "WITHIN", "PARTITION", "FROM", "WHERE", "SEQ",
    "DEFINE", "FILTER", "BIND", "GROUP", "HAVING", "AFTER", "LIMIT", "LBRACE", "RBRACE",
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

PUNCTUATION = {sign.text: sign.terminal for sign in (*SIGNS.values(), *SEQUENCE_SIGNS.values())}
"""The terminal of each sign."""
_OUTER_SIGNS = (*"(){},*;:|&", "<<(", "<<")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The Name of a stream or GPM."""

DEFINITION = re.compile(r"DEFINE\s+GPM\b", re.IGNORECASE)
"""The beginning of a GPM definition, which occurs nowhere in SPARQL."""

_LOCAL = r"(?:[\w:%\-]|\\[_~.\-!$&'()*+,;=/?#@%]|\.(?=[\w:%.\-\\]))*"
SHORT_STRING = r'''"(?:[^"\\\r\n]|\\.)*"''' + r"|'(?:[^'\\\r\n]|\\.)*'"
_LONG_STRING = r'''"""(?:[^"\\]|\\.|"{1,2}(?!"))*"""''' + r"|'''(?:[^'\\]|\\.|'{1,2}(?!'))*'''"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_BLANK = "(?:[\\s\ufeff]+|#[^\\r\\n]*)+"

OUTER_PATTERNS = (
    ("SPACE", _BLANK),
    ("IRI", r'<(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>'),
    ("BAD_IRI", r"<(?!<)[^>\r\n]*>?"),
    ("STRING", f"{_LONG_STRING}|{SHORT_STRING}"),
    ("BAD_STRING", r"""["'][^\r\n]*"""),
    ("VAR", r"[?$]\w+"),
    ("PNAME", rf"(?:(?=[\w\-.]{{1,{PREFIX_CHARACTERS_MAX}}}:)[^\W\d_][\w\-.]*)?:{_LOCAL}"),
    ("WORD", r"[^\W\d]\w*"),
    ("NUMBER", _NUMBER),
    ("LANGTAG", r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"),
    ("DATATYPE", r"\^\^"),
    ("PUNCTUATION", any_of(_OUTER_SIGNS)),
    ("UNKNOWN", "."),
)
"""The tokens outside of SEQ( ), each with its pattern; the first that matches holds."""

SEQUENCE_PATTERNS = (
    ("SPACE", _BLANK),
    ("REPEAT", rf"(?:{any_of(CONTIGUITIES)})?(?:[+*]|\{{\s*[0-9]+\s*(?:,\s*(?:[0-9]+\s*)?)?\}})\+?"),
    ("BAD_REPEAT", rf"(?:{any_of(CONTIGUITIES)})?\{{[^(){{}}\r\n]*\}}"),
    ("WORD", r"\w+"),
    ("BRACE", "[{}]"),
    ("PUNCTUATION", any_of(SEQUENCE_SIGNS)),
    ("UNKNOWN", "."),
)
"""The tokens inside of SEQ( ), likewise."""


def _lexicon(patterns: Sequence[tuple[str, str]]) -> re.Pattern[str]:
    """The pattern of one token, its kind the name of its group."""
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns), re.DOTALL)


OUTER = _lexicon(OUTER_PATTERNS)
SEQUENCE = _lexicon(SEQUENCE_PATTERNS)

LIMIT_NUMBER = re.compile(rf"{_NUMBER}(?!\w)")
"""What stands after WITHIN inside of SEQ( ); it should be whole."""
