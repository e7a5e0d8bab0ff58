"""The repair of each cause of why-not, as the reference sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, map_children
from automata.plan.program import ENDLESS
from sparql_gpm.algebra.parts import parts_of, triple_text, with_parts
from spaseq.lang.ast import Define, Query, TopLevelFilter
from spaseq.outputs.attempts import Attempt
from tests.reference.stream import Events

Detail = Mapping[str, Any]


def without_window(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    return replace(query, window=ENDLESS), events


def loosened(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def loose(node: Any) -> Any:
        node = map_children(node, loose)
        match node:
            case nodes.Sequence(_, operators):
                return replace(node, operators=(Contiguity.ANY,) * len(operators))
            case nodes.Repetition():
                return replace(node, contiguity=Contiguity.ANY)
        return node

    return replace(query, sequence=loose(query.sequence)), events


def without_limits(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def free(node: Any) -> Any:
        node = map_children(node, free)
        match node:
            case nodes.Limited(inner):
                return inner
            case nodes.Sequence():
                return replace(node, limits=())
        return node

    return replace(query, sequence=free(query.sequence)), events


def without_counts(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def once(node: Any) -> Any:
        node = map_children(node, once)
        return replace(node, at_least=1) if isinstance(node, nodes.Repetition) else node

    return replace(query, sequence=once(query.sequence)), events


def bare(text: str) -> str:
    """The expression of a FILTER, without spaces."""
    return "".join(text.split()).removeprefix("FILTER")


def without_filter(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    text = bare(detail.get("text") or detail["filter"])

    def stays(written: TopLevelFilter) -> bool:
        whole = bare(query.text[written.span.start : written.span.end])
        among = "&&" in whole and text.removeprefix("(").removesuffix(")") in whole  # one of several
        return text not in whole and not among

    defines = tuple(replace(d, filters=tuple(f for f in d.filters if stays(f))) for d in query.defines)
    filters = tuple(f for f in query.filters if stays(f))
    if (defines, filters) == (query.defines, query.filters):
        filters = ()  # one that reads a BIND is shown with its expression
    return replace(query, defines=defines, filters=filters), events


def without_part(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    if "filter" in detail:
        return without_filter(query, events, attempt, detail)

    def lacking(define: Define) -> Define:
        parts = parts_of(define.pattern)
        gone = {
            n
            for n, p in enumerate(parts)
            if p.triple is not None and triple_text(p.triple, p.terms) == detail["pattern"]
        }
        return replace(define, pattern=with_parts(define.pattern, set(range(len(parts))) - gone))

    return replace(query, defines=tuple(map(lacking, query.defines))), events


def without_event(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    if "event" not in detail:
        return replace(query, sequence=unpossessive(query.sequence)), events
    gone = detail.get("events", (detail["event"],))
    left = tuple(event for event in events if event.name not in gone)
    return query, tuple(replace(event, position=place) for place, event in enumerate(left))


def unpossessive(node: Any) -> Any:
    node = map_children(node, unpossessive)
    return replace(node, possessive=False) if isinstance(node, nodes.Repetition) else node


def in_order(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    """The events that are to be taken come right after all that have been, at one time."""
    names, known = graphs_of(attempt), {name for _, names in attempt.events for name in names}
    last = max((event.time for event in events if event.name in (known or names)), default=0)
    ends = {event.stream for event in events if event.name in known and event.time == last}
    place = max((event.position for event in events if event.name in known and event.time == last), default=-1)
    later = len(ends | {event.stream for event in events if event.name in names}) > 1
    rank = {event.name: (place, 1) if event.name in names else (event.position, 0) for event in events}
    moved = [replace(event, time=last + later) if event.name in names else event for event in events]
    if later:
        query = _a_nanosecond_longer(query)
    streams = [stream.name for stream in query.streams]
    ordered = sorted(moved, key=lambda event: (event.time, streams.index(event.stream), rank[event.name]))
    return query, tuple(replace(event, position=place) for place, event in enumerate(ordered))


def _a_nanosecond_longer(query: Query) -> Query:
    """With windows that slide and limits in which an event stays that comes so much later."""

    def longer(node: Any) -> Any:
        node = map_children(node, longer)
        match node:
            case nodes.Limited(_, limit):
                return replace(node, limit=replace(limit, size=limit.size + 1))
            case nodes.Sequence():
                limits = (limit and replace(limit, size=limit.size + 1) for limit in node.limits)
                return replace(node, limits=tuple(limits))
        return node

    window = query.window
    if window.sliding and not window.in_events:
        window = replace(window, size=window.size + 1)
    return replace(query, window=window, sequence=longer(query.sequence))


def as_it_is(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    """Nothing: `with_solutions` gives the event other terms, and the solutions of a pattern without a part."""
    return query, events


REPAIRED: Mapping[str, Callable[[Query, Events, Attempt, Detail], tuple[Query, Events]]] = {
    "window": without_window,
    "contiguity": loosened,
    "limit": without_limits,
    "iterations": without_counts,
    "condition": without_filter,
    "pattern": without_part,
    "absence": without_event,
    "extendable": without_event,
    "join": as_it_is,
    "partition": as_it_is,
    "order": in_order,
}
"""The repair of each cause, as the reference sees it."""


def graphs_of(attempt: Attempt) -> set[str | None]:
    """The graphs of the events that an attempt was to take."""
    named = {fault.detail["graph"] for fault in attempt.faults if "graph" in fault.detail}
    ordered = [fault.detail for fault in attempt.faults if fault.cause == "order"]
    return {
        attempt.event,
        *named,
        *(name for detail in ordered for name in detail.get("events", [detail.get("event")])),
    }
