"""The reference's surface: a query, its streams and KBs in; rows, late events and derived streams out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arrays.times import TIME_NS_MAX
from sparql_gpm.terms import Term, relabelled
from spaseq.lang import ast
from tests.reference.groups import Reported, grouped_rows
from tests.reference.output import Row, rows
from tests.reference.stream import Arrivals, Triples, merge, punctual
from tests.reference.whole import matches, select
from tests.reference.world import partitions, whole_world

__all__ = ["Arrivals", "Row", "derive", "evaluate", "evaluate_all", "late_events"]


def evaluate(
    query: ast.Query,
    streams: Mapping[str, Arrivals],
    kb: Mapping[str, Iterable[tuple[Term, Term, Term]]] | None = None,
    max_delay_ns: int = 0,
) -> list[Row]:
    """The rows of a query in output order.

    streams     per stream name in the query, its events in order of arrival; one left out is empty
    kb          per KB IRI, its triples
    """
    return [row for _, row in _evaluated(query, streams, kb, max_delay_ns)]


def _evaluated(
    query: ast.Query,
    streams: Mapping[str, Arrivals],
    kb: Mapping[str, Iterable[tuple[Term, Term, Term]]] | None,
    max_delay_ns: int,
) -> list[Reported]:
    """The rows in output order, each with the position of its triggering event or the number of its window."""
    declared = {stream.name: streams.get(stream.name, ()) for stream in query.streams}
    named = {iri: frozenset(triples) for iri, triples in (kb or {}).items()}
    events = merge(declared, max_delay_ns)
    if query.over_matches:
        return grouped_rows(query, events, named)
    world = whole_world(query, events, named)
    keyed = [keyed for part in partitions(world) for keyed in rows(part, select(part, matches(part)))]
    return [(match.positions[-1], row) for _, match, row in sorted(keyed, key=lambda found: found[0])]


def late_events(streams: Mapping[str, Arrivals], max_delay_ns: int = 0) -> dict[str, list[str]]:
    """Per stream, the graph names of the events that are late."""
    return {name: [event[1] for event in punctual(arrivals, max_delay_ns)[1]] for name, arrivals in streams.items()}


def derive(found: Sequence[Reported]) -> list[tuple[int, str, Triples]]:
    """A REGISTERed query's rows as events of its stream: by triggering event, then in output order; never late."""
    events = [
        (trigger, (min(row.time, TIME_NS_MAX), row.graph, _own_nodes(row.triples, row.graph)))
        for trigger, row in found
        if row.triples is not None and row.graph is not None
    ]
    return [event for _, event in sorted(events, key=lambda pair: pair[0])]


def _own_nodes(triples: Triples, graph: str) -> Triples:
    """A blank node is local to its event."""

    def own(term: Term) -> Term:
        return relabelled(term, lambda label: f"{graph[-32:]}.{label}")

    return frozenset((own(s), own(p), own(o)) for s, p, o in triples)


def evaluate_all(
    queries: Sequence[ast.Query],
    streams: Mapping[str, Arrivals],
    kb: Mapping[str, Iterable[tuple[Term, Term, Term]]] | None = None,
    max_delay_ns: int = 0,
) -> list[list[Row]]:
    """The rows of several queries, some reading the streams that others REGISTER; streams by IRI."""
    events: dict[str, Arrivals] = {}
    for iri, arrivals in streams.items():
        events[iri] = punctual(arrivals, max_delay_ns)[0]
    answers: dict[int, list[Row]] = {}
    derived = {query.register for query in queries if query.register}
    while len(answers) < len(queries):
        ready = [
            index
            for index, query in enumerate(queries)
            if index not in answers and all(s.iri in events or s.iri not in derived for s in query.streams)
        ]
        assert ready, "queries read each other in a circle"
        for index in ready:
            query = queries[index]
            given = {stream.name: events.get(stream.iri, ()) for stream in query.streams}
            # what was late is gone: what is left may be as disordered as it likes
            found = _evaluated(query, given, kb, max_delay_ns=2**62)
            answers[index] = [row for _, row in found]
            if query.register:
                events[query.register] = derive(found)
    return [answers[index] for index in range(len(queries))]
