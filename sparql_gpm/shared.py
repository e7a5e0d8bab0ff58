"""Patterns of many queries, each matched once for a slice of events.

pool = PatternPool(dictionary, evaluator)
mine = pool.add(pattern, background)                            # a pattern equal to one in the pool shares its matcher
solutions = slice_.solutions(StreamPattern(mine.shared, (0,)))  # matched once for this slice

An event that exceeds a bound of the pool has no solution of the pattern, and is reported to the pool's `left_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from sparql_gpm import graph_names
from sparql_gpm.algebra.analysis import uses_background
from sparql_gpm.algebra.canonical import canonical
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.background import Background
from sparql_gpm.bounds import Exceeded, MatchBounds, TooManyTogether
from sparql_gpm.columns import EventBatch, Ids, Mask, RowEvent, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.labels import OnLeftOut, PatternLabel, Supervision
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.needs import Need
from sparql_gpm.matching.row_matcher import RowMatcher
from sparql_gpm.matching.summary import Summary, Survey
from sparql_gpm.pattern import Pattern
from sparql_gpm.slice_events import NamedEvents, SingleEvent

if TYPE_CHECKING:
    from sparql_gpm.counted_matcher import CountedMatcher, Passed

Made = TypeVar("Made")
_Key = tuple[Pattern, Background | None]
Streams = tuple[int, ...]
"""Positions of streams, as `EventBatch.streams` numbers them."""
Entailed = Callable[[EventBatch], EventBatch]
"""Adds the triples that follow from events by some schema."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedPattern:
    """A pattern of a pool, shared by all queries that have it; `pins` are the ids of its constants.

    number  its place among the distinct ones; another pattern may have it once this one was removed
    key     by which the pool finds it; None: it does not
    """

    pool: PatternPool
    number: int
    matcher: Matcher
    key: _Key | None
    pins: tuple[int, ...]
    _row_matchers: dict[tuple[str, ...], RowMatcher | None] = field(default_factory=dict)

    def row_matcher(self, names: Sequence[str]) -> RowMatcher | None:
        """The one row matcher with these columns; None if the pattern needs columns."""
        key = tuple(names)
        if key not in self._row_matchers:
            self._row_matchers[key] = self.matcher.row_matcher(names)
        return self._row_matchers[key]


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A pattern of one query; `names` gives the column of each variable in scope."""

    shared: SharedPattern
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A pattern with the streams on which it is matched."""

    shared: SharedPattern
    streams: Streams
    label: PatternLabel = field(default=PatternLabel(), compare=False)


_Asked = tuple[StreamPattern, bytes]  # with a mask of the events that are set aside for the query that asks


@dataclass(slots=True, eq=False)
class _Results:
    """Everything that is found in the events of a slice once, and the events to report when `reporting` ends.

    exceeded    the events over a bound among those whose solutions are there: each query that reads them reports them
    """

    surveys: dict[PatternPool, Survey] = field(default_factory=dict)
    touched: dict[PatternPool, tuple[Set[int], Set[Need] | None]] = field(default_factory=dict)
    masks: dict[Streams, Mask] = field(default_factory=dict)
    solutions: dict[_Asked, Solutions] = field(default_factory=dict)
    with_solutions: dict[tuple[_Asked, ...], NamedEvents] = field(default_factory=dict)
    entailed: dict[Entailed, Slice] = field(default_factory=dict)
    made: dict[Callable[[EventBatch], object], object] = field(default_factory=dict)
    left_out: list[tuple[PatternPool, PatternLabel, Exceeded]] = field(default_factory=list)
    exceeded: dict[_Asked, list[Exceeded]] = field(default_factory=dict)


class Slice:
    """Events in merged order with the solutions found in them, shared by all queries that read them.

    It must not outlive the ids of its batch, nor a change of the background knowledge.
    """

    __slots__ = ("_batch", "_each", "_made_results", "_rows")

    def __init__(self, events: EventBatch | RowEvent | Sequence[RowEvent]) -> None:
        self._batch: EventBatch | None = None
        self._rows: Sequence[RowEvent] = ()
        if isinstance(events, EventBatch):
            self._batch = events
        else:
            self._rows = (events,) if isinstance(events, RowEvent) else events
        self._each: list[SingleEvent] | None = None
        self._made_results: _Results | None = None

    def __len__(self) -> int:
        return len(self._rows) or len(self.batch)

    @property
    def batch(self) -> EventBatch:
        """The events as columns."""
        if self._batch is None:
            self._batch = EventBatch.concatenate([event.batch for event in self._rows])
        return self._batch

    def each(self) -> Sequence[SingleEvent]:
        """The events one by one."""
        if self._each is None:
            self._each = [SingleEvent(event) for event in self._rows or RowEvent.each_of(self.batch)]
        return self._each

    @property
    def last_time(self) -> int:
        """The time of the last event; there must be one."""
        return self._rows[-1].time if self._rows else self.batch.times.item(-1)

    def entailed(self, by: Entailed | None) -> Slice:
        """The same events with the triples that follow; None: the slice itself."""
        if by is None:
            return self
        if by not in self._results.entailed:
            self._results.entailed[by] = Slice(by(self.batch))
        return self._results.entailed[by]

    def made(self, by: Callable[[EventBatch], Made]) -> Made:
        """The result of a function of the events, computed once."""
        if by not in self._results.made:
            self._results.made[by] = by(self.batch)
        return cast(Made, self._results.made[by])

    def halves(self, whole_times: bool) -> Sequence[Slice]:
        """The events in two slices, `whole_times`: those of one time in one; as they are where they cannot be cut."""
        batch = self.batch
        cut = len(batch) // 2
        if whole_times and cut:
            begin, end = (int(np.searchsorted(batch.times, batch.times[cut], side)) for side in ("left", "right"))
            cut = begin or end
        if not 0 < cut < len(batch):
            return [self]
        return [Slice(batch.between(0, cut)), Slice(batch.between(cut, len(batch)))]

    @property
    def _results(self) -> _Results:
        """Those so far; an event that goes by itself to a single query has none."""
        if self._made_results is None:
            self._made_results = _Results()
        return self._made_results

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Reports events over a bound at the end, and none of them where TooManyTogether is raised inside."""
        try:
            yield
        except TooManyTogether:
            self._results.left_out.clear()
            raise
        finally:
            for pool, label, exceeded in self._results.left_out:
                pool.left_out(label, self.batch, exceeded)
            self._results.left_out.clear()

    def on(self, streams: Streams) -> Mask:
        """The events on some streams."""
        if streams not in self._results.masks:
            self._results.masks[streams] = np.isin(self.batch.streams, streams)
        return self._results.masks[streams]

    def count(self, streams: Streams) -> int:
        """The number of events on some streams."""
        return int(np.count_nonzero(self.on(streams)))

    def touches(self, pool: PatternPool, patterns: frozenset[int]) -> bool:
        """True if some of these patterns of a pool may have a solution in the events."""
        return not patterns.isdisjoint(self.touched(pool))

    def touched(self, pool: PatternPool) -> Set[int]:
        """The numbers of the patterns of a pool that may have a solution in the events."""
        return self._looked(pool)[0]

    def present(self, pool: PatternPool) -> Set[Need] | None:
        """The needs of the patterns of a pool that some event meets; None: nobody has looked."""
        return self._looked(pool)[1]

    def solutions(self, pattern: StreamPattern) -> Solutions:
        """The solutions of a pattern in the events on its streams, found once."""
        asked = self._asked(pattern)
        if asked not in self._results.solutions:
            on, before = self.on(pattern.streams), len(self._results.left_out)
            self._results.solutions[asked] = self._found(pattern, None if on.all() else on)
            if over := [each for _, _, each in self._results.left_out[before:]]:
                self._results.exceeded[asked] = over
        elif asked in self._results.exceeded:
            self.leave_out(pattern, *self._results.exceeded[asked])
        return self._results.solutions[asked]

    def solutions_among(self, pattern: StreamPattern, wanted: Mask) -> Solutions:
        """The solutions in some of the events; found for these alone unless other queries need the rest."""
        if not self.is_shared(pattern):
            return self._found(pattern, wanted & self.on(pattern.streams))
        found = self.solutions(pattern)
        rows = np.flatnonzero(wanted[found.events])
        return Solutions(found.events[rows], {name: column[rows] for name, column in found.columns.items()})

    def counted(
        self, pattern: StreamPattern, matcher: CountedMatcher, wanted: Mask | None = None
    ) -> tuple[Solutions, Passed]:
        """The solutions of a pattern in the events on its streams, or in some of these, with counts of the events."""
        pool, on = pattern.shared.pool, self.on(pattern.streams)
        some = on if wanted is None else on & wanted
        aside = pool.supervision.looks_at(pattern.label, self.batch)
        some = some if aside is None else some & ~aside
        view, left_out = self._survey(pool).view, partial(self.leave_out, pattern)
        return matcher.match(view, None if some.all() else some, pool.bounds, left_out, None if on.all() else on)

    def is_shared(self, pattern: StreamPattern) -> bool:
        """True if another query has the same pattern, or the solutions are found already."""
        return self._asked(pattern) in self._results.solutions or pattern.shared.pool.uses(pattern.shared) > 1

    def semi_join(self, pattern: StreamPattern, name: str, values: Ids) -> Mask:
        """At least the events on its streams in which a column of its solutions has one of some values."""
        if not len(values):
            return np.zeros(len(self), dtype=np.bool_)
        on, shared = self.on(pattern.streams), pattern.shared
        events = shared.matcher.semi_join(self._survey(shared.pool).view, name, values)
        return on if events is None else on & events

    def with_solutions(self, patterns: tuple[StreamPattern, ...]) -> NamedEvents:
        """The events in which some of these patterns have a solution."""
        asked = tuple(map(self._asked, patterns))
        if asked not in self._results.with_solutions:
            self._results.with_solutions[asked] = self.named([self.solutions(pattern).events for pattern in patterns])
        return self._results.with_solutions[asked]

    def named(self, events: Sequence[Ids]) -> NamedEvents:
        """The events of some columns, each once."""
        some: Mask = np.zeros(len(self), dtype=np.bool_)
        for own in events:
            some[own] = True
        distinct = np.flatnonzero(some)
        return NamedEvents(distinct.tolist(), graph_names.take(self.batch.names, distinct), distinct)

    def leave_out(self, pattern: StreamPattern, *exceeded: Exceeded) -> None:
        """Reports events that exceed a bound in what is made of a pattern's solutions, when `reporting` ends."""
        self._results.left_out += [(pattern.shared.pool, pattern.label, each) for each in exceeded]

    def _asked(self, pattern: StreamPattern) -> _Asked:
        return pattern, pattern.shared.pool.supervision.mask(pattern.label, self.batch)

    def _found(self, pattern: StreamPattern, wanted: Mask | None) -> Solutions:
        shared = pattern.shared
        survey = self._survey(shared.pool)
        if shared.number not in survey.touched:
            return Solutions(_NONE, dict.fromkeys(shared.matcher.variables, _NONE))
        aside = shared.pool.supervision.looks_at(pattern.label, self.batch)
        if aside is not None:
            wanted = ~aside if wanted is None else wanted & ~aside
        return shared.matcher.match(survey.view, wanted, shared.pool.bounds, partial(self.leave_out, pattern))

    def _looked(self, pool: PatternPool) -> tuple[Set[int], Set[Need] | None]:
        """The patterns touched and the needs present; those of a single event are found without columns."""
        if pool not in self._results.touched:
            if self._rows and pool not in self._results.surveys:
                self._results.touched[pool] = pool.looked(self._rows)
            else:
                survey = self._survey(pool)
                self._results.touched[pool] = survey.touched, survey.present
        return self._results.touched[pool]

    def _survey(self, pool: PatternPool) -> Survey:
        if pool not in self._results.surveys:
            self._results.surveys[pool] = pool.surveyed(self.batch)
        return self._results.surveys[pool]


@dataclass(eq=False)
class PatternPool:
    """The distinct patterns of all queries over one dictionary, compiled once each.

    summary     of their needs
    bounds      for each event
    left_out    is called with each event that exceeds one
    supervision of what is matched
    """

    dictionary: Dictionary
    evaluator: ExpressionEvaluator
    bounds: MatchBounds = field(default_factory=MatchBounds)
    left_out: OnLeftOut = lambda label, batch, exceeded: None
    supervision: Supervision = field(default_factory=Supervision)
    summary: Summary = field(default_factory=Summary)
    _summarises: bool = True
    _known: dict[_Key, SharedPattern] = field(default_factory=dict)
    _uses: list[int] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of distinct patterns."""
        return len(self._uses) - len(self._free)

    def __bool__(self) -> bool:
        """An empty pool is true, too."""
        return True

    def add(self, pattern: Pattern, background: Background | None) -> NamedPattern:
        """The pattern, compiled unless an equal one up to names is there; raises BackgroundError.

        Patterns that use background knowledge are shared where `background` is the same object.
        """
        named = self._named(pattern, background)
        self._uses[named.shared.number] += 1
        return named

    def remove(self, named: NamedPattern) -> None:
        """Takes back that a pattern was added; nothing is left of one that nobody uses."""
        shared = named.shared
        self._uses[shared.number] -= 1
        if not self._uses[shared.number]:
            self.summary.remove(shared.number, shared.matcher.needs, shared.matcher.ranges)
            if shared.key is not None:
                del self._known[shared.key]
            self._free.append(shared.number)
            self.dictionary.unpin(shared.pins)

    def give_up_summary(self) -> None:
        """Match every pattern in every batch, to measure the summary."""
        self._summarises = False

    def surveyed(self, batch: EventBatch) -> Survey:
        """The events of a batch for all patterns."""
        if not self._summarises:
            return Survey(BatchView(batch), self._all())
        grouped = self.summary.over(batch)
        return Survey(grouped.view(), self.summary.touched(grouped, self.dictionary), grouped.present)

    def looked(self, events: Sequence[RowEvent]) -> tuple[Set[int], Set[Need] | None]:
        """The patterns that may have a solution in events, and the needs that they meet; None: nobody has looked."""
        if not self._summarises:
            return self._all(), None
        return self.summary.in_events(events, self.dictionary.numbers)

    def uses(self, pattern: SharedPattern) -> int:
        """The number of times that the pattern was added."""
        return self._uses[pattern.number]

    def _named(self, pattern: Pattern, background: Background | None) -> NamedPattern:
        known = canonical(pattern)
        if known is None:
            return NamedPattern(self._compiled(pattern, background, None), {name: name for name in in_scope(pattern)})
        key = (known.pattern, background if uses_background(pattern) else None)
        if key not in self._known:
            self._known[key] = self._compiled(known.pattern, background, key)
        return NamedPattern(self._known[key], known.names)

    def _all(self) -> set[int]:
        return {number for number, uses in enumerate(self._uses) if uses}

    def _compiled(self, pattern: Pattern, background: Background | None, key: _Key | None) -> SharedPattern:
        with self.dictionary.pins() as pins:
            matcher = compile_pattern(pattern, self.dictionary, self.evaluator, background)
        if not self._free:
            self._free.append(len(self._uses))
            self._uses.append(0)
        number = self._free.pop()
        self.summary.add(number, matcher.needs, matcher.ranges)
        return SharedPattern(self, number, matcher, key, tuple(pins))


_NONE: Ids = np.zeros(0, dtype=np.int64)
