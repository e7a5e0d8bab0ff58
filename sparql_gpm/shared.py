"""Patterns of many queries, each matched once a slice of events however many queries it stands in.

pool = PatternPool(dictionary, evaluator)
mine = pool.add(pattern, background)                    # equal to one that is there already: the same matcher
solutions = slice.solutions(StreamPattern(mine.shared, (0,))) # matched now, or found already with this slice of events
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np

from sparql_gpm import graph_names
from sparql_gpm.algebra.canonical import canonical
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.background import Background
from sparql_gpm.columns import EventBatch, Ids, Mask, RowEvent, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.summary import Summary
from sparql_gpm.pattern import Graph, Pattern, Service

Made = TypeVar("Made")
_LOOKUPS_MIN = 16
"""Where one in so many events of a slice is looked up, all are looked up at once."""
Streams = tuple[int, ...]
"""Positions of streams, as `EventBatch.streams` numbers them."""
Entailed = Callable[[EventBatch], EventBatch]
"""What patterns see of events: with the triples that follow by some schema."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedPattern:
    """A pattern as all queries that have it share it.

    pool        whose it is
    number      which of the distinct patterns of the pool it is
    """

    pool: PatternPool
    number: int
    matcher: Matcher


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A pattern of one query.

    names       of each variable in scope, the name of its column in the solutions
    """

    shared: SharedPattern
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A pattern with the streams that it is looked for on."""

    pattern: SharedPattern
    streams: Streams


@dataclass(frozen=True, slots=True)
class NamedEvents:
    """Events of a slice, ascending, with the names of their graphs."""

    events: Sequence[int]
    names: Sequence[str]
    _told: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, events: Ids) -> list[str]:
        """The names of some of the events, each made once whoever asks; KeyError for others."""
        told, wanted = self._told, events.tolist()
        missing = [event for event in wanted if event not in told]
        if _LOOKUPS_MIN * len(missing) < len(self.events):
            told.update((event, self.name(event)) for event in missing)
        elif missing:
            every = np.array(self.events, dtype=np.int64)
            places = np.minimum(np.searchsorted(every, missing), len(every) - 1)
            if (others := every[places] != missing).any():
                raise KeyError(int(np.array(missing)[others][0]))
            told.update(zip(missing, graph_names.take(self.names, places), strict=True))
        return [told[event] for event in wanted]

    def name(self, event: int) -> str:
        """The name of one of the events; KeyError for another."""
        place = bisect_left(self.events, event)
        if place == len(self.events) or self.events[place] != event:
            raise KeyError(event)
        return self.names[place]


@dataclass(frozen=True, slots=True)
class Survey:
    """The events as the patterns of a pool see them, and which of these may have a solution there."""

    view: BatchView
    touched: set[int]


class Slice:
    """Events in merged order, with what is found in them: shared by all queries that read them, then dropped.

    It must not outlive the ids of its batch, nor a change of the background knowledge.
    """

    def __init__(self, events: EventBatch | RowEvent) -> None:
        self._batch: EventBatch | None = None
        self._event: RowEvent | None = None
        if isinstance(events, RowEvent):
            self._event = events
        else:
            self._batch = events
        self._surveys: dict[PatternPool, Survey] = {}
        self._masks: dict[Streams, Mask] = {}
        self._solutions: dict[StreamPattern, Solutions] = {}
        self._taken: dict[tuple[StreamPattern, ...], NamedEvents] = {}
        self._each: list[RowEvent] | None = None
        self._entailed: dict[Entailed, Slice] = {}
        self._made: dict[Callable[[EventBatch], object], object] = {}

    def __len__(self) -> int:
        return 1 if self._batch is None else len(self._batch)

    @property
    def batch(self) -> EventBatch:
        """The events as columns."""
        if self._batch is None:
            assert self._event is not None
            self._batch = self._event.batch
        return self._batch

    def each(self) -> Sequence[RowEvent]:
        """The events one by one; cut up once."""
        if self._each is None:
            self._each = RowEvent.each_of(self.batch) if self._event is None else [self._event]
        return self._each

    @property
    def last_time(self) -> int:
        """The time of the last event; there must be one."""
        return self._event.time if self._event is not None else self.batch.times.item(-1)

    def entailed(self, by: Entailed | None) -> Slice:
        """The same events with what follows from them; None: nothing does."""
        if by is None:
            return self
        if by not in self._entailed:
            self._entailed[by] = Slice(by(self.batch))
        return self._entailed[by]

    def made(self, by: Callable[[EventBatch], Made]) -> Made:
        """What is made of the events, whatever that is: made once."""
        if by not in self._made:
            self._made[by] = by(self.batch)
        return cast(Made, self._made[by])

    def on(self, streams: Streams) -> Mask:
        """The events on some streams."""
        if streams not in self._masks:
            self._masks[streams] = np.isin(self.batch.streams, streams)
        return self._masks[streams]

    def count(self, streams: Streams) -> int:
        """How many events are on some streams."""
        return int(np.count_nonzero(self.on(streams)))

    def touches(self, pool: PatternPool, patterns: frozenset[int]) -> bool:
        """Whether some of these patterns of a pool may have a solution in the events."""
        return not patterns.isdisjoint(self._survey(pool).touched)

    def solutions(self, asked: StreamPattern) -> Solutions:
        """The solutions of a pattern in the events on some streams; found once."""
        if asked not in self._solutions:
            on = self.on(asked.streams)
            self._solutions[asked] = self._found(asked, None if on.all() else on)
        return self._solutions[asked]

    def solutions_among(self, asked: StreamPattern, wanted: Mask) -> Solutions:
        """Those in some of the events; found for them alone, unless other queries want the rest."""
        if not self.wanted_by_others(asked):
            return self._found(asked, wanted & self.on(asked.streams))
        found = self.solutions(asked)
        rows = np.flatnonzero(wanted[found.events])
        return Solutions(found.events[rows], {name: column[rows] for name, column in found.columns.items()})

    def wanted_by_others(self, asked: StreamPattern) -> bool:
        """Whether some other pattern of a query is the same, or was: then its solutions are found once and for all."""
        return asked in self._solutions or asked.pattern.pool.uses(asked.pattern) > 1

    def semi_join(self, asked: StreamPattern, name: str, values: Ids) -> Mask:
        """At least the events on the pattern's streams where a column of its solutions may have one of some values."""
        if not len(values):
            return np.zeros(len(self), dtype=np.bool_)
        on, pattern = self.on(asked.streams), asked.pattern
        bearing = pattern.matcher.semi_join(self._survey(pattern.pool).view, name, values)
        return on if bearing is None else on & bearing

    def taken(self, asked: tuple[StreamPattern, ...]) -> NamedEvents:
        """The events in which some of these patterns have a solution."""
        if asked not in self._taken:
            self._taken[asked] = self.named([self.solutions(one).events for one in asked])
        return self._taken[asked]

    def named(self, events: Sequence[Ids]) -> NamedEvents:
        """The events of some columns, each once."""
        some: Mask = np.zeros(len(self), dtype=np.bool_)
        for own in events:
            some[own] = True
        distinct = np.flatnonzero(some)
        return NamedEvents(distinct.tolist(), graph_names.take(self.batch.names, distinct))

    def _found(self, asked: StreamPattern, wanted: Mask | None) -> Solutions:
        pattern = asked.pattern
        survey = self._survey(pattern.pool)
        if pattern.number not in survey.touched:
            return Solutions(_NONE, dict.fromkeys(pattern.matcher.variables, _NONE))
        return pattern.matcher.match(survey.view, wanted)

    def _survey(self, pool: PatternPool) -> Survey:
        if pool not in self._surveys:
            self._surveys[pool] = pool.surveyed(self.batch)
        return self._surveys[pool]


class PatternPool:
    """The distinct patterns of all queries over one dictionary, compiled once each.

    summary     what they look for
    """

    def __init__(self, dictionary: Dictionary, evaluator: ExpressionEvaluator) -> None:
        self.summary = Summary()
        self._summarises = True
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._known: dict[tuple[Pattern, Background | None], SharedPattern] = {}
        self._uses: list[int] = []

    def __len__(self) -> int:
        """How many distinct patterns there are."""
        return len(self._uses)

    def __bool__(self) -> bool:
        """Also an empty pool is one."""
        return True

    def add(self, pattern: Pattern, background: Background | None) -> NamedPattern:
        """The pattern, compiled unless one that is equal up to names was; raises BackgroundError.

        Patterns that ask background knowledge are shared where `background` is the same object.
        """
        named = self._named(pattern, background)
        self._uses[named.shared.number] += 1
        return named

    def give_up_summary(self) -> None:
        """Ask every pattern of every batch, to see what the summary saves."""
        self._summarises = False

    def surveyed(self, batch: EventBatch) -> Survey:
        """The events of a batch for all patterns."""
        if not self._summarises:
            return Survey(BatchView(batch), set(range(len(self))))
        grouped = self.summary.over(batch)
        return Survey(BatchView(batch, grouped), self.summary.touched(grouped))

    def uses(self, pattern: SharedPattern) -> int:
        """How often the pattern was added."""
        return self._uses[pattern.number]

    def _named(self, pattern: Pattern, background: Background | None) -> NamedPattern:
        known = canonical(pattern)
        if known is None:
            return NamedPattern(self._compiled(pattern, background), {name: name for name in in_scope(pattern)})
        asks = any(isinstance(node, Graph | Service) for node in walk(pattern))
        key = (known.pattern, background if asks else None)
        if key not in self._known:
            self._known[key] = self._compiled(known.pattern, background)
        return NamedPattern(self._known[key], known.names)

    def _compiled(self, pattern: Pattern, background: Background | None) -> SharedPattern:
        matcher = compile_pattern(pattern, self._dictionary, self._evaluator, background)
        number = len(self._uses)
        self._uses.append(0)
        self.summary.add(number, matcher.needs)
        return SharedPattern(self, number, matcher)


_NONE: Ids = np.zeros(0, dtype=np.int64)
