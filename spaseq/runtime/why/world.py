"""Everything that partial matches are made of, for one partition: events in merged order, solutions, window."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from arrays.times import AFTER_ALL
from automata.plan.program import ENDLESS, EVENT, FoldValue, IterationValue, Program, Window
from automata.plan.waiting import foreign_variables, watched_variables
from automata.values import UNBOUND
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.conditions import TermConditionEvaluator
from spaseq.runtime.why.places import Lines, Path, Place, lines_of, negated_places, places_of, repetitions_around
from spaseq.runtime.why.runs import Entries, Events, Values, iterated, seen_from

Candidate = tuple[int, Values]
"""An event and a solution of a symbol in it."""
Referred = tuple[tuple[str, int], ...]
"""The values that a condition read: names and term ids, UNBOUND where there is none."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Events in merged order; after the first `count`, those that were late and have no place in it."""

    times: Sequence[int]
    streams: Sequence[int]
    count: int

    def precedes(self, earlier: int, later: int) -> bool:
        """`e < f`: by time, or in order of arrival on one stream."""
        one, other = self.times[earlier], self.times[later]
        return one < other or (one == other and self.streams[earlier] == self.streams[later] and earlier < later)

    def before(self, left: Events, right: Events) -> bool:
        """X < Y: every event of X precedes every event of Y."""
        return all(self.precedes(e, f) for e in left for f in right)


class Solutions:
    """The solutions of one symbol, by event; found by the values of variables that every one of them binds."""

    def __init__(self, candidates: Sequence[Candidate], certain: frozenset[int], times: Sequence[int]) -> None:
        self.all = candidates
        self._certain = sorted(certain)
        self._times = times
        self._indexes: dict[tuple[int, ...], dict[tuple[int, ...], tuple[list[int], list[Candidate]]]] = {}

    def fitting(self, bindings: Values, begin: int, end: int) -> Sequence[Candidate]:
        """Those with times from `begin` to `end` that agree with the bindings in what they certainly bind, in order."""
        key = tuple([variable for variable in self._certain if variable in bindings])
        if key not in self._indexes:
            index: dict[tuple[int, ...], tuple[list[int], list[Candidate]]] = {}
            for candidate in self.all:
                times, found = index.setdefault(tuple([candidate[1][v] for v in key]), ([], []))
                times.append(self._times[candidate[0]])
                found.append(candidate)
            self._indexes[key] = index
        times, found = self._indexes[key].get(tuple([bindings[v] for v in key]), ([], []))
        return found[bisect_left(times, begin) : bisect_right(times, end)]


@dataclass(frozen=True, slots=True)
class Frame:
    """The window over its axis: times, or places in the (sub)stream; half places for events outside a partition.

    first   how many events were before those that are known
    gone    events that are thought away, ascending
    joined  events outside of the substream that are thought into it, ascending
    """

    window: Window
    times: Sequence[int]
    substream: Sequence[int] | None
    first: int
    gone: Sequence[int] = ()
    joined: Sequence[int] = ()

    def on_axis(self, event: int) -> int | Fraction:
        """The place of an event on the window's axis."""
        if not self.window.in_events:
            return self.times[event]
        left_out = bisect_left(self.gone, event)
        if self.substream is None:
            return event + self.first - left_out
        rank = bisect_left(self.substream, event)
        inside = rank < len(self.substream) and self.substream[rank] == event
        before = rank - left_out + bisect_left(self.joined, event)
        return before if inside or _has(self.joined, event) else before - Fraction(1, 2)

    def joined_by(self, events: Sequence[int]) -> Frame:
        """The window once some events are in the partition."""
        if self.substream is None or not self.window.in_events:
            return self
        return replace(self, joined=sorted({event for event in events if not _has(self.substream, event)}))

    def without(self, gone: Sequence[int]) -> Frame:
        """The window once some events are thought away."""
        inside = [event for event in gone if self.substream is None or _has(self.substream, event)]
        return replace(self, gone=sorted(inside))

    def holds(self, events: Sequence[int]) -> bool:
        """True if all the events fall into one window."""
        values = [self.on_axis(event) for event in events]
        if not values:
            return True
        if self.window.sliding:
            spread = max(values) - min(values)
            return spread < self.window.size if self.window.in_events else spread <= self.window.size
        return self._covered(min(values), max(values))

    def _covered(self, least: int | Fraction, most: int | Fraction) -> bool:
        """True if one of the windows that tumble or hop has both."""
        window, period = self.window, self.window.period
        last = (least - window.start) // period
        if window.anchored and last < 0:
            return False
        first = (most - window.start - window.size) // period + 1
        return max(first, 0 if window.anchored else first) <= last

    def covers(self, match: Sequence[int], event: int) -> bool:
        """True if an event is in the window of a complete match, as `!` at an edge asks."""
        value, places = self.on_axis(event), [self.on_axis(one) for one in match]
        first, last, size = min(places), max(places), self.window.size
        if not self.window.sliding:
            return self._covered(min(first, value), max(first, value))
        if self.window.in_events:
            return last - size < value < first + size
        return last - size <= value <= first + size

    def windows(self, events: Sequence[int]) -> list[int]:
        """The beginnings of the windows that hop and have all these events, on the axis."""
        window, places = self.window, [self.on_axis(event) for event in events]
        last = int((min(places) - window.start) // window.period)
        first = int((max(places) - window.start - window.size) // window.period) + 1
        first = max(first, 0) if window.anchored else first
        return [window.start + number * window.period for number in range(first, last + 1)]

    def bounds(self, match: Sequence[int]) -> tuple[int, int]:
        """The first and the last time in the window of a complete match; of a window of events, those of its events."""
        window, times = self.window, [self.times[event] for event in match]
        if window.in_events:
            places: Sequence[int] = range(len(self.times)) if self.substream is None else self.substream
            covered = [self.times[event] for event in places if self.covers(match, event)]
            return min(covered), max(covered)
        if window.sliding:
            return max(times) - window.size, min(times) + window.size
        end = self.last_time(match[0])
        return end + 1 - window.size, end

    def last_time(self, first: int) -> int:
        """A time after which no event shares a window with an event; AFTER_ALL where only counting tells."""
        window, time = self.window, self.times[first]
        if window.in_events:
            return AFTER_ALL
        if window.sliding:
            return time + window.size
        return window.start + (time - window.start) // window.period * window.period + window.size - 1


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """One query over its events, in one partition.

    solutions   by symbol
    given       the partition's variables
    substream   the positions that `,`, STRICT and EVENTS look at; None: all
    negated     by number of `!` and `?`, what must not occur
    watched     of each condition, the variables whose rebinding makes it be checked again
    foreign     of each condition, the variables that it may wait for
    gone        events that are thought away
    left_out    conditions that are thought away
    """

    compiled: Compiled
    conditions: TermConditionEvaluator
    merged: Merged
    solutions: Mapping[int, Solutions]
    given: Values
    substream: Sequence[int] | None
    frame: Frame
    root: Place
    lines: Lines
    negated: Mapping[int, Place]
    loops: Mapping[int, frozenset[int]]
    foreign: Sequence[frozenset[int]]
    watched: Sequence[frozenset[int]]
    owned: Sequence[tuple[int, ...]]
    waiting: tuple[int, ...]
    at_end: tuple[int, ...]
    gone: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    _decided: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @property
    def program(self) -> Program:
        """The program of the query."""
        return self.compiled.program

    def next_time(self, last: Events) -> int:
        """The time of the first event after some events in the substream; AFTER_ALL if there is none."""
        merged, begin = self.merged, min(last)
        places: Sequence[int] = range(merged.count) if self.substream is None else self.substream
        for place in range(bisect_left(places, begin), len(places)):
            if places[place] not in self.gone and merged.before(last, (places[place],)):
                return merged.times[places[place]]
        return AFTER_ALL

    def in_window(self, begin: int) -> World:
        """The same in one of the windows that overlap, by its beginning."""
        window = replace(self.frame.window, start=begin, hop=None, anchored=False)
        return replace(self, frame=replace(self.frame, window=window))

    def without(self, gone: frozenset[int]) -> World:
        """The same without some events."""
        return replace(self, gone=gone, frame=self.frame.without(sorted(gone)))

    def relaxed(self, endless: bool, conditions: Sequence[int]) -> World:
        """The same without some conditions, and if so wished in a window without an end."""
        frame = replace(self.frame, window=ENDLESS) if endless else self.frame
        return replace(self, frame=frame, left_out=frozenset(conditions))

    def between(self, left: Events, right: Events) -> int | None:
        """An event of the substream strictly between two sets of events, the first one."""
        merged = self.merged
        places: Sequence[int] = range(merged.count) if self.substream is None else self.substream
        for place in range(bisect_left(places, min(left)), len(places)):
            event = places[place]
            if merged.times[event] > merged.times[min(right)]:
                return None
            if event not in self.gone and merged.before(left, (event,)) and merged.before((event,), right):
                return event
        return None

    def holds(self, condition: int, entries: Entries, path: Path, event: int) -> bool:
        """True if a condition holds, as seen from the iterations `path`; `event`: that of its step."""
        if condition in self.left_out:
            return True
        referred = self.referred(condition, entries, path)
        needs_event = self.program.conditions[condition].needs_event
        key = (condition, referred, event if needs_event else None)
        if key not in self._decided:
            references = self.program.conditions[condition].references
            columns = {r: np.array([value]) for r, (_, value) in zip(references, referred, strict=True)}
            if needs_event:
                columns[EVENT] = np.array([event])
            self._decided[key] = bool(self.conditions.holds(condition, columns, 1)[0])
        return self._decided[key]

    def referred(self, condition: int, entries: Entries, path: Path) -> Referred:
        """The values that a condition reads, by name."""
        seen = seen_from(entries, path, self.given)
        found = []
        for reference in self.program.conditions[condition].references:
            if isinstance(reference, int):
                value = seen.get(reference, UNBOUND)
            else:
                value = self._iterated(reference, entries, path)
            found.append((self.compiled.name(reference), value))
        return tuple(found)

    def _iterated(self, reference: IterationValue | FoldValue, entries: Entries, path: Path) -> int:
        series = iterated(reference.variable, entries, path, self.loops.get(reference.variable, frozenset()))
        bound = [value for value in series if value is not None]
        if isinstance(reference, FoldValue):
            return self.conditions.fold_one(reference, tuple(bound))
        if reference.kind == "PREV":
            return (series[-2] or UNBOUND) if len(series) > 1 else UNBOUND
        if not bound:
            return UNBOUND
        return bound[0] if reference.kind == "FIRST" else bound[-1]


def _has(ascending: Sequence[int], event: int) -> bool:
    place = bisect_left(ascending, event)
    return place < len(ascending) and ascending[place] == event


def worlds(
    compiled: Compiled,
    conditions: TermConditionEvaluator,
    merged: Merged,
    solutions: Mapping[int, Sequence[Candidate]],
    first: int,
) -> Iterator[World]:
    """One world for each value of the partition's variables, by first event; one without PARTITION BY.

    Where nothing binds these variables there is one in which no step can be taken.
    first   how many events were before those that are known: none where a partition counts its events
    """
    program = compiled.program
    timely = {symbol: [c for c in found if c[0] < merged.count] for symbol, found in solutions.items()}
    if not program.partition:
        yield _world(compiled, conditions, merged, timely, {}, None, first)
        return
    telling = [program.using] if program.using >= 0 else list(timely)
    members: dict[tuple[int, ...], set[int]] = {}
    for symbol in telling:
        for event, values in timely[symbol]:
            key = tuple([values.get(v, UNBOUND) for v in program.partition])
            if UNBOUND not in key:
                members.setdefault(key, set()).add(event)
    if not members:
        yield _world(compiled, conditions, merged, timely, {}, (), first)
    for key, events in sorted(members.items(), key=lambda pair: min(pair[1])):
        given = dict(zip(program.partition, key, strict=True))
        own = {
            symbol: [(e, values) for e, values in found if all(values.get(v, given[v]) == given[v] for v in given)]
            for symbol, found in timely.items()
        }
        yield _world(compiled, conditions, merged, own, given, sorted(events), first)


def _world(
    compiled: Compiled,
    conditions: TermConditionEvaluator,
    merged: Merged,
    solutions: Mapping[int, Sequence[Candidate]],
    given: Values,
    substream: Sequence[int] | None,
    first: int,
) -> World:
    program = compiled.program
    root = places_of(program.expression)
    scopes = {number: symbol.scope for number, symbol in enumerate(program.symbols)}
    foreign = [foreign_variables(program, condition) for condition, _ in enumerate(program.conditions)]
    of_match = [number for number, condition in enumerate(program.conditions) if condition.symbol < 0]
    return World(
        compiled,
        conditions,
        merged,
        {s: Solutions(found, program.symbols[s].certain, merged.times) for s, found in solutions.items()},
        given,
        substream,
        Frame(compiled.query.window, merged.times, substream, first),
        root,
        lines_of(root),
        negated_places(root),
        repetitions_around(root, scopes),
        foreign,
        [watched_variables(program, condition) for condition, _ in enumerate(program.conditions)],
        [
            tuple(n for n, condition in enumerate(program.conditions) if condition.symbol == symbol)
            for symbol in range(len(program.symbols))
        ],
        tuple(n for n in of_match if not program.conditions[n].at_end),
        tuple(n for n in of_match if program.conditions[n].at_end),
    )
