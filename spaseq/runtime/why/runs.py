"""Partial matches as values, and what a step of one sees (specification 3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arrays.times import AFTER_ALL
from spaseq.runtime.why.places import Before, Path, Place

MATCH = -1
"""The entry that owes a condition of the match."""
Values = Mapping[int, int]
"""variable → term id, without unbound ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One (step, event, ν) of a match.

    step    the number of its place
    event   its position
    """

    symbol: int
    event: int
    values: Values
    step: int
    path: Path


Entries = tuple[Entry, ...]
Events = tuple[int, ...]
"""Positions of events, ascending."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A negation passed: nothing that matches lies strictly between the neighbouring positive steps.

    before, after   their events; None: the window's bound
    limit           nothing later than so long after `before` is looked at; of a leading one, nothing so long before
                    `after`
    """

    place: int
    path: Path
    before: Events | None
    after: Events | None
    limit: int | None

    def looks_at(self, event: int, times: Sequence[int]) -> bool:
        """True if the limit lets the negation look at an event."""
        if self.limit is None:
            return True
        if self.before is not None:
            return times[event] <= max(times[one] for one in self.before) + self.limit
        assert self.after is not None
        return times[event] >= min(times[first] for first in self.after) - self.limit


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """A possessive repetition left after `done` iterations: no complete iteration more before the next positive step.

    run     the partial match at that time
    after   the events of the next positive step taken; None where there is none
    beside  (limit, events taken inside) of limited steps around an ALL( ) that it ends a member of
    """

    loop: Place
    path: Path
    done: int
    run: Run
    after: Events | None
    beside: tuple[tuple[int, Events], ...] = ()

    def last(self, times: Sequence[int]) -> int:
        """The last time at which limits let an event extend it."""
        taken = self.run.events
        around = [*((limit, taken[begun:]) for begun, limit in self.run.bounds), *self.beside]
        return min((min(times[event] for event in events) + limit for limit, events in around), default=AFTER_ALL)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A partial match.

    start   how many entries there were when this sequence (a member of ALL( ), a negated group) began
    last    the events of the last positive step; () at the start
    owed    (entry, condition) pairs still to be decided
    gaps    negations passed, both neighbours known; `open` those since the last positive step
    bounds  (how many entries there were, limit) where each limited step around it began
    ends    possessive repetitions left, the next step known; `left` those since the last positive step
    lacks   repetitions left after too few iterations: it is no partial match, and only says what would come next
    came    its last step; those of the members after an ALL( )
    """

    entries: Entries = ()
    start: int = 0
    last: Events = ()
    owed: frozenset[tuple[int, int]] = frozenset()
    gaps: tuple[Gap, ...] = ()
    open: tuple[Gap, ...] = ()
    bounds: tuple[tuple[int, int], ...] = ()
    ends: tuple[End, ...] = ()
    left: tuple[End, ...] = ()
    lacks: tuple[Place, ...] = ()
    came: tuple[Taken, ...] = ()

    @property
    def events(self) -> tuple[int, ...]:
        """The event of each entry."""
        return tuple([entry.event for entry in self.entries])

    @property
    def identity(self) -> object:
        """The same for the ways in which one match of a partition is reached."""
        return tuple(sorted((e.symbol, e.event, tuple(sorted(e.values.items()))) for e in self.entries))

    @property
    def reach(self) -> tuple[int, int]:
        """The distance that it came: the positive steps taken, then the events."""
        return len({entry.step for entry in self.entries}), len({entry.event for entry in self.entries})

    @property
    def taken(self) -> Iterator[Taken]:
        """Every step that it took, later ones first."""
        waiting, seen = list(self.came), set[Taken]()
        while waiting:
            step = waiting.pop()
            if step not in seen:
                seen.add(step)
                yield step
                waiting += step.run.came


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A step that a run took: the run before it, what its operator asked, and its events."""

    run: Run
    ahead: Before
    events: Events


def seen_from(entries: Sequence[Entry], path: Path, given: Values) -> dict[int, int]:
    """The bindings as seen from the iterations `path`; those of its own come before those from outside.

    A variable first bound inside a repetition is bound afresh at each iteration; outside, it is its value at the last
    iteration, unbound if that left it unbound.
    """
    if any(entry.path for entry in entries):
        latest = _latest(entries)
        visible = [(depth, e) for e in entries if (depth := _depth(e.path, path, latest)) is not None]
        entries = [entry for _, entry in sorted(visible, key=lambda pair: -pair[0])]
    bindings = dict(given)
    for entry in reversed(entries):
        bindings.update(entry.values)
    return bindings


def _latest(entries: Sequence[Entry]) -> dict[tuple[Path, int], int]:
    """Per repetition entered, its last iteration so far."""
    latest: dict[tuple[Path, int], int] = {}
    for entry in entries:
        for depth, (loop, iteration) in enumerate(entry.path):
            key = (entry.path[:depth], loop)
            latest[key] = max(iteration, latest.get(key, 0))
    return latest


def _depth(path: Path, asking: Path, latest: Mapping[tuple[Path, int], int]) -> int | None:
    """The number of repetitions around both; None when the entry is in an iteration that cannot be seen."""
    if path == asking or not path:
        return len(path)
    here, shared = dict(asking), 0
    for depth, (loop, iteration) in enumerate(path):
        if loop in here:
            if here[loop] != iteration:
                return None
            shared += 1
        elif latest[path[:depth], loop] != iteration:
            return None
    return shared


def iterated(variable: int, entries: Sequence[Entry], path: Path, loops: frozenset[int]) -> list[int | None]:
    """The values of a variable per iteration so far, the current one included, of the repetitions that bind it.

    They range over the whole match; iterations after the asking one are not seen.
    """
    reached: dict[Path, int | None] = {}
    for entry in entries:
        for depth, (loop, _) in enumerate(entry.path, start=1):
            if loop in loops and not _later(entry.path[:depth], path):
                reached.setdefault(entry.path[:depth], None)
    for entry in entries:
        value = entry.values.get(variable)
        if entry.path in reached and value is not None:
            reached[entry.path] = value
    return list(reached.values())


def _later(instance: Path, asking: Path) -> bool:
    """True if an iteration comes after the asking one in a repetition around both."""
    for (loop, iteration), (other, current) in zip(instance, asking, strict=False):
        if loop != other:
            return False
        if iteration != current:
            return iteration > current
    return False


def rebinds(new: Entry, path: Path, watched: frozenset[int]) -> bool:
    """True if `new` is in a later iteration, in the iterations `path` or outside them, and binds what is watched."""
    here = dict(path)
    outside = any(loop not in here for loop, _ in new.path)
    visible = all(here.get(loop, iteration) == iteration for loop, iteration in new.path)
    return outside and visible and any(variable in watched for variable in new.values)


def clashes(values: Values, bindings: Values) -> Iterator[int]:
    """The variables that both bind to different terms."""
    return (v for v, value in values.items() if bindings.get(v, value) != value)
