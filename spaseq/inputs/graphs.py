"""Graphs and stores of rdflib and pyoxigraph, which are not imported, as graphs of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, BlankNode, Term, relabelled
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term


def is_graph(value: Any) -> bool:
    """True for a Graph, Dataset or Store of rdflib and for a Store or Dataset of pyoxigraph."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    return not kinds.isdisjoint(
        {("rdflib", "Graph"), ("rdflib", "Store"), ("pyoxigraph", "Store"), ("pyoxigraph", "Dataset")}
    )


def graph_batch(graph: Any, iri: str, scope: str, dictionary: Dictionary) -> EventBatch:
    """The triples of all graphs in it, each once, as a batch of one event; raises InputError for one that is none.

    scope   begins the labels of their blank nodes
    """
    ids = {tuple(map(dictionary.intern, triple)): None for triple in _triples(graph, iri, scope)}
    subjects, predicates, objects = map(np.ascontiguousarray, np.array(list(ids), dtype=np.int64).reshape(-1, 3).T)
    return EventBatch.of_graph(iri, subjects, predicates, objects)


def _triples(graph: Any, iri: str, scope: str) -> Iterator[tuple[Term, Term, Term]]:
    try:
        for found in _stated(graph):
            subject, predicate, target = (relabelled(own_term(term), lambda at: f"{scope}x{at}") for term in found)
            if not (isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI)):
                raise ValueError(f"its subject is {subject}, its predicate {predicate}")
            yield subject, predicate, target
    except (TypeError, ValueError) as error:
        raise InputError(f"knowledge base <{iri}> has a triple that is none: {error}") from error


def _stated(graph: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The triples, some of them perhaps twice."""
    if type(graph).__module__ == "pyoxigraph":
        for quad in graph:
            yield quad.subject, quad.predicate, quad.object
        return
    store = getattr(graph, "store", graph)
    context = None if graph is store or hasattr(graph, "contexts") else graph
    for triple, _ in store.triples((None, None, None), context=context):
        yield triple
