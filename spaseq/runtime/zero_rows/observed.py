"""Observations of a query until its first row: counts of everything, and the solutions in a part of its events.

The kept part is the latest one that fits, or the first full one in which every step has a solution. Nothing is computed
with it before the input has ended; counting costs a few microseconds a slice.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids
from sparql_gpm.columns import RowEvent
from sparql_gpm.matching.unseen import Unseen

_SOLUTIONS_MAX = 4_096
"""Solutions of the kept part."""
_EVENTS_MAX = 1 << 13
"""Events of the kept part."""
_SINGLE_EVENTS = 256
"""Events that were evaluated row at a time are counted when there are so many."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive events in merged order with the solutions of each symbol in them."""

    events: Events
    solutions: Mapping[int, SymbolSolutions]

    @property
    def size(self) -> int:
        """The number of solutions."""
        return sum(len(table.events) for table in self.solutions.values())

    def between(self, begin: int, end: int) -> Part:
        """Events begin … end - 1."""
        cut = {}
        for symbol, table in self.solutions.items():
            rows = slice(*np.searchsorted(table.events, (begin, end)).tolist())
            values = {variable: column[rows] for variable, column in table.values.items()}
            cut[symbol] = SymbolSolutions(table.events[rows] - begin, values)
        return Part(Events(self.events.times[begin:end], self.events.streams[begin:end]), cut)


_Single = list[tuple[int, int, Mapping[int, Sequence[tuple[int, ...]]]]]
"""Time, stream and solutions of events that were evaluated row at a time."""
_Kept = Part | Gap | _Single


@dataclass(slots=True)
class Observed:
    """Observations of one query; `scopes` are the variables of each symbol in ascending order.

    events      by position of the stream in FROM
    solutions   by symbol
    last_time   of the events
    narrowed    symbols that were looked for in part of the events only, as `PatternStage` has them
    whole       the kept part has all events
    unseen      the constants of the steps that no event has had
    """

    scopes: Sequence[Sequence[int]]
    unseen: Unseen
    narrowed: Mapping[int, str]
    events: Counter[int] = field(default_factory=Counter)
    solutions: Counter[int] = field(default_factory=Counter)
    last_time: int | None = None
    whole: bool = True
    _parts: deque[tuple[_Kept, int, int]] = field(default_factory=deque)
    _sizes: tuple[int, int] = (0, 0)
    _full: bool = False
    _single: _Single = field(default_factory=list)

    def on_slice(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        """The next events, with the solutions of each symbol."""
        self._settle()
        self._count(Part(events, solutions))

    def on_event(self, event: RowEvent, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> None:
        """The next event, with the values of each solution of each symbol that has any."""
        self._single.append((event.time, event.stream, solutions))
        if len(self._single) == _SINGLE_EVENTS:
            self._settle()

    def on_gap(self, gap: Gap, streams: Sequence[int]) -> None:
        """The next events, none of which has a solution, and the number of those on each stream."""
        self._settle()
        for stream, count in enumerate(streams):
            self.events[stream] += count
        self.last_time = gap.time
        self.whole &= gap.events <= _EVENTS_MAX
        self._keep(gap, min(gap.events, _EVENTS_MAX), 0)

    def parts(self) -> list[Part]:
        """The kept part."""
        self._settle()
        return [self._in_columns(part) for part, _, _ in self._parts]

    def live_ids(self) -> list[Ids]:
        """Columns of every id of the kept part."""
        self._settle()
        parts = [self._in_columns(part) for part, _, solutions in self._parts if solutions]
        return [c for part in parts for table in part.solutions.values() for c in table.values.values()]

    def _settle(self) -> None:
        """Counts the events that were evaluated row at a time."""
        if not self._single:
            return
        single, self._single = self._single, []
        self.last_time = single[-1][0]
        self.events.update([stream for _, stream, _ in single])
        found = [(s, len(rows)) for _, _, solutions in single if solutions for s, rows in solutions.items()]
        for symbol in range(len(self.scopes)):
            self.solutions[symbol] += sum([count for s, count in found if s == symbol])
        self._keep(single, len(single), sum([count for _, count in found]))

    def _in_columns(self, part: _Kept) -> Part:
        """Events that were evaluated row at a time, or skipped, as columns; those of a gap count, but have no times."""
        if isinstance(part, Part):
            return part
        if isinstance(part, Gap):
            part = [(part.time, 0, {})] * min(part.events, _EVENTS_MAX)
        times, streams, found = zip(*part, strict=True)
        tables = {}
        for symbol, scope in enumerate(self.scopes):
            rows = [(n, values) for n, each in enumerate(found) for values in each.get(symbol, ())]
            columns = np.array([values for _, values in rows], dtype=np.int64).reshape(len(rows), len(scope))
            at = np.array([n for n, _ in rows], dtype=np.int64)
            tables[symbol] = SymbolSolutions(at, dict(zip(scope, columns.T, strict=True)))
        return Part(Events(np.array(times, dtype=np.int64), np.array(streams, dtype=np.int64)), tables)

    def _count(self, part: Part) -> None:
        if not len(part.events):
            return
        for stream, count in enumerate(np.bincount(part.events.streams).tolist()):
            self.events[stream] += count
        for symbol, table in part.solutions.items():
            self.solutions[symbol] += len(table.events)
        self.last_time = int(part.events.times[-1])
        if self._full:
            self.whole = False
            return
        if part.size <= _SOLUTIONS_MAX // 2:
            self._keep(part, len(part.events), part.size)
        else:
            ends = np.sort(np.concatenate([table.events for table in part.solutions.values()]))[:: _SOLUTIONS_MAX // 2]
            cuts = np.unique([0, *(ends[1:] + 1).tolist(), len(part.events)]).tolist()
            for begin, end in pairwise(cuts):
                piece = part.between(begin, end)
                self._keep(piece, len(piece.events), piece.size)

    def _keep(self, part: _Kept, events: int, solutions: int) -> None:
        """Adds to the kept part, which gives up its earliest events unless every symbol has a solution in it."""
        if self._full:
            self.whole = False
            return
        self._parts.append((part, events, solutions))
        self._sizes = self._sizes[0] + events, self._sizes[1] + solutions
        while len(self._parts) > 1 and (self._sizes[0] > _EVENTS_MAX or self._sizes[1] > _SOLUTIONS_MAX):
            self.whole = False
            if len(self._met()) == len(self.scopes):
                self._full = True
                return
            _, fewer_events, fewer = self._parts.popleft()
            self._sizes = self._sizes[0] - fewer_events, self._sizes[1] - fewer

    def _met(self) -> set[int]:
        """The symbols that have a solution in the kept part."""
        met: set[int] = set()
        for part, _, _ in self._parts:
            if isinstance(part, list):
                met.update(symbol for _, _, solutions in part for symbol in solutions)
            elif isinstance(part, Part):
                met.update(symbol for symbol, table in part.solutions.items() if len(table.events))
        return met
