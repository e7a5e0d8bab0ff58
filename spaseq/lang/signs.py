"""The signs of SEQ( ): the one table that the lexer, the grammar, messages, the formatter and editors derive from.

Those of SPARQL stand in `sparql_gpm.syntax.signs`.
"""

from __future__ import annotations

from enum import Enum

from automata.plan.expression import Contiguity
from sparql_gpm.syntax.signs import SIGNS, Sign


class Use(Enum):
    """The part that a sign plays in a sequence."""

    BRACKET = "bracket"
    CONTIGUITY = "contiguity"
    OPERATOR = "operator"
    QUANTIFIER = "quantifier"


SEQUENCE_SIGNS = {
    sign.text: sign
    for sign in (
        Sign("(", "LPAR", Use.BRACKET, "begins a group"),
        Sign(")", "RPAR", Use.BRACKET, "ends a group"),
        Sign(",", "COMMA", Use.CONTIGUITY, "the very next event"),
        Sign(";", "SEMICOLON", Use.CONTIGUITY, "the next event that fits"),
        Sign(":", "COLON", Use.CONTIGUITY, "any later event"),
        Sign("|", "VBAR", Use.OPERATOR, "one or the other"),
        Sign("&", "AMPERSAND", Use.OPERATOR, "both at the same time"),
        Sign("?", "QMARK", Use.QUANTIFIER, "once or not at all"),
        Sign("!", "BANG", Use.QUANTIFIER, "not at all"),
    )
}
"""The signs by their text; `+`, `*` and `{n,m}` are quantifiers with a contiguity of their own (REPEAT)."""
CONTIGUITIES = {contiguity.value: contiguity for contiguity in Contiguity}
"""The meaning of each sign of contiguity."""


def terminals() -> str:
    """The rule of contiguities, and the signs that SPARQL does not have, as the lines of a grammar of Lark."""
    contiguities = " | ".join(f'"{sign}"' for sign in CONTIGUITIES)
    own = (f'{sign.terminal}: "{sign.text}"' for sign in SEQUENCE_SIGNS.values() if sign.text not in SIGNS)
    return "\n".join((f"!operator: {contiguities}", *own, ""))
