"""Cells by window and key: an event advances those of its windows, and a window that has passed is closed."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple, Protocol

from arrays.times import AFTER_ALL
from automata.plan.program import Program
from automata.propagation.cells import Cell, Cells, Taken, Vector
from automata.state import State

Key = tuple[int, ...]
Numbering = Callable[[int], int]


class Found(NamedTuple):
    """All matches of one reporting unit and key.

    unit    number of the window; the position of the triggering event where windows slide
    """

    unit: int
    key: Key
    vector: Vector


class HeldEvent(NamedTuple):
    """An event in a sliding window, with the solutions that have the key."""

    key: Key
    time: int
    position: int
    taken: Taken


class Moment(NamedTuple):
    """The time and the position of an event."""

    time: int
    position: int


class Windows(Protocol):
    """The cells of one query."""

    def add(self, moment: Moment, keys: Mapping[Key, Taken]) -> Iterable[Found]:
        """The next event: all that it completes or, passing the end of a window, closes."""

    def reached(self, moment: Moment) -> Iterable[Found]:
        """All that is closed once an event has come that nothing was asked of."""

    def passed(self, time: int) -> Iterable[Found]:
        """All that is closed once no event at or before `time` will come."""

    def finish(self) -> Iterable[Found]:
        """All that is left."""

    def cells(self) -> Iterator[tuple[Key, Cell]]:
        """Every cell with its key."""

    def oldest(self) -> int | None:
        """The least time of the first event of a match to come that has begun; None: none has."""

    def retire(self, moment: Moment) -> int:
        """Begins nothing that another evaluator may begin, from this event on; returns the first window of that one."""

    def may_begin(self, moment: Moment) -> bool:
        """True if it has retired, and from this event on a window or match may still begin that is its own."""

    def resume(self) -> None:
        """Begins all again."""

    def twin(self) -> Windows:
        """The same cells, to be told with others."""

    def stored(self, number: Numbering) -> State:
        """The cells as plain values; `number` stands for an id."""

    def restore(self, state: Any, identifier: Numbering) -> None:
        """The cells again."""


class AlignedWindows(Windows):
    """Tumbling and hopping windows, of time or of events: a cell for each window and key."""

    def __init__(self, program: Program, cells: Cells, openers: frozenset[int], consecutive: bool) -> None:
        self._program = program
        self._window = program.window
        self._hop = self._window.period
        self._cells = cells
        self._openers = openers
        self._consecutive = consecutive
        self._open: dict[int, dict[Key, Cell]] = {}
        self._next_end = AFTER_ALL
        self._count = 0
        self._begun = AFTER_ALL  # the last window that may begin here

    def add(self, moment: Moment, keys: Mapping[Key, Taken]) -> Iterable[Found]:
        found = self.reached(moment)
        for number in self._numbers(self._where(moment)):
            self._advance(number, moment, keys)
        return found

    def reached(self, moment: Moment) -> Iterable[Found]:
        where = self._where(moment)
        return self._closed(where) if where >= self._next_end else []

    def passed(self, time: int) -> Iterable[Found]:
        return [] if self._window.in_events else self._closed(time + 1)

    def finish(self) -> Iterable[Found]:
        return self._closed(AFTER_ALL)

    def cells(self) -> Iterator[tuple[Key, Cell]]:
        for cells in self._open.values():
            yield from cells.items()

    def oldest(self) -> int | None:
        return None

    def retire(self, moment: Moment) -> int:
        self._begun = (self._where(moment) - self._window.start) // self._hop
        return self._begun + 1

    def may_begin(self, moment: Moment) -> bool:
        return self._begun < AFTER_ALL and self._where(moment) < self._end(self._begun)

    def resume(self) -> None:
        self._begun = AFTER_ALL

    def twin(self) -> AlignedWindows:
        twin = copy(self)
        twin._open = {window: dict(cells) for window, cells in self._open.items()}
        return twin

    def take(self, cells: Iterable[tuple[int, Key, Cell]]) -> None:
        """Opens these cells: window, key, cell."""
        for window, key, cell in cells:
            self._open.setdefault(window, {})[key] = cell
            self._count += 1
        self._next_end = min(map(self._end, self._open), default=AFTER_ALL)

    def stored(self, number: Numbering) -> State:
        return [
            [window, [[[*map(number, key)], self._cells.stored(cell, number)] for key, cell in cells.items()]]
            for window, cells in self._open.items()
        ]

    def restore(self, state: Any, identifier: Numbering) -> None:
        self.take(
            (window, tuple(map(identifier, key)), self._cells.restored(cell, identifier))
            for window, cells in state
            for key, cell in cells
        )

    def _where(self, moment: Moment) -> int:
        return moment.position if self._window.in_events else moment.time

    def _numbers(self, where: int) -> range:
        """The windows that an event at this time or position is in."""
        into = where - self._window.start
        first = (into - self._window.size) // self._hop + 1
        return range(max(first, 0) if self._window.anchored else first, min(into // self._hop, self._begun) + 1)

    def _end(self, number: int) -> int:
        return min(self._window.start + number * self._hop + self._window.size, AFTER_ALL)

    def _advance(self, number: int, moment: Moment, keys: Mapping[Key, Taken]) -> None:
        cells = self._open.get(number)
        if cells is None:
            cells = self._open[number] = {}
            self._next_end = min(self._next_end, self._end(number))
        for key, taken in keys.items():
            cell = cells.get(key)
            if cell is None:
                if not any(symbol in self._openers for symbol, _ in taken):
                    continue
                cell = cells[key] = self._cells.new()
                self._count += 1
                self._program.check_runs(self._count)
            position = cell.position + 1 if self._consecutive else moment.position
            self._cells.advance(cell, taken, moment.time, position)

    def _closed(self, where: int) -> list[Found]:
        found: list[Found] = []
        for number in [each for each in self._open if self._end(each) <= where]:
            cells = self._open.pop(number)
            self._count -= len(cells)
            for key, cell in cells.items():
                vector = self._cells.complete(cell)
                if vector is not None:
                    found.append(Found(number, key, vector))
        self._next_end = min(map(self._end, self._open), default=AFTER_ALL)
        return found


class SlidingWindows(Windows):
    """Sliding windows: a cell for each event that begins matches, for as long as its window lasts."""

    def __init__(self, program: Program, cells: Cells, openers: frozenset[int], consecutive: bool) -> None:
        self._program = program
        self._window = program.window
        self._reach = self._window.size - (1 if self._window.in_events else 0)
        self._cells = cells
        self._openers = openers
        self._consecutive = consecutive
        self._starts: OrderedDict[Key, deque[tuple[int, int, Cell]]] = OrderedDict()
        self._ranks: dict[Key, int] = {}
        self._count = 0
        self._begins = True

    def add(self, moment: Moment, keys: Mapping[Key, Taken]) -> Iterable[Found]:
        found: list[Found] = []
        for key, taken in keys.items():
            vector = self._advance(key, taken, moment)
            if vector is not None:
                found.append(Found(moment.position, key, vector))
        if not self._ranked:
            self._forget(moment.position if self._window.in_events else moment.time)
        return found

    def reached(self, moment: Moment) -> Iterable[Found]:
        return []

    def passed(self, time: int) -> Iterable[Found]:
        if not self._window.in_events:
            self._forget(time)
        return []

    def finish(self) -> Iterable[Found]:
        return []

    def cells(self) -> Iterator[tuple[Key, Cell]]:
        for key, starts in self._starts.items():
            for _, _, cell in starts:
                yield key, cell

    def oldest(self) -> int | None:
        return min((starts[0][1] for starts in self._starts.values() if starts), default=None)

    def retire(self, moment: Moment) -> int:
        self._begins = False
        return 0

    def may_begin(self, moment: Moment) -> bool:
        return False

    def resume(self) -> None:
        self._begins = True

    def twin(self) -> SlidingWindows:
        twin = copy(self)
        twin._starts = OrderedDict((key, deque(starts)) for key, starts in self._starts.items())
        twin._ranks = dict(self._ranks)
        return twin

    def stored(self, number: Numbering, events: Iterable[HeldEvent] = ()) -> State:
        starts: State = [
            [[*map(number, key)], [[where, time, self._cells.stored(cell, number)] for where, time, cell in some]]
            for key, some in self._starts.items()
        ]
        ranks: State = [[[*map(number, key)], rank] for key, rank in self._ranks.items()]
        return [starts, ranks, stored_events(events, number)]

    def restore(self, state: Any, identifier: Numbering) -> None:
        for key, some in state[0]:
            restored = deque((where, time, self._cells.restored(cell, identifier)) for where, time, cell in some)
            self._starts[tuple(map(identifier, key))] = restored
            self._count += len(restored)
        self._ranks = {tuple(map(identifier, key)): rank for key, rank in state[1]}
        self.hold(restored_events(state[2], identifier))

    def hold(self, events: Iterable[HeldEvent]) -> None:
        """Takes events again, of which is known what they have completed and that no match before begins with them.

        They are later than all that has begun, which they have advanced already.
        """
        later = SlidingWindows(self._program, self._cells, self._openers, self._consecutive)
        later._ranks = self._ranks
        for each in sorted(events, key=lambda each: each.position):
            later.add(Moment(each.time, each.position), {each.key: each.taken})
        for key, starts in later._starts.items():
            self._starts.setdefault(key, deque()).extend(starts)
            self._starts.move_to_end(key)
        self._count += later._count

    @property
    def _ranked(self) -> bool:
        """Each partition counts its own events."""
        return self._window.in_events and self._consecutive

    def _advance(self, key: Key, taken: Taken, moment: Moment) -> Vector | None:
        where = self._where(key, moment)
        starts = self._starts.get(key)
        begins = self._begins and any(symbol in self._openers for symbol, _ in taken)
        if starts is None:
            if not begins:
                return None
            starts = self._starts[key] = deque()
        self._evict(starts, where)
        if begins:
            starts.append((where, moment.time, self._cells.new()))
            self._starts.move_to_end(key)
            self._count += 1
            self._program.check_runs(self._count)
        complete: Vector | None = None
        for _, _, cell in starts:
            position = cell.position + 1 if self._consecutive else moment.position
            vector = self._cells.advance(cell, taken, moment.time, position)
            if vector is not None:
                complete = vector if complete is None else self._cells.plus(complete, vector)
        if begins:
            self._cells.close(starts[-1][2])
        return complete

    def _where(self, key: Key, moment: Moment) -> int:
        if not self._ranked:
            return moment.position if self._window.in_events else moment.time
        self._ranks[key] = rank = self._ranks.get(key, -1) + 1
        return rank

    def _evict(self, starts: deque[tuple[int, int, Cell]], where: int) -> None:
        while starts and starts[0][0] < where - self._reach:
            starts.popleft()
            self._count -= 1

    def _forget(self, where: int) -> None:
        """Drops keys for which nothing has begun in the window of this moment."""
        while self._starts:
            key, starts = next(iter(self._starts.items()))
            if starts and starts[-1][0] >= where - self._reach:
                return
            self._count -= len(starts)
            del self._starts[key]


def stored_events(events: Iterable[HeldEvent], number: Numbering) -> State:
    """Events as plain values."""
    return [
        [[*map(number, key)], time, position, [[symbol, [*map(number, ids)]] for symbol, ids in taken]]
        for key, time, position, taken in events
    ]


def restored_events(state: Any, identifier: Numbering) -> list[HeldEvent]:
    """The events again."""
    return [
        HeldEvent(
            tuple(map(identifier, key)),
            time,
            position,
            [(symbol, tuple(map(identifier, ids))) for symbol, ids in taken],
        )
        for key, time, position, taken in state
    ]


def windows_of(program: Program, cells: Cells, openers: frozenset[int], consecutive: bool) -> Windows:
    """The windows of a program; `consecutive`: strict contiguity and windows of events go by the events of a key."""
    kind = SlidingWindows if program.window.sliding else AlignedWindows
    return kind(program, cells, openers, consecutive)
