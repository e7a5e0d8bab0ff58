"""Datasets of rdflib and pyoxigraph as streams: each named graph is an event, its time a triple about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparql_gpm.terms import IRI, BlankNode, Term, to_ntriples
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term

_DEFAULT = IRI("urn:x-rdflib:default")
"""The name that rdflib gives to the default graph."""


def events_file(dataset: Any, path: Path, name: str) -> Path:
    """The path, now a file of N-Quads with the graphs of a dataset in any order; InputError without a named graph.

    name    of the dataset, in messages
    """
    named = False
    with path.open("w", encoding="utf-8") as file:
        for line, is_named in _lines(dataset, name):
            file.write(line)
            named |= is_named
    if not named:
        hint = "an event is a named graph: rdflib.Dataset, with the times of its graphs in the default graph"
        raise InputError(f"{name} has no named graph, so no event", hint=hint)
    return path


def _lines(dataset: Any, name: str) -> Iterator[tuple[str, bool]]:
    """Each quad as a line of N-Quads, and True if it has a graph."""
    try:
        for *triple, graph in _quads(dataset):
            subject, predicate, target = map(own_term, triple)
            if not (isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI)):
                raise ValueError(f"its subject is {subject}, its predicate {predicate}")
            where = _graph(graph)
            terms = [subject, predicate, target, *([where] if where is not None else [])]
            yield f"{' '.join(map(to_ntriples, terms))} .\n", where is not None
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} has a quad that is none: {error}") from error


def _quads(dataset: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Subject, predicate, object and graph of each quad, as the library has them."""
    if type(dataset).__module__.partition(".")[0] == "pyoxigraph":
        for quad in dataset:
            yield quad.subject, quad.predicate, quad.object, quad.graph_name
    elif hasattr(dataset, "quads"):
        for subject, predicate, target, graph in dataset.quads((None, None, None, None)):
            yield subject, predicate, target, getattr(graph, "identifier", graph)
    elif hasattr(dataset, "__iter__"):
        for subject, predicate, target in dataset:
            yield subject, predicate, target, None
    else:
        for triple, graphs in dataset.triples((None, None, None), context=None):
            for graph in graphs:
                yield *triple, getattr(graph, "identifier", graph)


def _graph(name: Any) -> Term | None:
    """The name of a graph; None for the default graph."""
    if name is None or type(name).__name__ == "DefaultGraph":
        return None
    own = own_term(name)
    return None if own == _DEFAULT else own
