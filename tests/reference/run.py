"""A partial match, and the negations that it has passed (specification 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.gpm import Condition
from tests.reference.graph import Solution
from tests.reference.shape import Loop, Path
from tests.reference.stream import Event, Events
from tests.reference.view import Entries, Entry


@dataclass(frozen=True, slots=True)
class Gap:
    """A negation passed: nothing that matches lies strictly between the neighbouring positive steps.

    before, after   their event sets; None where there is none: the window's bound
    limit           nothing later than so long after `before` is looked at; of a leading one, nothing so long before
                    `after`
    """

    place: int
    path: Path
    before: Events | None
    after: Events | None
    limit: int | None = None

    def looks_at(self, event: Event) -> bool:
        """Whether the limit lets the negation look at an event."""
        if self.limit is None:
            return True
        if self.before is not None:
            return event.time <= time_of_last(self.before) + self.limit
        assert self.after is not None
        return event.time >= min(first.time for first in self.after) - self.limit


@dataclass(frozen=True, slots=True)
class End:
    """A possessive repetition that was left: no complete iteration more lies before the next positive step.

    loop    the repetition, in the iterations `path`, left after `done` iterations
    run     the partial match at that time
    after   the events of the next positive step taken; None where there is none: the match's window
    beside  (limit, events taken inside) of limited steps around an ALL( ) that it ends a member of
    """

    loop: Loop
    path: Path
    done: int
    run: Run
    after: Events | None
    beside: tuple[tuple[int, Events], ...] = ()

    @property
    def last(self) -> float:
        """The last time at which limits let an event extend it."""
        taken = [entry.event for entry in self.run.entries]
        around = [*((limit, taken[begun:]) for begun, limit in self.run.bounds), *self.beside]
        return min((min(event.time for event in events) + limit for limit, events in around), default=math.inf)


MATCH = -1


@dataclass(frozen=True, slots=True)
class Run:
    """A partial match r.

    start   how many entries there were when this sequence (a member of ALL( ), a negated group) began
    last    e: the events of the last positive step, empty at the start
    owed    (entry, condition) pairs that are still to be decided; entry MATCH: a FILTER beside the DEFINEs
    gaps    negations passed, both neighbours known
    open    negations passed since the last positive step
    bounds  (how many entries there were, limit) where each limited step around the run began
    ends    possessive repetitions left, the next step known
    left    possessive repetitions left since the last positive step
    """

    entries: Entries
    start: int = 0
    last: Events = ()
    owed: frozenset[tuple[int, int]] = frozenset()
    gaps: tuple[Gap, ...] = ()
    open: tuple[Gap, ...] = ()
    bounds: tuple[tuple[int, int], ...] = ()
    ends: tuple[End, ...] = ()
    left: tuple[End, ...] = ()


def time_of_last(events: Events) -> int:
    """The time of the last of some events."""
    return max(event.time for event in events)


def within(bounds: Sequence[tuple[int, int]], events: Sequence[Event]) -> bool:
    """Whether of the events taken inside each limited step the last is soon enough after the first."""
    for begun, limit in bounds:
        times = [event.time for event in events[begun:]]
        if times and max(times) - min(times) > limit:
            return False
    return True


def events_of(chosen: Sequence[tuple[Event, Solution]]) -> Events:
    """The set of events chosen for the members of a step."""
    return tuple(sorted({event for event, _ in chosen}, key=lambda event: event.position))


def rebinds(new: Entry, path: Path, condition: Condition) -> bool:
    """Whether `new` is in a later iteration of a repeated step, in the iterations `path` or outside them."""
    here = dict(path)
    outside = any(loop not in here for loop, _ in new.path)
    visible = all(here.get(loop, iteration) == iteration for loop, iteration in new.path)
    return outside and visible and any(name in condition.watched for name, _ in new.solution)
