"""The counts of a funnel, made literally: events in which a step's pattern, cut off after each part, has a solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparql_gpm.algebra.stages import Kind, Stage
from sparql_gpm.pattern import BGP, EMPTY, Extend, Filter, Join, LeftJoin, Minus, PathTriple, Pattern, Triple
from tests.reference.gpm import Gpm, dataset_of
from tests.reference.graph import solutions
from tests.reference.run import MATCH, Run
from tests.reference.sequence import Before, Search, Then
from tests.reference.shape import Node, Path, Take
from tests.reference.stream import Event, Events, Triples
from tests.reference.world import World

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


@dataclass(frozen=True, slots=True)
class _Taking(Search):
    """Notes each partial match when its last step is taken: the steps on both sides of the edge, and what it is."""

    taken: set[tuple[str, str, tuple[Any, ...]]] = field(default_factory=set)

    def walk(self, node: Node, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        def noted(longer: Run) -> Iterator[Run]:
            before = _last_step(run) or "start"
            entries = [(e.step, e.event.position, e.solution, e.place, e.path) for e in longer.entries]
            self.taken.add((before, _last_step(longer), tuple(entries)))
            return then(longer)

        yield from Search.walk(self, node, run, path, ahead, noted if isinstance(node, Take) else then)


def edges_taken(world: World) -> Counter[tuple[str, str]]:
    """The partial matches of one partition by their last two steps, each counted once however it is reached."""
    return Counter((before, last) for before, last, _ in _taken(world))


def partial_matches(world: World) -> set[tuple[tuple[str, str], ...]]:
    """The steps and graph names of the events of every partial match of one partition, sorted."""
    names = {event.position: event.name for event in world.events}
    return {tuple(sorted((step, names[at]) for step, at, *_ in entries)) for _, _, entries in _taken(world)}


def _taken(world: World) -> set[tuple[str, str, tuple[Any, ...]]]:
    search = _Taking(world, world.frame.holds)
    owed = frozenset((MATCH, which) for which, _ in enumerate(world.waiting))
    for _ in search.matches(world.root, Run((), owed=owed), ()):
        pass
    return search.taken


def _last_step(run: Run) -> str:
    """The names of the steps that took the last events of a partial match, as in `A & B`."""
    if not run.entries:
        return ""
    last = run.entries[-1]
    together = [e.step for e in run.entries if (e.place, e.path) == (last.place, last.path)]
    return " & ".join(together)
