"""Whole matches: selectors, partitions, AFTER MATCH (specification 3.4, and 3.5 for the order)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from automata.plan.program import Selector, Skip
from tests.reference.run import MATCH, End, Gap, Run, time_of_last
from tests.reference.sequence import Search
from tests.reference.shape import names
from tests.reference.stream import Event
from tests.reference.view import Entries
from tests.reference.world import World

Time = int | float
"""Nanoseconds; infinite for the end of the input, which is later than all."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match with its positions in the merged order, ascending.

    decided     the event time at which it is decided
    skip_to     positions of the events that it took as the step of SKIP TO, ascending; (0,) for none
    order       the order of 3.5.2 up to the projected values
    """

    entries: Entries
    positions: tuple[int, ...]
    decided: Time
    order: tuple[object, ...]
    skip_to: tuple[int, ...]


def matches(world: World) -> list[Match]:
    """Every match of one partition; reached in two ways it is one."""
    search = Search(world, world.frame.holds)
    found: dict[object, Match] = {}
    owed = frozenset((MATCH, which) for which, _ in enumerate(world.waiting))
    for run in search.matches(world.root, Run((), owed=owed), ()):
        match = _match(world, run)
        identity = frozenset(Counter((e.step, e.event.position, e.solution) for e in run.entries).items())
        other = found.get(identity)
        if other is None or (match.decided, _paths(match)) < (other.decided, _paths(other)):
            found[identity] = match
    return list(found.values())


def _paths(match: Match) -> tuple[object, ...]:
    return tuple((entry.place, entry.path) for entry in match.entries)


def _match(world: World, run: Run) -> Match:
    events = sorted({entry.event for entry in run.entries}, key=lambda event: event.position)
    positions = tuple(event.position for event in events)
    ends = [_gap_end(world, events, gap) for gap in run.open] + [_limit_end(world, events, end) for end in run.left]
    decided = max(ends, default=events[-1].time)
    by_step = tuple(positions_of(run.entries, step) for step in names(world.root))
    order = (decided, positions[-1], positions[0], positions, by_step)
    skip_to = positions_of(run.entries, world.query.skip_to) if world.query.skip_to else ()
    return Match(run.entries, positions, decided, order, skip_to or (0,))


def positions_of(entries: Entries, step: str) -> tuple[int, ...]:
    """The positions of a step's events, ascending."""
    return tuple(sorted(entry.event.position for entry in entries if entry.step == step))


def _gap_end(world: World, events: Sequence[Event], gap: Gap) -> Time:
    """When what a trailing negation looks at has passed: its limit, or the window of the match."""
    window_end = _window_end(world, events)
    if gap.limit is None:
        return window_end
    assert gap.before is not None
    end = time_of_last(gap.before) + gap.limit
    return min(window_end, end if any(event.time > end for event in world.events) else math.inf)


def _limit_end(world: World, events: Sequence[Event], end: End) -> Time:
    """When nothing can extend a possessive repetition at the end any more: a limit around it, or the window, passed."""
    passed = any(event.time > end.last for event in world.events)
    return min(_window_end(world, events), end.last if passed else math.inf)


def _window_end(world: World, events: Sequence[Event]) -> Time:
    """When a match's window has passed; a window of time passes with whichever event comes next in any partition."""
    end, inclusive = world.frame.deadline(events)
    in_events = world.frame.window.in_events
    for event in world.substream if in_events else world.events:
        value = world.frame.on_axis(event)
        if value > end or (value == end and not inclusive):
            return event.time if in_events else int(end)
    return math.inf


def select(world: World, found: Sequence[Match]) -> list[Match]:
    """CEL's strategies, among the matches with the same last position; complex events are sets of positions."""
    rivals: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for match in found:
        rivals[match.positions[-1]].add(match.positions)
    return [match for match in found if _selected(world, match.positions, rivals[match.positions[-1]])]


def _selected(world: World, own: tuple[int, ...], rivals: Iterable[tuple[int, ...]]) -> bool:
    match world.query.selector:
        case Selector.ALL:
            return True
        case Selector.STRICT:
            between = [e for e in world.substream if own[0] <= e.position <= own[-1]]
            return len(between) == len(own)
        case Selector.NEXT:
            return all(min(set(own) ^ set(other)) in own for other in rivals if other != own)
        case Selector.LAST:
            return all(max(set(own) ^ set(other)) in own for other in rivals if other != own)
        case Selector.MAX:
            return not any(set(own) < set(other) for other in rivals)


_FORBIDS: Mapping[Skip, Callable[[Match, Match], bool]] = {
    Skip.NO_SKIP: lambda kept, later: False,
    Skip.TO_NEXT: lambda kept, later: later.positions[0] == kept.positions[0],
    Skip.PAST_LAST: lambda kept, later: later.positions[0] <= kept.positions[-1],
    Skip.TO_FIRST: lambda kept, later: later.positions[0] < kept.skip_to[0],
    Skip.TO_LAST: lambda kept, later: later.positions[0] < kept.skip_to[-1],
    Skip.CONSUME_ALL: lambda kept, later: later.positions[0] <= kept.positions[-1] < later.positions[-1],
}


def skip(world: World, found: Sequence[Match]) -> list[Match]:
    """AFTER MATCH over the matches of a partition in output order: it goes by their triggering events first."""
    kept: list[Match] = []
    for match in sorted(found, key=lambda match: match.positions[-1]):
        if not any(_FORBIDS[world.query.skip](earlier, match) for earlier in kept):
            kept.append(match)
    return kept
