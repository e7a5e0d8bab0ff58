"""What can be told from a pattern without data: where it looks, what it computes, which EXISTS it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sparql_gpm.algebra.scope import certain, expression_variables
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Iteration,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Path,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Service,
    Slice,
    Union,
    Values,
    Variable,
)

VOLATILE = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Calls that give each solution a value of its own."""


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns right below, those inside EXISTS left out."""
    match pattern:
        case BGP() | Values():
            return ()
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            return (left, right)
        case Filter() | Extend() | Graph() | Service() | Group() | OrderBy() | Project() | Distinct() | Slice():
            return (pattern.inner,)
        case _:
            assert_never(pattern)


def expressions_of(pattern: Pattern) -> tuple[Expression, ...]:
    """The expressions that the node itself evaluates."""
    match pattern:
        case LeftJoin(condition=condition):
            return () if condition is None else (condition,)
        case Filter(condition=condition):
            return (condition,)
        case Extend(expression=expression):
            return (expression,)
        case Group(keys=keys, aggregates=aggregates):
            return (*(expression for _, expression in keys), *(aggregate for _, aggregate in aggregates))
        case OrderBy(keys=order):
            return tuple(expression for expression, _ in order)
        case _:
            return ()


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it, EXISTS not opened."""
    yield expression
    match expression:
        case Call(arguments=arguments) | Cast(arguments=arguments):
            for argument in arguments:
                yield from parts_of(argument)
        case Aggregate(argument=argument) if argument is not None:
            yield from parts_of(argument)
        case Variable() | Constant() | Exists() | Iteration() | Aggregate():
            pass


def exists_in(expression: Expression) -> tuple[Exists, ...]:
    """The EXISTS of an expression, not those inside their patterns."""
    return tuple(part for part in parts_of(expression) if isinstance(part, Exists))


def needed_variables(expression: Expression) -> frozenset[str]:
    """Every variable whose value it needs, the hidden ones included that stand for aggregates."""
    hidden = (part.name for part in parts_of(expression) if isinstance(part, Variable))
    return frozenset(expression_variables(expression)).union(hidden)


def is_volatile(expression: Expression) -> bool:
    """Whether equal bindings may give different values."""
    return any(isinstance(part, Call) and part.name in VOLATILE for part in parts_of(expression))


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all below it, those inside EXISTS included."""
    yield pattern
    for expression in expressions_of(pattern):
        for exists in exists_in(expression):
            yield from walk(exists.pattern)
    for child in children(pattern):
        yield from walk(child)


def is_static(pattern: Pattern) -> bool:
    """Whether its solutions are the same whatever the event."""
    if isinstance(pattern, Graph | Service):
        return True
    if isinstance(pattern, BGP) and pattern.triples:
        return False
    if any(is_volatile(e) or exists_in(e) for e in expressions_of(pattern)):
        return False
    return all(is_static(child) for child in children(pattern))


def counts(pattern: Pattern) -> bool:
    """Whether the multiplicity of inner solutions can be seen in the set of outer ones."""
    return any(isinstance(node, Group | Slice) for node in walk(pattern))


def computes(pattern: Pattern) -> bool:
    """Whether its solutions may hold terms that stand neither in the data nor in the pattern."""
    return any(isinstance(node, Extend | Group) for node in walk(pattern))


def is_ordered(pattern: Pattern) -> bool:
    """Whether its solutions come in an order that the query asked for."""
    match pattern:
        case OrderBy():
            return True
        case Project() | Distinct() | Slice() | Extend() | Filter():
            return is_ordered(pattern.inner)
        case _:
            return False


def all_variables(pattern: Pattern) -> frozenset[str]:
    """Every variable in it, in scope or not."""
    return frozenset(expression_variables(Exists(pattern, negated=False)))


def substitution_is_a_join(pattern: Pattern, variables: frozenset[str]) -> bool:
    """Whether substituting values for these variables gives the solutions that have these values.

    True of monotone patterns whose filters see only what their own group certainly binds, and whose paths of
    length zero do not end in one of the variables: a term written there counts as a node of any graph.
    """
    match pattern:
        case BGP(triples):
            return not any(_may_stay(t.path) and variables & _ends(t) for t in triples if isinstance(t, PathTriple))
        case Values():
            return True
        case Join(left, right) | Union(left, right):
            return substitution_is_a_join(left, variables) and substitution_is_a_join(right, variables)
        case Filter(condition, inner):
            seen = frozenset(expression_variables(condition)) & variables
            return seen <= certain(inner) and substitution_is_a_join(inner, variables)
        case Distinct(inner):
            return substitution_is_a_join(inner, variables)
        case _:
            return not variables & all_variables(pattern)


def _ends(triple: PathTriple) -> frozenset[str]:
    return frozenset(node.name for node in (triple.subject, triple.object) if isinstance(node, Variable))


def _may_stay(path: Path) -> bool:
    """Whether some part of the path may have length zero."""
    match path:
        case Repeat(inner, at_least_one, _):
            return not at_least_one or _may_stay(inner)
        case Inverse(inner):
            return _may_stay(inner)
        case PathSequence(left, right) | PathAlternative(left, right):
            return _may_stay(left) or _may_stay(right)
        case _:
            return False
