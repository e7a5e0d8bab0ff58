"""What the variables of patterns and expressions are: in scope, certainly bound, mentioned.

A blank node of a pattern (a `_:` variable) is never counted: it cannot be seen from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

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
    Iteration,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI


def in_scope(pattern: Pattern) -> frozenset[str]:
    """The variables in scope of a pattern (SPARQL 1.1, Section 18.2.1)."""
    match pattern:
        case BGP():
            return _triple_variables(pattern)
        case Join(left, right) | LeftJoin(left, right, _) | Union(left, right):
            return in_scope(left) | in_scope(right)
        case Minus(inner, _) | Filter(_, inner) | OrderBy(inner, _) | Distinct(inner) | Slice(inner, _, _):
            return in_scope(inner)
        case Extend(inner, variable, _):
            return in_scope(inner) | _visible((variable,))
        case Values(variables, _) | Project(_, variables):
            return _visible(variables)
        case Graph(name, inner) | Service(name, inner, _):
            return in_scope(inner) | _named(name)
        case Group(_, keys, _):
            return _visible(key for key, _ in keys)
    assert_never(pattern)


def certain(pattern: Pattern) -> frozenset[str]:
    """Variables that every solution of the pattern binds; what may be unbound is left out."""
    match pattern:
        case BGP():
            return _triple_variables(pattern)
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(inner, _, _) | Minus(inner, _) | Filter(_, inner):
            return certain(inner)
        case OrderBy(inner, _) | Distinct(inner) | Slice(inner, _, _):
            return certain(inner)
        case Extend(inner, variable, expression):
            bound = certain(inner)
            return bound | _visible((variable,)) if _cannot_fail(expression, bound) else bound
        case Values(variables, rows):
            columns = range(len(variables))
            return _visible(variables[i] for i in columns if all(row[i] is not None for row in rows))
        case Graph(name, inner):
            return certain(inner) | _named(name)
        case Service(name, inner, silent):
            return frozenset() if silent else certain(inner) | _named(name)
        case Group(inner, keys, _):
            bound = certain(inner)
            return _visible(key for key, expression in keys if _cannot_fail(expression, bound))
        case Project(inner, variables):
            return certain(inner) & _visible(variables)
    assert_never(pattern)


def mentioned(pattern: Pattern) -> frozenset[str]:
    """Every variable of the pattern that an outer binding can reach, those of filters and MINUS included."""
    own = in_scope(pattern).union(*(expression_variables(expression) for expression in _expressions(pattern)))
    inside = own.union(*(mentioned(child) for child in _children(pattern)))
    return inside & _visible(pattern.variables) if isinstance(pattern, Project) else inside


def expression_variables(expression: Expression) -> frozenset[str]:
    """Every variable of an expression, also inside EXISTS and as the argument of PREV, FIRST, LAST, aggregates."""
    found: set[str] = set()
    for node in _walk(expression):
        match node:
            case Variable(name) | Iteration(_, name):
                found.add(name)
            case Exists(pattern, _):
                found |= mentioned(pattern)
    return _visible(found)


def aggregates(expression: Expression) -> tuple[Aggregate, ...]:
    """The aggregates of an expression, in the order written; patterns of EXISTS are not entered."""
    return tuple(node for node in _walk(expression) if isinstance(node, Aggregate))


def iterations(expression: Expression) -> tuple[Iteration, ...]:
    """The PREV, FIRST and LAST of an expression, in the order written."""
    return tuple(node for node in _walk(expression) if isinstance(node, Iteration))


def has_exists(expression: Expression) -> bool:
    """Whether EXISTS or NOT EXISTS stands anywhere in the expression."""
    return any(isinstance(node, Exists) for node in _walk(expression))


def background_names(pattern: Pattern) -> tuple[IRI | Variable, ...]:
    """What GRAPH is asked for, each once, in the order written, EXISTS included."""
    return tuple(dict.fromkeys(node.name for node in _descend(pattern) if isinstance(node, Graph)))


def service_endpoints(pattern: Pattern) -> tuple[IRI | Variable, ...]:
    """What SERVICE is asked for, each once, in the order written, EXISTS included."""
    return tuple(dict.fromkeys(node.endpoint for node in _descend(pattern) if isinstance(node, Service)))


def _visible(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith("_:"))


def _named(name: IRI | Variable) -> frozenset[str]:
    return _visible((name.name,)) if isinstance(name, Variable) else frozenset()


def _triple_variables(pattern: BGP) -> frozenset[str]:
    found: set[str] = set()
    for triple in pattern.triples:
        nodes = [triple.subject, triple.object]
        if isinstance(triple, Triple):
            nodes.append(triple.predicate)
        found.update(node.name for node in nodes if isinstance(node, Variable))
    return _visible(found)


def _cannot_fail(expression: Expression, bound: frozenset[str]) -> bool:
    return isinstance(expression, Constant) or (isinstance(expression, Variable) and expression.name in bound)


def _walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    match expression:
        case Call(_, arguments) | Cast(_, arguments):
            for argument in arguments:
                yield from _walk(argument)
        case Aggregate(_, inner, _, _) if inner is not None:
            yield from _walk(inner)


def _descend(pattern: Pattern) -> Iterator[Pattern]:
    yield pattern
    for child in _children(pattern):
        yield from _descend(child)
    for expression in _expressions(pattern):
        for node in _walk(expression):
            if isinstance(node, Exists):
                yield from _descend(node.pattern)


def _children(pattern: Pattern) -> tuple[Pattern, ...]:
    match pattern:
        case Join(left, right) | LeftJoin(left, right, _) | Union(left, right) | Minus(left, right):
            return (left, right)
        case BGP() | Values():
            return ()
        case _:
            return (pattern.inner,)


def _expressions(pattern: Pattern) -> tuple[Expression, ...]:
    match pattern:
        case LeftJoin(_, _, condition) if condition is not None:
            return (condition,)
        case Filter(condition, _):
            return (condition,)
        case Extend(_, _, expression):
            return (expression,)
        case Group(_, keys, named):
            return (*(expression for _, expression in keys), *(aggregate for _, aggregate in named))
        case OrderBy(_, order):
            return tuple(expression for expression, _ in order)
    return ()
