"""Terms that a join tells apart although they may be meant to be one: it compares terms, not values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.values import compare, text_of, value_key
from sparql_gpm.numeric import NumericType, parse_number
from sparql_gpm.terms import IRI, WHITE_SPACE, XSD, Literal, Term

_DECIMAL = f"<{XSD}decimal>"


@dataclass(frozen=True, slots=True)
class Likeness:
    """Property that two terms have in common: its name, and the comparison that finds them equal."""

    name: str
    comparison: str
    holds: Callable[[Term, Term], bool]

    def written(self, one: str, other: str) -> str:
        """The FILTER that compares two variables in this way."""
        return f"FILTER({self.comparison.format(one, other)})"


def likeness(one: Term, other: Term) -> Likeness | None:
    """Return the first likeness of two different terms; None: they have nothing in common."""
    for each in _LIKENESSES:
        try:
            if each.holds(one, other):
                return each
        except ExpressionError:
            continue
    return None


def likeness_key(term: Term) -> object:
    """The same for terms that are alike, and for some others: what `likeness` is to be asked of."""
    if not isinstance(term, IRI | Literal):
        return value_key(term)
    number = parse_number(text_of(term).strip(WHITE_SPACE), NumericType.DOUBLE)
    if number is not None:
        return number.value
    value = value_key(term)
    return text_of(term).casefold() if value is term else value


def _number(text: str) -> Decimal | None:
    """The number that a text of any type has."""
    found = parse_number(text.strip(WHITE_SPACE), NumericType.DECIMAL)
    return None if found is None else Decimal(found.value)


def _same_number(one: Term, other: Term) -> bool:
    first = _number(text_of(one))
    return first is not None and first == _number(text_of(other))


_LIKENESSES = (
    Likeness("value", "?{} = ?{}", lambda one, other: compare("=", one, other)),
    Likeness("text", "STR(?{}) = STR(?{})", lambda one, other: text_of(one) == text_of(other)),
    Likeness("number", f"{_DECIMAL}(STR(?{{}})) = {_DECIMAL}(STR(?{{}}))", _same_number),
    Likeness(
        "case",
        "LCASE(STR(?{})) = LCASE(STR(?{}))",
        lambda one, other: text_of(one).lower() == text_of(other).lower(),
    ),
)
"""In the order in which one is named."""
