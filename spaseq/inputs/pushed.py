"""Graphs of pushed events as triples of ids: from terms of three libraries, or Turtle text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, BlankNode, Literal
from sparql_gpm.well_formed import is_text
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term

Graph = str | bytes | Iterable[Any]
"""Turtle text, or triples as terms of rdflib, pyoxigraph or sparql_gpm."""
Triple = tuple[int, int, int]

_KNOWN_MAX = 100_000
"""Entries of the cache from pushed terms to ids, and of that of subjects."""


class PushedGraphs:
    """Translates graph after graph; a blank node belongs to its graph."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._generation = dictionary.generation
        self._known: dict[Any, int] = {}
        self._subjects: set[int] = set()
        self._predicates: set[int] = set()
        self._graphs = 0

    def triples(self, graph: Graph) -> list[Triple]:
        """The distinct triples, in order; raises InputError for a value that is no graph."""
        if self._generation != self._dictionary.generation or max(len(self._known), len(self._subjects)) > _KNOWN_MAX:
            for cache in (self._known, self._subjects, self._predicates):
                cache.clear()
            self._generation = self._dictionary.generation
        triples: Iterable[Any] = _parse_turtle(graph) if isinstance(graph, str | bytes) else graph
        known = self._known.get
        found: dict[Triple, None] = {}
        try:
            for triple in triples:
                if hasattr(triple, "subject"):
                    subject, predicate, target = triple.subject, triple.predicate, triple.object
                else:
                    subject, predicate, target = triple
                ids = known(subject) or self._id(subject), known(predicate) or self._id(predicate)
                if ids[0] not in self._subjects or ids[1] not in self._predicates:
                    self._check_kinds(*ids)
                found[*ids, known(target) or self._id(target)] = None
        except (TypeError, ValueError) as error:
            raise InputError(f"cannot read the event's graph: {error}") from error
        self._graphs += 1
        return list(found)

    def _check_kinds(self, subject: int, predicate: int) -> None:
        """Raises ValueError for a subject that is a literal, or a predicate that is no IRI; remembers IRIs."""
        term = self._dictionary.term(subject)
        if isinstance(term, Literal):
            raise ValueError("a literal is the subject of a triple")
        if not isinstance(self._dictionary.term(predicate), IRI):
            raise ValueError("the predicate of a triple is no IRI")
        if isinstance(term, IRI):
            self._subjects.add(subject)
        self._predicates.add(predicate)

    def _id(self, term: Any) -> int:
        """The id of a term that is not in the cache."""
        own = own_term(term)
        if isinstance(own, BlankNode):
            return self._dictionary.intern(BlankNode(f"p{self._graphs}.{own.label}"))
        identifier = self._dictionary.intern(own)
        if not isinstance(term, str):  # rdflib's terms are strings, whose equality is not sameTerm
            self._known[term] = identifier
        return identifier


def _parse_turtle(text: str | bytes) -> Iterable[Any]:
    import pyoxigraph

    try:
        if isinstance(text, str) and not is_text(text):
            raise ValueError("a lone surrogate")
        return list(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE))
    except (SyntaxError, ValueError) as error:
        raise InputError(f"the event's Turtle is malformed: {error}") from error
