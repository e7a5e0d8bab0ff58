"""Conditions on one row at a time, as closures: numbers are compared in plain Python, all else is scalar.

The truth is TRUE, FALSE or ERROR, and the same as over columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from arrays.comparison import COMPARISONS, CONNECTIVES, TRUE, UNKNOWN, decision, negation
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.compiled_expression import CompiledExpression
from sparql_gpm.pattern import Call, Constant, Expression, Variable

Values = Sequence[int]
"""The ids of a solution, by the place of each variable."""
RowTruth = Callable[[Values], int]
Estimated = Callable[[Values, float], bool | None]
"""A condition, given an estimate of one of its variables; None where the estimate does not decide it."""
CachedTruth = Callable[[CompiledExpression, tuple[int, ...]], int]
"""The truth of an expression, given the values of its `names`, by the scalar path and its cache."""


def row_truth(
    compiled: CompiledExpression, places: Mapping[str, int], dictionary: Dictionary, cached: CachedTruth
) -> RowTruth:
    """The truth of a condition without EXISTS; variables without a place are unbound."""

    def truth(part: CompiledExpression) -> RowTruth:
        match part.expression:
            case Call("&&" | "||" as name, _) if part.parts:
                return _connected(name, truth(part.parts[0]), truth(part.parts[1]))
            case Call("!", _) if part.parts:
                operand = truth(part.parts[0])
                return lambda values: negation(operand(values))
            case Call(name, (left, right)) if name in COMPARISONS and part.parts:
                first, second = _number(left, places, dictionary), _number(right, places, dictionary)
                if first is not None and second is not None:
                    return _comparison(decision(name), first, second, scalar(part), dictionary)
        return scalar(part)

    def scalar(part: CompiledExpression) -> RowTruth:
        read = row_reader(part.names, places)
        return lambda values: cached(part, read(values))

    return truth(compiled)


def row_estimate(
    compiled: CompiledExpression, name: str, places: Mapping[str, int], dictionary: Dictionary
) -> Estimated | None:
    """A comparison with the variable `name`, whose number is estimated to a millionth; None for other conditions."""
    match compiled.expression:
        case Call(operator, (left, right)) if operator in COMPARISONS and (left == Variable(name)) != (
            right == Variable(name)
        ):
            other = _number(right if left == Variable(name) else left, places, dictionary)
            if other is not None:
                return _deciding(decision(operator, equal=False), left == Variable(name), other, dictionary)
    return None


def _deciding(decide: Callable[[float, float], int], first: bool, other: _Number, dictionary: Dictionary) -> Estimated:
    def decided(values: Values, number: float) -> bool | None:
        known = other(values, dictionary.numbers)
        found = decide(number, known) if first else decide(known, number)
        return None if found == UNKNOWN else found == TRUE

    return decided


def row_reader(names: Sequence[str], places: Mapping[str, int]) -> Callable[[Values], tuple[int, ...]]:
    """A function that reads the values of some variables off a row; UNBOUND for those without a place."""
    known = [places.get(name, -1) for name in names]
    if len(known) > 1 and min(known) >= 0:
        read: Callable[[Values], tuple[int, ...]] = itemgetter(*known)
        return read
    return lambda values: tuple([UNBOUND if at < 0 else values[at] for at in known])


_Number = Callable[[Values, NDArray[np.float64]], float]
"""The value of an operand, given the column of numbers; NaN where float64 does not hold it exactly."""


def _number(expression: Expression, places: Mapping[str, int], dictionary: Dictionary) -> _Number | None:
    """The value of a variable, a constant, or COALESCE of these; None for other expressions."""
    match expression:
        case Variable(name) if name in places:
            at = places[name]
            return lambda values, numbers: numbers.item(values[at])
        case Constant(term):
            constant = dictionary.number(dictionary.intern(term))
            return lambda values, numbers: constant
        case Call("COALESCE", (Variable(name), other)) if name in places:
            first, second = places[name], _number(other, places, dictionary)
            if second is None:
                return None
            return lambda values, numbers: (
                numbers.item(values[first]) if values[first] != UNBOUND else second(values, numbers)
            )
    return None


def _comparison(
    decide: Callable[[float, float], int], left: _Number, right: _Number, otherwise: RowTruth, dictionary: Dictionary
) -> RowTruth:
    def truth(values: Values) -> int:
        numbers = dictionary.numbers
        found = decide(left(values, numbers), right(values, numbers))
        return otherwise(values) if found == UNKNOWN else found

    return truth


def _connected(name: str, left: RowTruth, right: RowTruth) -> RowTruth:
    connect, decisive = CONNECTIVES[name]
    neutral = 1 - decisive

    def truth(values: Values) -> int:
        first = left(values)
        if first == neutral:
            return right(values)
        return first if first == decisive else connect(first, right(values))

    return truth
