"""Aggregates over the values of iterations, or of a subquery's group (SPARQL 1.1, 18.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sparql_gpm.pattern import Aggregate
from sparql_gpm.terms import IRI, Literal, Term
from tests.reference.values import DECIMAL, INTEGER, Number, literal, number, order_key, promote


def fold(aggregate: Aggregate, values: Sequence[Term]) -> Term | None:
    """The value over bound values in order, None for an error or unbound.

    Over no iteration: COUNT and SUM 0, AVG 0, GROUP_CONCAT "", the others unbound.
    """
    if aggregate.distinct:
        values = list(dict.fromkeys(values))
    match aggregate.name.upper():
        case "COUNT":
            return literal(INTEGER, Fraction(len(values)))
        case "SUM":
            return _sum(values)
        case "AVG":
            return _average(values)
        case "GROUP_CONCAT":
            texts = [_text(value) for value in values]
            return None if None in texts else Literal(aggregate.separator.join(t for t in texts if t is not None))
        case "SAMPLE":
            return values[0] if values else None
        case "MIN":
            return min(values, key=order_key, default=None)
        case "MAX":
            return max(values, key=order_key, default=None)
    return None


def _text(value: Term) -> str | None:
    match value:
        case IRI(text) | Literal(text):
            return text
    return None


def _total(values: Sequence[Term]) -> Number | None:
    total: Number = (INTEGER, Fraction(0))
    for value in values:
        summand = number(value)
        if summand is None:
            return None
        rank, x, y = promote(total, summand)
        total = (rank, x + y)
    return total


def _sum(values: Sequence[Term]) -> Term | None:
    total = _total(values)
    return None if total is None else literal(*total)


def _average(values: Sequence[Term]) -> Term | None:
    total = _total(values)
    if total is None or not values:
        return None if values else literal(INTEGER, Fraction(0))
    rank, value = total
    return literal(max(rank, DECIMAL), value / len(values))
