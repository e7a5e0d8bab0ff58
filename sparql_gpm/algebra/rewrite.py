"""Equivalences of the pattern algebra that push filters down to where their variables are bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.scope import certain, expression_variables, in_scope
from sparql_gpm.algebra.traversal import map_children
from sparql_gpm.pattern import Call, Expression, Extend, Filter, Join, LeftJoin, Minus, Pattern, Union

T = TypeVar("T")


def push_filters(pattern: Pattern) -> Pattern:
    """The same pattern with every filter split into its conjuncts, each pushed down as far as it may."""
    if isinstance(pattern, algebra.Graph | algebra.Service):
        return pattern
    lowered = map_children(pattern, push_filters)
    if not isinstance(lowered, Filter):
        return lowered
    return _sink(list(conjuncts(lowered.condition)), lowered.inner)


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


def filtered(conditions: Sequence[Expression], pattern: Pattern) -> Pattern:
    """The pattern under one filter with all conditions, those of its own filter first."""
    if not conditions:
        return pattern
    own, inner = ([*conjuncts(pattern.condition)], pattern.inner) if isinstance(pattern, Filter) else ([], pattern)
    every = (*own, *conditions)
    return Filter(connected("&&", every), inner)


def balanced(combine: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """The parts in order as a tree of logarithmic depth, for what is associative: UNION, `|`, `&&` and `||`."""
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    return combine(balanced(combine, parts[:half]), balanced(combine, parts[half:]))


def connected(operator: str, operands: Sequence[Expression]) -> Expression:
    """`a && b && c …` or `a || b || c …`."""
    return balanced(lambda left, right: Call(operator, (left, right)), operands)


def _sink(conditions: Sequence[Expression], pattern: Pattern) -> Pattern:
    """The pattern with all conditions, each as far down as it may stand."""
    sinking = [condition for condition in conditions if not is_volatile(condition)]
    staying = [condition for condition in conditions if is_volatile(condition)]
    if not sinking:
        return filtered(staying, pattern)
    match pattern:
        case Union(left, right):
            return filtered(staying, Union(_sink(sinking, left), _sink(sinking, right)))
        case Minus(left, right):
            return filtered(staying, Minus(_sink(sinking, left), right))
        case Join(left, right) | LeftJoin(left, right):
            down = [condition for condition in sinking if decided_by(condition, left, right)]
            rest = [condition for condition in sinking if condition not in down]
            if isinstance(pattern, Join):
                over = [condition for condition in rest if decided_by(condition, right, left)]
                rest = [condition for condition in rest if condition not in over]
                pattern = replace(pattern, right=_sink(over, right))
            return filtered([*rest, *staying], replace(pattern, left=_sink(down, left)))
        case Extend(inner, variable, expression):
            down = [c for c in sinking if variable not in expression_variables(c) and not is_volatile(expression)]
            rest = [condition for condition in sinking if condition not in down]
            return filtered([*rest, *staying], Extend(_sink(down, inner), variable, expression))
        case Filter(other, inner):
            return filtered([*conjuncts(other), *staying], _sink(sinking, inner))
        case _:
            return filtered(conditions, pattern)
