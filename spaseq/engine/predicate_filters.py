"""The triples of a stream that some query can use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparql_gpm.algebra.predicates import Predicates, predicates_in, predicates_of
from sparql_gpm.reading.predicate_filter import PredicateFilter
from spaseq.algebra.nodes import TemporalQuery


def predicate_filter(queries: Iterable[TemporalQuery], iri: str) -> PredicateFilter | None:
    """The triples of the stream with this IRI; None: all.

    A query uses those with the predicates of its patterns, unless one of these is a variable; and all triples where the
    names of CONSTRUCT's graphs depend on the labels of blank nodes.
    """
    found: frozenset[str] = frozenset()
    for query in queries:
        for predicates in _used(query, iri):
            if predicates is None:
                return None
            found |= {predicate.value for predicate in predicates}
    return PredicateFilter(found)


def _used(query: TemporalQuery, iri: str) -> Iterator[Predicates]:
    positions = {position for position, (_, stream) in enumerate(query.streams) if stream == iri}
    if positions and query.orders_solutions:
        yield None
    for pattern in query.patterns:
        if not positions.isdisjoint(pattern.streams):
            yield predicates_of(pattern.pattern)
            yield from map(predicates_in, pattern.conditions)
    if positions:
        yield from (predicates_in(each.expression) for each in query.filters)
        yield from map(predicates_in, query.output_expressions())
