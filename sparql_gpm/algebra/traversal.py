"""Traversal of patterns, their members, expressions and paths: the one module that knows what stands below what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from sparql_gpm import pattern as algebra
from sparql_gpm.pattern import Aggregate, Exists, Expression, Member, Node, Path, Pattern, Variable


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns right below, without those inside EXISTS."""
    match pattern:
        case algebra.BGP() | algebra.Values() | algebra.EventData():
            return ()
        case algebra.Join() | algebra.LeftJoin() | algebra.Union() | algebra.Minus():
            return (pattern.left, pattern.right)
        case _:
            return (pattern.inner,)


def map_children(pattern: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """The pattern with `change` applied to its children."""
    match pattern:
        case algebra.BGP() | algebra.Values() | algebra.EventData():
            return pattern
        case algebra.Join() | algebra.LeftJoin() | algebra.Union() | algebra.Minus():
            return replace(pattern, left=change(pattern.left), right=change(pattern.right))
        case _:
            return replace(pattern, inner=change(pattern.inner))


def expressions_of(pattern: Pattern) -> tuple[Expression, ...]:
    """The expressions that the node itself evaluates."""
    match pattern:
        case algebra.LeftJoin(condition=condition):
            return () if condition is None else (condition,)
        case algebra.Filter(condition=condition):
            return (condition,)
        case algebra.Extend(expression=expression):
            return (expression,)
        case algebra.Group(keys=keys, aggregates=aggregates):
            return (*(expression for _, expression in keys), *(aggregate for _, aggregate in aggregates))
        case algebra.OrderBy(keys=order):
            return tuple(expression for expression, _ in order)
        case _:
            return ()


def map_expressions(pattern: Pattern, change: Callable[[Expression], Expression]) -> Pattern:
    """The pattern with `change` applied to its expressions; an aggregate must stay one."""
    match pattern:
        case algebra.LeftJoin(condition=condition) if condition is not None:
            return replace(pattern, condition=change(condition))
        case algebra.Filter():
            return replace(pattern, condition=change(pattern.condition))
        case algebra.Extend():
            return replace(pattern, expression=change(pattern.expression))
        case algebra.Group(inner, keys, aggregates):
            changed = [(name, change(aggregate)) for name, aggregate in aggregates]
            kept = tuple((name, found) for name, found in changed if isinstance(found, Aggregate))
            return algebra.Group(inner, tuple((name, change(key)) for name, key in keys), kept)
        case algebra.OrderBy(inner, order):
            return algebra.OrderBy(inner, tuple((change(key), descending) for key, descending in order))
        case _:
            return pattern


def operands(expression: Expression) -> tuple[Expression, ...]:
    """The expressions right below; the pattern of an EXISTS is not entered."""
    match expression:
        case algebra.Call() | algebra.Cast():
            return expression.arguments
        case Aggregate() if expression.argument is not None:
            return (expression.argument,)
        case _:
            return ()


def map_operands(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with `change` applied to its operands."""
    match expression:
        case algebra.Call() | algebra.Cast():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Aggregate() if expression.argument is not None:
            return replace(expression, argument=change(expression.argument))
        case _:
            return expression


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it; patterns of EXISTS are not entered."""
    waiting = [expression]
    while waiting:
        yield (found := waiting.pop())
        waiting += reversed(operands(found))


def exists_in(expression: Expression) -> tuple[Exists, ...]:
    """The EXISTS of an expression, without those inside their patterns."""
    return tuple(part for part in subexpressions(expression) if isinstance(part, Exists))


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all below it, those inside EXISTS included."""
    yield pattern
    for child in children(pattern):
        yield from walk(child)
    for expression in expressions_of(pattern):
        for exists in exists_in(expression):
            yield from walk(exists.pattern)


def nodes(member: Member) -> tuple[Node, ...]:
    """The nodes of a member of a basic graph pattern."""
    match member:
        case algebra.Triple(subject, predicate, target):
            return (subject, predicate, target)
        case algebra.PathTriple(subject, _, target):
            return (subject, target)
        case algebra.TermParts(term, subject, predicate, target):
            return (term, subject, predicate, target)
        case _:
            assert_never(member)


def map_nodes(member: Member, change: Callable[[Node], Node]) -> Member:
    """The member with `change` applied to its nodes; the variable of a triple term must stay one."""
    match member:
        case algebra.Triple(subject, predicate, target):
            return algebra.Triple(change(subject), change(predicate), change(target))
        case algebra.PathTriple(subject, path, target):
            return algebra.PathTriple(change(subject), path, change(target))
        case algebra.TermParts(term, subject, predicate, target):
            named = change(term)
            assert isinstance(named, Variable), named
            return algebra.TermParts(named, change(subject), change(predicate), change(target))
        case _:
            assert_never(member)


def subpaths(path: Path) -> Iterator[Path]:
    """The path and all below it."""
    yield path
    match path:
        case algebra.PathSequence(one, other) | algebra.PathAlternative(one, other):
            yield from subpaths(one)
            yield from subpaths(other)
        case algebra.Inverse(inner) | algebra.Repeat(inner):
            yield from subpaths(inner)
