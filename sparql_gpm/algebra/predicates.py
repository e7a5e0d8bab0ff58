"""The predicates of the triples of an event on which the solutions of a pattern depend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.traversal import children, exists_in, expressions_of, subpaths
from sparql_gpm.pattern import Expression, Member, Path, Pattern
from sparql_gpm.terms import IRI

Predicates = frozenset[IRI] | None
"""None: triples with any predicate."""


def predicates_of(pattern: Pattern) -> Predicates:
    """Without triples of other predicates the pattern has the same solutions; knowledge bases are not events."""
    match pattern:
        case algebra.Graph() | algebra.Service():
            return frozenset()
        case algebra.BGP(triples):
            return _all_of(map(_of_member, triples))
        case _:
            tests = map(predicates_in, expressions_of(pattern))
            return _all_of([*map(predicates_of, children(pattern)), *tests])


def predicates_in(expression: Expression) -> Predicates:
    """The same for the value of an expression, which may have EXISTS."""
    return _all_of(predicates_of(exists.pattern) for exists in exists_in(expression))


def _of_member(member: Member) -> Predicates:
    match member:
        case algebra.TermParts():
            return frozenset()
        case algebra.Triple(_, predicate, _):
            return frozenset((predicate,)) if isinstance(predicate, IRI) else None
        case algebra.PathTriple(algebra.Variable(), path, algebra.Variable()) if _may_be_empty(path):
            return None  # every node of the graph is related to itself
        case algebra.PathTriple(_, path, _):
            return _of_path(path)
        case _:
            assert_never(member)


def _of_path(path: Path) -> Predicates:
    parts = list(subpaths(path))
    if any(isinstance(part, algebra.NegatedSet) for part in parts):
        return None
    return frozenset(part.iri for part in parts if isinstance(part, algebra.Link))


def _may_be_empty(path: Path) -> bool:
    """True if the path may have length zero."""
    match path:
        case algebra.Link() | algebra.NegatedSet():
            return False
        case algebra.Inverse(inner):
            return _may_be_empty(inner)
        case algebra.PathSequence(first, second):
            return _may_be_empty(first) and _may_be_empty(second)
        case algebra.PathAlternative(left, right):
            return _may_be_empty(left) or _may_be_empty(right)
        case algebra.Repeat(inner, at_least_one):
            return not at_least_one or _may_be_empty(inner)
        case _:
            assert_never(path)


def _all_of(parts: Iterable[Predicates]) -> Predicates:
    found: frozenset[IRI] = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found
