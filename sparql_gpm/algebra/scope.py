"""The variables of patterns and expressions: in scope, certainly bound, mentioned.

A blank node of a pattern (a `_:` variable) is never counted: it is not visible from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.traversal import children, expressions_of, nodes, subexpressions, walk
from sparql_gpm.pattern import Aggregate, Exists, Expression, Iteration, Member, Pattern, Variable
from sparql_gpm.terms import IRI


def in_scope(pattern: Pattern) -> frozenset[str]:
    """The variables in scope of a pattern (SPARQL 1.1, Section 18.2.1)."""
    match pattern:
        case algebra.Values() | algebra.Project() | algebra.EventData():
            return _visible(pattern.variables)
        case algebra.Group(_, keys, _):
            return _visible(key for key, _ in keys)
        case algebra.Minus():
            return in_scope(pattern.left)
    return _own(pattern).union(*map(in_scope, children(pattern)))


def certain(pattern: Pattern) -> frozenset[str]:
    """The variables that every solution of the pattern binds."""
    match pattern:
        case algebra.Union(left, right):
            return certain(left) & certain(right)
        case algebra.LeftJoin(inner, _, _) | algebra.Minus(inner, _):
            return certain(inner)
        case algebra.Extend(inner, _, expression):
            bound = certain(inner)
            return bound | _own(pattern) if _cannot_fail(expression, bound) else bound
        case algebra.Values(variables, rows):
            columns = range(len(variables))
            return _visible(variables[i] for i in columns if all(row[i] is not None for row in rows))
        case algebra.EventData():
            return _visible(pattern.variables)
        case algebra.Service(silent=True):
            return frozenset()
        case algebra.Group(inner, keys, _):
            bound = certain(inner)
            return _visible(key for key, expression in keys if _cannot_fail(expression, bound))
        case algebra.Project(inner, variables):
            return certain(inner) & _visible(variables)
    return _own(pattern).union(*map(certain, children(pattern)))


def mentioned(pattern: Pattern) -> frozenset[str]:
    """Every variable of the pattern that an outer binding can reach, those of filters and MINUS included."""
    inside = in_scope(pattern).union(
        *map(expression_variables, expressions_of(pattern)), *map(mentioned, children(pattern))
    )
    return inside & _visible(pattern.variables) if isinstance(pattern, algebra.Project) else inside


def expression_variables(expression: Expression) -> frozenset[str]:
    """Every variable of an expression, also inside EXISTS and as the argument of PREV, FIRST, LAST, aggregates."""
    found: set[str] = set()
    for node in subexpressions(expression):
        match node:
            case Variable(name) | Iteration(_, name):
                found.add(name)
            case Exists(pattern, _):
                found |= mentioned(pattern)
    return _visible(found)


def aggregates(expression: Expression) -> tuple[Aggregate, ...]:
    """The aggregates of an expression, in the order written; patterns of EXISTS are not entered."""
    return tuple(node for node in subexpressions(expression) if isinstance(node, Aggregate))


def iterations(expression: Expression) -> tuple[Iteration, ...]:
    """The PREV, FIRST and LAST of an expression, in the order written."""
    return tuple(node for node in subexpressions(expression) if isinstance(node, Iteration))


def labels(members: Iterable[Member]) -> frozenset[str]:
    """The blank nodes of some members of a basic graph pattern."""
    return frozenset(name for name in _names(members) if name.startswith("_:"))


def background_names(pattern: Pattern) -> tuple[IRI | Variable, ...]:
    """The names after GRAPH, each once, in the order written, EXISTS included."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, algebra.Graph)))


def _own(pattern: Pattern) -> frozenset[str]:
    """The variables that the node itself binds, apart from its children."""
    match pattern:
        case algebra.BGP(triples):
            return _visible(_names(triples))
        case algebra.Extend(_, variable, _) | algebra.Graph(Variable(variable)) | algebra.Service(Variable(variable)):
            return _visible((variable,))
    return frozenset()


def _names(members: Iterable[Member]) -> Iterator[str]:
    return (node.name for member in members for node in nodes(member) if isinstance(node, Variable))


def _visible(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith("_:"))


def _cannot_fail(expression: Expression, bound: frozenset[str]) -> bool:
    return isinstance(expression, algebra.Constant) or (isinstance(expression, Variable) and expression.name in bound)
