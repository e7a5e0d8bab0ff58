"""Whole matches: selectors, partitions, AFTER MATCH (specification 3.4, and 3.5 for the order)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from automata.plan.program import Selector, Skip
from tests.reference.run import Run
from tests.reference.sequence import Search
from tests.reference.shape import names
from tests.reference.stream import Event
from tests.reference.view import Entries
from tests.reference.world import World

Moment = tuple[float, int, int | Fraction]
"""When a match is reported: (position of the event that causes it, 0 a deadline or 1 the event itself, deadline)."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match with its positions in the merged order, ascending; `order` is 3.5's order up to the projected values."""

    entries: Entries
    positions: tuple[int, ...]
    moment: Moment
    order: tuple[object, ...]


_Forbids = Callable[[Match, Match], bool]


def matches(world: World) -> list[Match]:
    """Every match of one partition; reached in two ways it is one."""
    search = Search(world, world.frame.holds)
    found: dict[object, Match] = {}
    for run in search.matches(world.root, Run(()), ()):
        match = _match(world, run)
        identity = frozenset(Counter((e.step, e.event.position, e.solution) for e in run.entries).items())
        other = found.get(identity)
        if other is None or (match.moment, _paths(match)) < (other.moment, _paths(other)):
            found[identity] = match
    return list(found.values())


def _paths(match: Match) -> tuple[object, ...]:
    return tuple((entry.place, entry.path) for entry in match.entries)


def _match(world: World, run: Run) -> Match:
    events = sorted({entry.event for entry in run.entries}, key=lambda event: event.position)
    positions = tuple(event.position for event in events)
    moment = _moment(world, events, trailing=bool(run.open))
    by_step = tuple(positions_of(run.entries, step) for step in names(world.root))
    return Match(run.entries, positions, moment, (moment, positions[-1], positions[0], positions, by_step))


def positions_of(entries: Entries, step: str) -> tuple[int, ...]:
    """The positions of a step's events, ascending."""
    return tuple(sorted(entry.event.position for entry in entries if entry.step == step))


def _moment(world: World, events: Sequence[Event], trailing: bool) -> Moment:
    """A trailing `!` is reported when the window has passed or the input has ended.

    A window of time passes for all partitions at once, whichever the event that comes next belongs to.
    """
    if not trailing:
        return events[-1].position, 1, 0
    end, inclusive = world.frame.deadline(events)
    for event in world.substream if world.frame.window.in_events else world.events:
        value = world.frame.on_axis(event)
        if value > end or (value == end and not inclusive):
            return event.position, 0, end
    return math.inf, 0, 0


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


def skip(world: World, found: Sequence[Match]) -> list[Match]:
    """AFTER MATCH over the matches of a partition in output order."""
    match world.query.skip:
        case Skip.NO_SKIP:
            return list(found)
        case Skip.CONSUME_ALL:
            return _consume(found)
        case Skip.TO_NEXT:
            return _walk(found, lambda kept, later: later.positions[0] == kept.positions[0])
        case Skip.PAST_LAST:
            return _walk(found, lambda kept, later: later.positions[0] <= kept.positions[-1])


def _walk(found: Sequence[Match], forbids: _Forbids) -> list[Match]:
    """Matches in report order, without those that a kept earlier one forbids."""
    kept: list[Match] = []
    for match in found:
        if not any(forbids(earlier, match) for earlier in kept):
            kept.append(match)
    return kept


def _consume(found: Sequence[Match]) -> list[Match]:
    """A match survives iff no earlier triggering event lies at or after its first event and before its last."""
    triggers: set[int] = set()
    survivors: list[Match] = []
    for match in sorted(found, key=lambda match: match.positions[-1]):
        if not any(match.positions[0] <= trigger < match.positions[-1] for trigger in triggers):
            triggers.add(match.positions[-1])
            survivors.append(match)
    return [match for match in found if match in survivors]
