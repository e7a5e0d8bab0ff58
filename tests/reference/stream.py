"""Events, lateness and order (specification 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparql_gpm.terms import Term

Triples = frozenset[tuple[Term, Term, Term]]
Arrivals = Sequence[tuple[int, str, Triples]]
"""(time in nanoseconds, graph name, triples) in the order of arrival on one stream."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One graph with one timestamp on one stream; `position` is its place in the merged order, from 0."""

    position: int
    time: int
    stream: str
    name: str
    triples: Triples


Events = tuple[Event, ...]
"""A set of events, by position."""


def merge(streams: Mapping[str, Arrivals], max_delay_ns: int = 0) -> Events:
    """The merged order: (time, position of the stream in the query's FROM clauses, arrival), late events left out."""
    arrived = [
        (time, rank, arrival, stream, name, triples)
        for rank, (stream, arrivals) in enumerate(streams.items())
        for arrival, (time, name, triples) in enumerate(punctual(arrivals, max_delay_ns)[0])
    ]
    arrived.sort(key=lambda event: event[:3])
    return tuple(
        Event(position, time, stream, name, triples)
        for position, (time, _, _, stream, name, triples) in enumerate(arrived)
    )


def punctual(arrivals: Arrivals, max_delay_ns: int) -> tuple[Arrivals, Arrivals]:
    """(in time, late): late iff more than max delay below the largest time seen on its own stream."""
    kept: list[tuple[int, str, Triples]] = []
    late: list[tuple[int, str, Triples]] = []
    largest: int | None = None
    for event in arrivals:
        largest = event[0] if largest is None else max(largest, event[0])
        (late if event[0] < largest - max_delay_ns else kept).append(event)
    return kept, late


def precedes(earlier: Event, later: Event) -> bool:
    """`e < f` iff time(e) < time(f), or both are on the same stream at equal times and e arrived first."""
    if earlier.time != later.time:
        return earlier.time < later.time
    return earlier.stream == later.stream and earlier.position < later.position


def before(left: Events, right: Events) -> bool:
    """X < Y: every event of X precedes every event of Y; an empty set precedes all."""
    return all(precedes(e, f) for e in left for f in right)
