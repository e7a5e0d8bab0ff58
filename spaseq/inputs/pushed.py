"""Graphs of pushed events as triples of ids: from terms of three libraries, or Turtle text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, BlankNode, Literal, blank_nodes, relabelled
from sparql_gpm.well_formed import is_text
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term

Graph = str | bytes | Iterable[Any]
"""Turtle text, or triples as terms of rdflib, pyoxigraph or sparql_gpm."""
Triple = tuple[int, int, int]

_KNOWN_MAX = 100_000
"""Entries of each cache from pushed terms to ids: of subjects, of predicates, and of objects."""


class PushedGraphs:
    """Translates graph after graph; a blank node belongs to its graph.

    graphs  their number so far, which is part of the labels of blank nodes
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._generation = dictionary.generation
        self._caches: tuple[dict[Any, int], dict[Any, int], dict[Any, int]] = ({}, {}, {})
        self.graphs = 0

    def triples(self, graph: Graph) -> list[Triple]:
        """The distinct triples, in order; raises InputError for a value that is no graph."""
        if self._generation != self._dictionary.generation:
            for cache in self._caches:
                cache.clear()
            self._generation = self._dictionary.generation
        triples: Iterable[Any] = _parse_turtle(graph) if isinstance(graph, str | bytes) else graph
        subjects, predicates, objects = self._caches
        found: dict[Triple, None] = {}
        try:
            for triple in triples:
                if hasattr(triple, "subject"):
                    subject, predicate, target = triple.subject, triple.predicate, triple.object
                else:
                    subject, predicate, target = triple
                ids = (
                    subjects.get(subject) or self._id(subject, subjects),
                    predicates.get(predicate) or self._id(predicate, predicates),
                    objects.get(target) or self._id(target, objects),
                )
                found[ids] = None
        except (TypeError, ValueError) as error:
            raise InputError(f"cannot read the event's graph: {error}") from error
        self.graphs += 1
        return list(found)

    def _id(self, term: Any, cache: dict[Any, int]) -> int:
        """The id of a term that is not in the cache of its place; raises ValueError for one that cannot stand there."""
        own = own_term(term)
        subjects, predicates, _ = self._caches
        if cache is subjects and not isinstance(own, IRI | BlankNode):
            what = "literal" if isinstance(own, Literal) else "triple term"
            raise ValueError(f"a {what} is the subject of a triple")
        if cache is predicates and not isinstance(own, IRI):
            raise ValueError("the predicate of a triple is no IRI")
        if any(blank_nodes(own)):
            return self._dictionary.intern(relabelled(own, lambda label: f"p{self.graphs}.{label}"))
        identifier = self._dictionary.intern(own)
        if not isinstance(term, str):  # rdflib's terms are strings, whose equality is not sameTerm
            if len(cache) >= _KNOWN_MAX:
                cache.clear()
            cache[term] = identifier
        return identifier


def _parse_turtle(text: str | bytes) -> Iterable[Any]:
    from pyoxigraph import RdfFormat

    from sparql_gpm.reading.strict import parse

    try:
        if isinstance(text, str) and not is_text(text):
            raise ValueError("a lone surrogate")
        return list(parse(text.encode() if isinstance(text, str) else text, RdfFormat.TURTLE))
    except (SyntaxError, ValueError) as error:
        raise InputError(f"the event's Turtle is malformed: {error}") from error
