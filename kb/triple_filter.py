"""A filter for the triples of a knowledge base that the patterns of a run can use (G, Question 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

import pyoxigraph

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.traversal import subpaths, walk
from sparql_gpm.pattern import Node, Path, Pattern
from sparql_gpm.terms import IRI, Literal

Constant = pyoxigraph.NamedNode | pyoxigraph.Literal
Ends = tuple[Constant | None, Constant | None]
"""Subject and object, None where anything may stand."""


class TripleFilter:
    """A test of triples: true if some triple pattern over one knowledge base, by its constants, could match."""

    def __init__(self, patterns: Collection[Pattern]) -> None:
        by_predicate: dict[pyoxigraph.NamedNode | None, set[Ends]] = {}
        for predicate, ends in chain.from_iterable(map(_wanted, patterns)):
            by_predicate.setdefault(predicate, set()).add(ends)
        anything = {predicate for predicate, ends in by_predicate.items() if (None, None) in ends}
        self._whole = frozenset(anything - {None})
        self._everything = None in anything
        self._by_predicate = by_predicate
        self._any = frozenset(by_predicate.get(None, ()))

    def __call__(self, quad: pyoxigraph.Quad) -> bool:
        """True if the triple may be of use."""
        if self._everything or quad.predicate in self._whole:
            return True
        ends = self._by_predicate.get(quad.predicate)
        if ends is None and not self._any:
            return False
        subject, object_ = quad.subject, quad.object
        return any(s in (None, subject) and o in (None, object_) for s, o in (*(ends or ()), *self._any))


def _wanted(pattern: Pattern) -> Iterator[tuple[pyoxigraph.NamedNode | None, Ends]]:
    """Predicate and ends of each triple pattern; those inside GRAPH and SERVICE are kept too, which does no harm."""
    for member in (member for node in walk(pattern) if isinstance(node, algebra.BGP) for member in node.triples):
        match member:
            case algebra.PathTriple(_, path, _):
                for predicate in _links(path):
                    yield predicate, (None, None)
            case algebra.Triple(subject, verb, target):
                named = pyoxigraph.NamedNode(verb.value) if isinstance(verb, IRI) else None
                yield named, (_constant(subject), _constant(target))


def _links(path: Path) -> Iterator[pyoxigraph.NamedNode | None]:
    """The predicates along a path, None if it may use any triple."""
    for part in subpaths(path):
        match part:
            case algebra.Link(iri):
                yield pyoxigraph.NamedNode(iri.value)
            case algebra.NegatedSet() | algebra.Repeat(_, False):
                yield None


def _constant(node: Node) -> Constant | None:
    """The term of a constant, None for any; language tags, whose case may differ, match any term."""
    match node:
        case IRI(value):
            return pyoxigraph.NamedNode(value)
        case Literal(lexical, datatype, ""):
            return pyoxigraph.Literal(lexical, datatype=pyoxigraph.NamedNode(datatype))
        case _:
            return None
