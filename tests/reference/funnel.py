"""The counts of a funnel, made literally: events in which a step's pattern, cut off after each part, has a solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from automata.plan.expression import Contiguity
from sparql_gpm.algebra.stages import Kind, Stage
from sparql_gpm.pattern import BGP, EMPTY, Extend, Filter, Join, LeftJoin, Minus, Pattern, Triple
from tests.reference.gpm import Gpm, dataset_of
from tests.reference.graph import Solution, compatible, solutions
from tests.reference.run import MATCH, Run, events_of, time_of_last, within
from tests.reference.sequence import Before, Search, Then
from tests.reference.shape import Loop, Node, Path, Take, firsts, variants
from tests.reference.stream import Event, Events, Triples, before
from tests.reference.view import seen_from
from tests.reference.world import World

Solves = Callable[[Pattern], bool]


def cut_off(parts: Sequence[Stage]) -> Pattern:
    """The pattern of the first parts alone."""
    found: Pattern = EMPTY
    for part in parts:
        node = part.node
        if isinstance(node, BGP) and isinstance(found, BGP):
            found = BGP((*found.triples, *node.triples))
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
    return [sum(has(part.node) for has in events) if _is_plain(part.node) else None for part in parts]


def _is_plain(pattern: Pattern) -> bool:
    return isinstance(pattern, BGP) and bool(pattern.triples) and isinstance(pattern.triples[0], Triple)


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


CAUSES = ("join", "condition", "limit", "window", "contiguity", "iterations", "end")
"""The causes of `edges_lost`, in the order in which they are looked for."""
Chosen = tuple[tuple[Event, Solution], ...]
"""Events at one time, one for each member of a step, with their solutions."""


@dataclass(frozen=True, slots=True)
class _Trying(Search):
    """Notes each partial match at each edge that it waits at, once.

    lost    what it was lost by; None: an event extended it over the edge
    begun   of the edges from the start: whether an event took it, and what was tried
    barred  entered where the repetitions do not let a partial match take the edge
    """

    lost: dict[tuple[Any, ...], str | None] = field(default_factory=dict)
    begun: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    barred: list[None] = field(default_factory=list)

    def walk(self, node: Node, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        if isinstance(node, Take):
            for members in node.alternatives:
                self._wait(node, members, run, path, ahead)
            if self.barred:
                return
        yield from Search.walk(self, node, run, path, ahead, then)

    def iterate(self, loop: Loop, done: int, run: Run, path: Path, then: Then) -> Iterator[Run]:
        """As ever; it also waits at the edges that it may not take: too few iterations, or as many as it may have."""
        if done + 1 < loop.at_least:
            self._bar(then(run))
        if loop.at_most is not None and done + 1 >= loop.at_most > 1:
            inside: Path = (*path, (loop.place, done + 1))
            for variant in variants(loop.inner):
                ahead = Before(loop.between, None, firsts(variant, inside, None))
                self._bar(self.walk(variant, run, inside, ahead, lambda _: iter(())))
        yield from Search.iterate(self, loop, done, run, path, then)

    def complete(self, run: Run) -> Iterator[Run]:
        if not self.barred:
            yield from Search.complete(self, run)

    def _bar(self, ways: Iterator[Run]) -> None:
        self.barred.append(None)
        for _ in ways:
            pass
        self.barred.pop()

    def _wait(self, take: Take, members: Sequence[str], run: Run, path: Path, ahead: Before) -> None:
        label = " & ".join(members)
        if not run.entries:
            self.begun.setdefault(label, []).extend(self._begins(take, members, run, path))
            return
        entries = tuple((e.step, e.event.position, e.solution, e.place, e.path) for e in run.entries)
        key = (_last_step(run), label, entries, take.place, path)
        if key not in self.lost:
            self.lost[key] = self._cause(take, members, run, path, ahead)

    def _begins(self, take: Take, members: Sequence[str], run: Run, path: Path) -> Iterator[tuple[int, str | None]]:
        """By position, what kept the partition's empty match from beginning with an event; None: nothing."""
        for chosen in self._sets(members, run):
            event = events_of(chosen)[0].position
            if self.extend(run, take, members, chosen, path) is not None:
                yield event, None
            elif (cause := self._of(take, members, run, path, Before(None, None, ()), chosen)) != "join":
                yield event, cause

    def _cause(self, take: Take, members: Sequence[str], run: Run, path: Path, ahead: Before) -> str | None:
        if self.barred:
            return "iterations"
        own = [n for n, _ in enumerate(take.alternatives) if take.alternatives[n] == members]
        for events, longer in self.extensions(run, take, path, ahead.limit):
            added = tuple(entry.step for entry in longer.entries[len(run.entries) :])
            if own and added == tuple(members) and self.allowed(ahead, run, events):
                return None
        if ahead.op is Contiguity.NEXT and any(self.extensions(run, *rival) for rival in ahead.rivals):
            return "contiguity"
        tries = sorted(self._sets(members, run), key=_first_position)
        ending = [chosen for chosen in tries if self._outside(run, ahead, chosen)][:1]
        if ahead.op is Contiguity.STRICT:
            following = [event.position for event in self.world.substream if before(run.last, (event,))]
            if following and (not ending or following[0] <= _first_position(ending[0])):
                tries = [chosen for chosen in tries if self._is_near(run, chosen)]
                if not tries:
                    return "contiguity"
                ending = tries[-1:]
        else:
            ending = ending or tries[-1:]
        if not ending:
            return "end"
        last = [chosen for chosen in tries if _first_position(chosen) == _first_position(ending[0])]
        return max((self._of(take, members, run, path, ahead, chosen) for chosen in last), key=CAUSES.index)

    def _sets(self, members: Sequence[str], run: Run) -> list[Chosen]:
        """What comes after a run and goes together as a step, inside some window."""
        found = []
        for chosen in self.simultaneous(members, run):
            nu: dict[str, Any] = {}
            for _, solution in chosen:
                if not compatible(dict(solution), nu):
                    break
                nu |= dict(solution)
            else:
                if self.admits(events_of(chosen)):
                    found.append(chosen)
        return found

    def _is_near(self, run: Run, chosen: Chosen) -> bool:
        """Whether events of the partition stand right after a run."""
        own = all(compatible(dict(solution), self.world.given) for _, solution in chosen)
        return own and self.world.contiguous(run.last, events_of(chosen))

    def _outside(self, run: Run, ahead: Before, chosen: Chosen) -> bool:
        return self._exceeds(run, ahead, chosen) or not self.admits([*_events(run), *events_of(chosen)])

    def _exceeds(self, run: Run, ahead: Before, chosen: Chosen) -> bool:
        """Whether a limit keeps events out."""
        late = ahead.limit is not None and events_of(chosen)[0].time - time_of_last(run.last) > ahead.limit
        return late or not within(run.bounds, [*_events(run), *events_of(chosen)])

    def _of(self, take: Take, members: Sequence[str], run: Run, path: Path, ahead: Before, chosen: Chosen) -> str:
        """The first cause that holds for events."""
        seen = seen_from(run.entries, path, self.world.given)
        if not all(compatible(dict(solution), seen) for _, solution in chosen):
            return "join"
        anywhere = replace(self, admits=lambda _: True)
        if anywhere.extend(replace(run, bounds=()), take, members, chosen, path) is None:
            return "condition"
        if run.entries and self._exceeds(run, ahead, chosen):
            return "limit"
        return "contiguity" if self.admits([*_events(run), *events_of(chosen)]) else "window"


def edges_lost(worlds: Sequence[World]) -> dict[tuple[str, str], Counter[str]]:
    """By edge of all partitions, the partial matches that no event extends over it, by cause.

    The last event tried is the first that has a solution of the step, comes after the partial match and exceeds a
    limit or the window; where there is none the last one after it. Under `,` only events of the partition right after
    it are tried, if they come no later, and any other one there is in the way; under `;` one that takes another branch
    is. Where the repetitions do not let it take the edge, nothing is tried. The start has one partial match, whatever
    the partitions.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    begun: dict[str, list[tuple[int, str | None]]] = {}
    for world in worlds:
        search = _Trying(world, world.frame.holds)
        owed = frozenset((MATCH, which) for which, _ in enumerate(world.waiting))
        for _ in search.matches(world.root, Run((), owed=owed), ()):
            pass
        for (source, target, *_), cause in search.lost.items():
            found.setdefault((source, target), Counter())
            if cause is not None:
                found[source, target][cause] += 1
        for target, tried in search.begun.items():
            begun.setdefault(target, []).extend(tried)
    for target, tried in begun.items():
        last = [cause for event, cause in tried if event == max(event for event, _ in tried)]
        causes = [cause for cause in last if cause is not None] or ["end"]
        took = any(cause is None for _, cause in tried)
        found["start", target] = Counter() if took else Counter([max(causes, key=CAUSES.index)])
    return found


def _events(run: Run) -> list[Event]:
    return [entry.event for entry in run.entries]


def _first_position(chosen: Chosen) -> int:
    return min(event.position for event, _ in chosen)
