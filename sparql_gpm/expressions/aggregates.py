"""SPARQL's set functions over term ids (SPARQL 1.1, Section 18.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.exact_sum import ExactSum
from sparql_gpm.expressions.functions_strings import bounded
from sparql_gpm.expressions.values import full_order_key, text_of
from sparql_gpm.numeric import Number, NumericType, calculate, integer_literal, numeric_literal, require_number, total
from sparql_gpm.pattern import Adding, Aggregate
from sparql_gpm.terms import Literal, Term

_FEW_MAX = 8
"""Values whose aggregate may be estimated."""


def fold(aggregate: Aggregate, values: Sequence[int], dictionary: Dictionary) -> int:
    """The id of the aggregate of the values, in their order; UNBOUND if it has none.

    An UNBOUND value is an error of the argument: COUNT skips it, the others have no value then. Over no values COUNT,
    SUM and AVG are 0, GROUP_CONCAT is "", and the others have no value.
    """
    bound = [value for value in values if value != UNBOUND]
    if aggregate.distinct:
        bound = list(dict.fromkeys(bound))
    if aggregate.name == "COUNT":
        return dictionary.intern(integer_literal(len(bound)))
    if UNBOUND in values:
        return UNBOUND
    if aggregate.name == "SAMPLE":
        return bound[0] if bound else UNBOUND
    try:
        result = _fold_terms(aggregate, [dictionary.term(value) for value in bound])
    except ExpressionError:
        return UNBOUND
    return UNBOUND if result is None else dictionary.intern(result)


def estimate(aggregate: Aggregate, values: Sequence[int], dictionary: Dictionary) -> float:
    """`fold` of a few numbers of one sign, within a millionth whatever their types; else NaN.

    Eight sums and a quotient in single precision are off by 6e-8 each at most.
    """
    if aggregate.distinct or aggregate.name not in ("SUM", "AVG") or not 0 < len(values) <= _FEW_MAX:
        return nan
    numbers = [dictionary.numbers.item(value) for value in values]
    if not (min(numbers) >= 0 or max(numbers) <= 0):
        return nan
    return sum(numbers) / len(numbers) if aggregate.name == "AVG" else sum(numbers)


def _fold_terms(aggregate: Aggregate, terms: Sequence[Term]) -> Term | None:
    match aggregate.name:
        case "SUM" if aggregate.adding is not Adding.IN_TURN:
            exact = ExactSum()
            for term in terms:
                exact.add(require_number(term))
            return exact.literal() if aggregate.adding is Adding.EXACTLY else numeric_literal(exact.total())
        case "SUM":
            return numeric_literal(_sum(terms))
        case "AVG":
            if not terms:
                return numeric_literal(_sum(terms))
            return numeric_literal(calculate("/", _sum(terms), Number(NumericType.INTEGER, len(terms))))
        case "MIN":
            return min(terms, key=full_order_key, default=None)
        case "MAX":
            return max(terms, key=full_order_key, default=None)
        case "GROUP_CONCAT":
            return Literal(bounded(aggregate.separator, [text_of(term) for term in terms]))
    raise AssertionError(aggregate)


def _sum(terms: Sequence[Term]) -> Number:
    return total([require_number(term) for term in terms])
