"""Property paths as multisets of pairs of terms (SPARQL 1.1, 18.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparql_gpm.pattern import Inverse, Link, NegatedSet, Path, PathAlternative, PathSequence, Repeat
from sparql_gpm.terms import Term

Triples = frozenset[tuple[Term, Term, Term]]
Pair = tuple[Term, Term]


def pairs(path: Path, graph: Triples, constants: Iterable[Term]) -> list[Pair]:
    """Every (x, y) that the path connects; zero-length paths also stand at the given constants."""
    match path:
        case Link(iri):
            return [(s, o) for s, p, o in graph if p == iri]
        case Inverse(inner):
            return [(o, s) for s, o in pairs(inner, graph, constants)]
        case PathSequence(first, second):
            ends = pairs(second, graph, constants)
            return [(s, o) for s, m in pairs(first, graph, constants) for n, o in ends if m == n]
        case PathAlternative(left, right):
            return pairs(left, graph, constants) + pairs(right, graph, constants)
        case NegatedSet(forward, backward):
            ahead = [(s, o) for s, p, o in graph if p not in forward] if forward or not backward else []
            return ahead + ([(o, s) for s, p, o in graph if p not in backward] if backward else [])
        case Repeat(inner, at_least_one, unbounded):
            steps = set(pairs(inner, graph, constants))
            reached = closure(steps) if unbounded else set(steps)
            if not at_least_one:
                reached |= {(node, node) for node in nodes(graph, constants)}
            return list(reached)


def nodes(graph: Triples, constants: Iterable[Term]) -> Iterator[Term]:
    """Subjects and objects of the graph, and the constants at the path's ends."""
    for s, _, o in graph:
        yield s
        yield o
    yield from constants


def closure(steps: set[Pair]) -> set[Pair]:
    """The transitive closure."""
    reached = set(steps)
    while True:
        more = {(s, o) for s, m in reached for n, o in steps if m == n} - reached
        if not more:
            return reached
        reached |= more
