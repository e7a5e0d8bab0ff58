"""Equivalences of the pattern algebra that push filters down to where their variables are bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.scope import certain, expression_variables, in_scope
from sparql_gpm.algebra.traversal import map_children
from sparql_gpm.pattern import Call, Expression, Extend, Filter, Join, LeftJoin, Minus, Pattern, Union


def push_filters(pattern: Pattern) -> Pattern:
    """The same pattern with every filter split into its conjuncts, each pushed down as far as it may."""
    if isinstance(pattern, algebra.Graph | algebra.Service):
        return pattern
    lowered = map_children(pattern, push_filters)
    if not isinstance(lowered, Filter):
        return lowered
    result = lowered.inner
    for condition in conjuncts(lowered.condition):
        result = _sink(condition, result)
    return result


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """`a && b` is true iff both are, errors included."""
    match condition:
        case Call("&&", arguments):
            for argument in arguments:
                yield from conjuncts(argument)
        case _:
            yield condition


def equalities(membership: Call) -> tuple[Expression, ...]:
    """`x IN (a, b)` is `x = a || x = b`, and false for no choice at all."""
    left, *choices = membership.arguments
    return tuple(Call("=", (left, choice)) for choice in choices)


def decided_by(condition: Expression, side: Pattern, other: Pattern) -> bool:
    """True if a join with `other` cannot change the condition's value for a solution of `side`."""
    return not (expression_variables(condition) & in_scope(other)) - certain(side)


def _sink(condition: Expression, pattern: Pattern) -> Pattern:
    if is_volatile(condition):
        return Filter(condition, pattern)
    match pattern:
        case Union(left, right):
            return Union(_sink(condition, left), _sink(condition, right))
        case Minus(left, right):
            return Minus(_sink(condition, left), right)
        case Join(left, right) | LeftJoin(left, right) if decided_by(condition, left, right):
            return replace(pattern, left=_sink(condition, left))
        case Join(left, right) if decided_by(condition, right, left):
            return Join(left, _sink(condition, right))
        case Extend(inner, variable, expression) if _passes(condition, variable, expression):
            return Extend(_sink(condition, inner), variable, expression)
        case Filter(other, inner):
            return Filter(other, _sink(condition, inner))
        case _:
            return Filter(condition, pattern)


def _passes(condition: Expression, variable: str, expression: Expression) -> bool:
    return variable not in expression_variables(condition) and not is_volatile(expression)
