"""Which variables a pattern or an expression has (SPARQL 1.1, 18.2.1)."""

from __future__ import annotations

from collections.abc import Iterator

from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Distinct,
    EventData,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Iteration,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathTriple,
    Pattern,
    Project,
    Service,
    Slice,
    TermParts,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI


def in_scope(pattern: Pattern) -> frozenset[str]:
    """The variables that a solution of the pattern may bind; blank nodes of the pattern are none."""
    return frozenset(name for name in _in_scope(pattern) if not name.startswith("_:"))


def _in_scope(pattern: Pattern) -> set[str]:
    match pattern:
        case BGP(triples):
            return {name for triple in triples for name in triple_variables(triple)}
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return _in_scope(left) | _in_scope(right)
        case Minus(left, _):
            return _in_scope(left)
        case Filter(inner=inner) | Distinct(inner) | Slice(inner=inner) | OrderBy(inner=inner):
            return _in_scope(inner)
        case Extend(inner, variable, _):
            return _in_scope(inner) | {variable}
        case Values(variables):
            return set(variables)
        case EventData(name, time):
            return {variable for variable in (name, time) if variable is not None}
        case Graph(name, inner) | Service(name, inner):
            return _in_scope(inner) | ({name.name} if isinstance(name, Variable) else set())
        case Group(_, keys, aggregates):
            return {name for name, _ in keys} | {name for name, _ in aggregates}
        case Project(_, variables):
            return set(variables)


def triple_variables(triple: Triple | PathTriple | TermParts) -> set[str]:
    """The variables of one member of a basic graph pattern, blank nodes included."""
    nodes = [triple.subject, triple.object]
    if not isinstance(triple, PathTriple):
        nodes.append(triple.predicate)
    if isinstance(triple, TermParts):
        nodes.append(triple.term)
    return {node.name for node in nodes if isinstance(node, Variable)}


def free_variables(expression: Expression) -> frozenset[str]:
    """The variables written in an expression, those inside EXISTS apart."""
    return frozenset(
        part.name if isinstance(part, Variable) else part.variable
        for part in parts(expression)
        if isinstance(part, Variable | Iteration)
    )


def exists_variables(expression: Expression) -> frozenset[str]:
    """The variables written inside EXISTS."""
    return frozenset().union(
        *(_mentioned(part.pattern) for part in parts(expression) if isinstance(part, Exists)), frozenset()
    )


def iterated(expression: Expression) -> frozenset[str]:
    """The variables under PREV, FIRST, LAST or an aggregate."""
    names: set[str] = set()
    for part in parts(expression):
        match part:
            case Iteration(_, variable):
                names.add(variable)
            case Aggregate(argument=Variable(variable)):
                names.add(variable)
    return frozenset(names)


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, not looking into EXISTS."""
    yield expression
    match expression:
        case Call(_, arguments) | Cast(_, arguments):
            for argument in arguments:
                yield from parts(argument)
        case Aggregate(argument=argument) if argument is not None:
            yield from parts(argument)


def _mentioned(pattern: Pattern) -> frozenset[str]:
    """Every variable visible in the group of an EXISTS, filters included."""
    names = set(in_scope(pattern))
    for node in subpatterns(pattern):
        match node:
            case Filter(condition) | LeftJoin(condition=condition) if condition is not None:
                names |= free_variables(condition) | exists_variables(condition)
            case Extend(expression=expression):
                names |= free_variables(expression)
            case Minus(_, right):
                names |= in_scope(right)
    return frozenset(names)


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and every pattern below it, those inside EXISTS included."""
    yield pattern
    expressions: list[Expression] = []
    match pattern:
        case Join(left, right) | Union(left, right) | Minus(left, right):
            yield from subpatterns(left)
            yield from subpatterns(right)
        case LeftJoin(left, right, condition):
            yield from subpatterns(left)
            yield from subpatterns(right)
            expressions += [condition] if condition is not None else []
        case Filter(condition, inner):
            yield from subpatterns(inner)
            expressions.append(condition)
        case Extend(inner, _, expression):
            yield from subpatterns(inner)
            expressions.append(expression)
        case Graph(inner=inner) | Service(inner=inner) | Group(inner=inner) | OrderBy(inner=inner):
            yield from subpatterns(inner)
        case Project(inner=inner) | Distinct(inner=inner) | Slice(inner=inner):
            yield from subpatterns(inner)
    for written in expressions:
        for part in parts(written):
            if isinstance(part, Exists):
                yield from subpatterns(part.pattern)


def graph_names(pattern: Pattern) -> frozenset[str]:
    """The IRIs of GRAPH in the pattern."""
    return frozenset(
        node.name.value for node in subpatterns(pattern) if isinstance(node, Graph) and isinstance(node.name, IRI)
    )
