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

from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids
from sparql_gpm.columns import RowEvent
from sparql_gpm.matching.unseen import Unseen

_SOLUTIONS_MAX = 4_096
"""Solutions of the kept part."""
_EVENTS_MAX = 1 << 16
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


@dataclass(slots=True)
class Observed:
    """Observations of one query; `scopes` are the variables of each symbol in ascending order.

    events      by position of the stream in FROM
    solutions   by symbol
    last_time   of the events
    narrowed    symbols that were looked for in part of the events only, as `PatternSolver` has them
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
    _parts: deque[Part] = field(default_factory=deque)
    _sizes: tuple[int, int] = (0, 0)
    _full: bool = False
    _single: list[tuple[int, int, Mapping[int, Sequence[tuple[int, ...]]]]] = field(default_factory=list)

    def on_slice(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        """The next events, with the solutions of each symbol."""
        self._settle()
        self._count(Part(events, solutions))

    def on_event(self, event: RowEvent, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> None:
        """The next event, with the values of each solution of each symbol that has any."""
        self._single.append((event.time, event.stream, solutions))
        if len(self._single) == _SINGLE_EVENTS:
            self._settle()

    def parts(self) -> list[Part]:
        """The kept part."""
        self._settle()
        return list(self._parts)

    def live_ids(self) -> list[Ids]:
        """Columns of every id of the kept part."""
        self._settle()
        return [column for part in self._parts for table in part.solutions.values() for column in table.values.values()]

    def _settle(self) -> None:
        """Counts the events that were evaluated row at a time."""
        if self._single:
            single, self._single = self._single, []
            times, streams, found = zip(*single, strict=True)
            tables = {}
            for symbol, scope in enumerate(self.scopes):
                rows = [(n, values) for n, each in enumerate(found) for values in each.get(symbol, ())]
                columns = np.array([values for _, values in rows], dtype=np.int64).reshape(len(rows), len(scope))
                at = np.array([n for n, _ in rows], dtype=np.int64)
                tables[symbol] = SymbolSolutions(at, dict(zip(scope, columns.T, strict=True)))
            self._count(Part(Events(np.array(times, dtype=np.int64), np.array(streams, dtype=np.int64)), tables))

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
        elif part.size <= _SOLUTIONS_MAX // 2:
            self._keep(part)
        else:
            ends = np.sort(np.concatenate([table.events for table in part.solutions.values()]))[:: _SOLUTIONS_MAX // 2]
            cuts = np.unique([0, *(ends[1:] + 1).tolist(), len(part.events)]).tolist()
            for begin, end in pairwise(cuts):
                self._keep(part.between(begin, end))

    def _keep(self, part: Part) -> None:
        """Adds to the kept part, which gives up its earliest part unless every symbol has a solution in it."""
        if self._full:
            self.whole = False
            return
        events, solutions = self._sizes
        self._parts.append(part)
        self._sizes = events + len(part.events), solutions + part.size
        while len(self._parts) > 1 and (self._sizes[0] > _EVENTS_MAX or self._sizes[1] > _SOLUTIONS_MAX):
            self.whole = False
            met = {symbol for each in self._parts for symbol, table in each.solutions.items() if len(table.events)}
            if len(met) == len(self.scopes):
                self._full = True
                return
            first = self._parts.popleft()
            self._sizes = self._sizes[0] - len(first.events), self._sizes[1] - first.size
