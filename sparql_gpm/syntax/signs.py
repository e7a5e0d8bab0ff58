"""The signs of SPARQL 1.2: the one table that its lexer, its grammar and all that show its text derive from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Use(Enum):
    """The part that a sign plays in a text."""

    BRACKET = "bracket"
    SEPARATOR = "separator"
    OPERATOR = "operator"


class Sign(NamedTuple):
    """A sign, its terminal in the grammar, its use, and a line of help."""

    text: str
    terminal: str
    use: Enum
    help: str


SIGNS = {
    sign.text: sign
    for sign in (
        Sign("{", "LBRACE", Use.BRACKET, "begins a group"),
        Sign("}", "RBRACE", Use.BRACKET, "ends a group"),
        Sign("(", "LPAR", Use.BRACKET, "begins an expression, arguments or a collection"),
        Sign(")", "RPAR", Use.BRACKET, "ends an expression, arguments or a collection"),
        Sign("[", "LSQB", Use.BRACKET, "begins a blank node"),
        Sign("]", "RSQB", Use.BRACKET, "ends a blank node"),
        Sign("<<(", "OPEN_TERM", Use.BRACKET, "begins a triple term"),
        Sign(")>>", "CLOSE_TERM", Use.BRACKET, "ends a triple term"),
        Sign("<<", "OPEN_REIFIED", Use.BRACKET, "begins a reified triple"),
        Sign(">>", "CLOSE_REIFIED", Use.BRACKET, "ends a reified triple"),
        Sign("{|", "OPEN_ANNOTATION", Use.BRACKET, "begins what is said of the triple before"),
        Sign("|}", "CLOSE_ANNOTATION", Use.BRACKET, "ends what is said of a triple"),
        Sign(".", "DOT", Use.SEPARATOR, "ends a triple"),
        Sign(",", "COMMA", Use.SEPARATOR, "stands between objects, and between arguments"),
        Sign(";", "SEMICOLON", Use.SEPARATOR, "stands between the predicates of one subject"),
        Sign("^^", "DATATYPE", Use.SEPARATOR, "stands before the datatype of a literal"),
        Sign("~", "TILDE", Use.OPERATOR, "stands before the reifier of a triple"),
        Sign("||", "OR", Use.OPERATOR, "one of the conditions holds"),
        Sign("&&", "AND", Use.OPERATOR, "both conditions hold"),
        Sign("!", "BANG", Use.OPERATOR, "the condition does not hold; in a path none of the predicates"),
        Sign("=", "EQ", Use.OPERATOR, "equal in value"),
        Sign("!=", "NE", Use.OPERATOR, "not equal in value"),
        Sign("<=", "LE", Use.OPERATOR, "less or equal"),
        Sign(">=", "GE", Use.OPERATOR, "greater or equal"),
        Sign("<", "LT", Use.OPERATOR, "less"),
        Sign(">", "GT", Use.OPERATOR, "greater"),
        Sign("+", "PLUS", Use.OPERATOR, "the sum; after a path one or more of it"),
        Sign("-", "DASH", Use.OPERATOR, "the difference"),
        Sign("*", "STAR", Use.OPERATOR, "the product; all variables; after a path none or more of it"),
        Sign("/", "SLASH", Use.OPERATOR, "the quotient; in a path one after the other"),
        Sign("|", "VBAR", Use.OPERATOR, "in a path one or the other"),
        Sign("^", "CARET", Use.OPERATOR, "in a path from object to subject"),
        Sign("?", "QMARK", Use.OPERATOR, "after a path none or one of it"),
    )
}
"""The signs by their text."""
STRAY = frozenset(":@&")
"""Characters that are signs of no rule, and that an error names as such."""
CLOSING = {"(": ")", "{": "}", "[": "]", "<<(": ")>>", "<<": ">>", "{|": "|}"}
"""The bracket that closes each opening one."""

_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\]")
"""What is escaped in the expressions of Python and of JavaScript; an escape of anything else is an error there."""


def any_of(signs: Iterable[str]) -> str:
    """The pattern of one of some signs, the longest that fits."""
    return "|".join(_SPECIAL.sub(r"\\\g<0>", sign) for sign in sorted(signs, key=lambda sign: (-len(sign), sign)))
