"""Which triples of a knowledge base the patterns of a run can use (the paper's Question 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyoxigraph

from sparql_gpm.algebra.traversal import walk
from sparql_gpm.pattern import (
    BGP,
    Graph,
    Inverse,
    Link,
    Node,
    Path,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Repeat,
    Service,
    Variable,
)
from sparql_gpm.terms import IRI, Literal

Constant = pyoxigraph.NamedNode | pyoxigraph.Literal
Ends = tuple[Constant | None, Constant | None]
"""Subject and object, None where anything may stand."""


class TripleFilter:
    """A test of triples: whether some triple pattern, by its constants, could match.

    by_predicate    what may stand at the ends; the key None is any predicate
    """

    def __init__(self, by_predicate: dict[pyoxigraph.NamedNode | None, set[Ends]]) -> None:
        anything = {predicate for predicate, ends in by_predicate.items() if (None, None) in ends}
        self._whole = frozenset(anything - {None})
        self._everything = None in anything
        self._by_predicate = by_predicate
        self._any = frozenset(by_predicate.get(None, ()))

    @staticmethod
    def of(patterns: Collection[Pattern]) -> TripleFilter:
        """What the patterns, each asked of the one knowledge base, can use."""
        found: dict[pyoxigraph.NamedNode | None, set[Ends]] = {}
        for pattern in patterns:
            for predicate, ends in _wanted(pattern):
                found.setdefault(predicate, set()).add(ends)
        return TripleFilter(found)

    def with_predicates(self, iris: Collection[str]) -> TripleFilter:
        """These predicates' triples too."""
        more: dict[pyoxigraph.NamedNode | None, set[Ends]] = {pyoxigraph.NamedNode(i): {(None, None)} for i in iris}
        return TripleFilter(self._by_predicate | more)

    def __call__(self, quad: pyoxigraph.Quad) -> bool:
        """Whether the triple may be of use."""
        if self._everything or quad.predicate in self._whole:
            return True
        ends = self._by_predicate.get(quad.predicate)
        if ends is None and not self._any:
            return False
        subject, object_ = quad.subject, quad.object
        return any(s in (None, subject) and o in (None, object_) for s, o in (*(ends or ()), *self._any))


def _wanted(pattern: Pattern) -> Iterator[tuple[pyoxigraph.NamedNode | None, Ends]]:
    for node in walk(pattern):
        if isinstance(node, Graph | Service):
            continue  # what is inside is asked of another knowledge base; keeping it too does no harm
        for triple in node.triples if isinstance(node, BGP) else ():
            if isinstance(triple, PathTriple):
                links = _links(triple.path)
                for iri in [None] if links is None else sorted(links):
                    yield None if iri is None else pyoxigraph.NamedNode(iri), (None, None)
            elif isinstance(triple.predicate, IRI):
                yield (
                    pyoxigraph.NamedNode(triple.predicate.value),
                    (_constant(triple.subject), _constant(triple.object)),
                )
            else:
                yield None, (_constant(triple.subject), _constant(triple.object))


def _links(path: Path) -> frozenset[str] | None:
    """The predicates along a path, None if it may use any triple."""
    match path:
        case Link(iri):
            return frozenset({iri.value})
        case Inverse(inner) | Repeat(inner, True, _):
            return _links(inner)
        case PathSequence(left, right) | PathAlternative(left, right):
            one, other = _links(left), _links(right)
            return None if one is None or other is None else one | other
        case _:
            return None


def _constant(node: Node) -> Constant | None:
    """A literal is compared without its lexical form being touched; a blank node of a pattern is a variable."""
    match node:
        case IRI(value):
            return pyoxigraph.NamedNode(value)
        case Literal(lexical, datatype, language):
            if language:
                return None  # tags are compared in lower case, which the parser does not do
            return pyoxigraph.Literal(lexical, datatype=pyoxigraph.NamedNode(datatype))
        case Variable():
            return None
        case _:
            return None
