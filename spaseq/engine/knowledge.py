"""The patterns of queries over each knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparql_gpm.algebra.traversal import exists_in, walk
from sparql_gpm.pattern import Graph, Pattern, Service, Variable
from sparql_gpm.terms import IRI
from spaseq.algebra.nodes import TemporalQuery


def endpoints_of(query: TemporalQuery) -> tuple[str, ...]:
    """The IRIs that SERVICE names, each once, in the order written."""
    return tuple(
        dict.fromkeys(
            node.endpoint.value
            for node in _parts(query)
            if isinstance(node, Service) and isinstance(node.endpoint, IRI)
        )
    )


def asked_of(iri: str, queries: Sequence[TemporalQuery]) -> tuple[Pattern, ...]:
    """The patterns that some query evaluates over a knowledge base; a variable stands for all knowledge bases."""

    def is_asked(node: Pattern) -> bool:
        match node:
            case Graph(name):
                return isinstance(name, Variable) or name == IRI(iri)
            case Service(endpoint):
                return endpoint == IRI(iri)
        return False

    parts = (node for query in queries for node in _parts(query))
    return tuple(dict.fromkeys(node.inner for node in parts if isinstance(node, Graph | Service) and is_asked(node)))


def _parts(query: TemporalQuery) -> Iterator[Pattern]:
    for pattern in query.patterns:
        yield from walk(pattern.pattern)
        for condition in pattern.conditions:
            for exists in exists_in(condition):
                yield from walk(exists.pattern)
