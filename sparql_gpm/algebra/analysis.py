"""Properties of a pattern that are known without data."""

from __future__ import annotations

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.scope import certain, expression_variables, mentioned
from sparql_gpm.algebra.traversal import children, exists_in, expressions_of, subexpressions, subpaths, walk
from sparql_gpm.pattern import Call, Constant, Expression, Pattern, Variable

VOLATILE = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Calls that give each solution a value of its own."""
_SEARCHES = frozenset({"REGEX", "REPLACE"})


def needed_variables(expression: Expression) -> frozenset[str]:
    """Every variable whose value it needs, the hidden ones included that stand for aggregates."""
    hidden = (part.name for part in subexpressions(expression) if isinstance(part, Variable))
    return expression_variables(expression).union(hidden)


def is_volatile(expression: Expression) -> bool:
    """True if equal bindings may give different values."""
    return any(isinstance(part, Call) and part.name in VOLATILE for part in subexpressions(expression))


def takes_long(expression: Expression) -> bool:
    """True if a single value of it may take seconds: a regular expression is no constant, or repeats more than once."""
    searches = (part for part in subexpressions(expression) if isinstance(part, Call) and part.name in _SEARCHES)
    return any(not _is_simple(part.arguments[1]) for part in searches)


def _is_simple(pattern: Expression) -> bool:
    return isinstance(pattern, Constant) and sum(map(str(pattern.term).count, "*+{?")) <= 1


def is_static(pattern: Pattern) -> bool:
    """True if its solutions are the same whatever the event."""
    if isinstance(pattern, algebra.Graph | algebra.Service):
        return True
    if isinstance(pattern, algebra.EventData) or (isinstance(pattern, algebra.BGP) and pattern.triples):
        return False
    if any(is_volatile(e) or exists_in(e) for e in expressions_of(pattern)):
        return False
    return all(map(is_static, children(pattern)))


def uses_background(pattern: Pattern) -> bool:
    """True if GRAPH or SERVICE stands in it, inside EXISTS too."""
    return any(isinstance(node, algebra.Graph | algebra.Service) for node in walk(pattern))


def counts(pattern: Pattern) -> bool:
    """True if the multiplicity of inner solutions can change the set of outer ones."""
    return any(isinstance(node, algebra.Group | algebra.Slice) for node in walk(pattern))


def computes(pattern: Pattern) -> bool:
    """True if its solutions may hold terms that are nodes neither of the data nor of the pattern."""
    return any(isinstance(node, algebra.Extend | algebra.Group) or _takes_apart(node) for node in walk(pattern))


def _takes_apart(pattern: Pattern) -> bool:
    """True if it reads the parts of triple terms."""
    members = pattern.triples if isinstance(pattern, algebra.BGP) else ()
    return any(isinstance(member, algebra.TermParts) for member in members)


def is_ordered(pattern: Pattern) -> bool:
    """True if the query demands an order of its solutions."""
    if isinstance(pattern, algebra.Project | algebra.Distinct | algebra.Slice | algebra.Extend | algebra.Filter):
        return is_ordered(pattern.inner)
    return isinstance(pattern, algebra.OrderBy)


def substitution_is_a_join(pattern: Pattern, variables: frozenset[str]) -> bool:
    """True if substituting values for these variables gives the solutions that have these values.

    So it is for monotone patterns whose filters see only what their own group certainly binds, and whose paths of
    length zero do not end in one of the variables: a term written there counts as a node of any graph.
    """
    match pattern:
        case algebra.BGP(triples):
            paths = (triple for triple in triples if isinstance(triple, algebra.PathTriple))
            return not any(_may_be_empty(path) and variables & _ends(path) for path in paths)
        case algebra.Filter(condition, inner) if not expression_variables(condition) & variables <= certain(inner):
            return False
        case (
            algebra.Values()
            | algebra.EventData()
            | algebra.Join()
            | algebra.Union()
            | algebra.Filter()
            | algebra.Distinct()
        ):
            return all(substitution_is_a_join(child, variables) for child in children(pattern))
        case _:
            return not variables & mentioned(pattern)


def _ends(triple: algebra.PathTriple) -> frozenset[str]:
    return frozenset(node.name for node in (triple.subject, triple.object) if isinstance(node, Variable))


def _may_be_empty(triple: algebra.PathTriple) -> bool:
    """True if some part of the path may have length zero."""
    return any(isinstance(path, algebra.Repeat) and not path.at_least_one for path in subpaths(triple.path))
