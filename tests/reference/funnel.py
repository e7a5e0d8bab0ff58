"""The counts of a funnel, made literally: events in which a step's pattern, cut off after each part, has a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparql_gpm.algebra.stages import Kind, Stage
from sparql_gpm.pattern import BGP, EMPTY, Extend, Filter, Join, LeftJoin, Minus, PathTriple, Pattern, Triple
from tests.reference.gpm import Gpm, dataset_of
from tests.reference.graph import solutions
from tests.reference.stream import Event, Events, Triples

Solves = Callable[[Pattern], bool]


def cut_off(parts: Sequence[Stage]) -> Pattern:
    """The pattern of the first parts alone."""
    found: Pattern = EMPTY
    for part in parts:
        node = part.node
        if isinstance(node, Triple | PathTriple):
            found = BGP((*found.triples, node)) if isinstance(found, BGP) else Join(found, BGP((node,)))
        elif part.kind is not Kind.OVER:
            found = Join(found, node)
        elif isinstance(node, LeftJoin):
            found = LeftJoin(found, node.right, node.condition)
        elif isinstance(node, Minus):
            found = Minus(found, node.right)
        elif isinstance(node, Extend):
            found = Extend(found, node.variable, node.expression)
        else:
            assert isinstance(node, Filter), node
            found = Filter(node.condition, found)
    return found


def left_over(parts: Sequence[Stage], events: Sequence[Solves]) -> list[int]:
    """For each part the number of events with a solution of it and all before; an event tells if a pattern has one."""
    return [sum(has(cut_off(parts[: place + 1])) for has in events) for place in range(len(parts))]


def alone(parts: Sequence[Stage], events: Sequence[Solves]) -> list[int | None]:
    """For each triple pattern the number of events with a solution of it alone; None for other parts, and paths."""
    return [sum(has(BGP((part.node,))) for has in events) if isinstance(part.node, Triple) else None for part in parts]


def solving(gpm: Gpm, events: Events, named: Mapping[str, Triples]) -> list[Solves]:
    """The events on the streams of a GPM."""

    def of(event: Event) -> Solves:
        return lambda pattern: bool(solutions(pattern, dataset_of(event, named)))

    return [of(event) for event in events if event.stream in gpm.streams]
