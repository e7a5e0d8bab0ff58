"""Aggregates over all matches of a program, from slices of the merged order, without a match being built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from automata import layouts
from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.propagation.applicability import why_not_propagated
from automata.propagation.cells import Cell, Cells, Taken
from automata.propagation.machine import machine_of
from automata.propagation.measures import Measured, Values
from automata.propagation.windows import (
    AlignedWindows,
    Found,
    HeldEvent,
    Key,
    Moment,
    Numbering,
    SlidingWindows,
    restored_events,
    windows_of,
)
from automata.slices.events import Events, SymbolSolutions
from automata.state import State
from automata.state import Values as StoredValues
from automata.values import UNBOUND, Ids

_Row = tuple[int, Key, int, tuple[int, ...]]
"""event of the slice, key, symbol, ids of the measured variables."""


class Propagating(Protocol):
    """An evaluator that tells aggregates of all matches, those of one unit and key in one piece or several.

    position    of the next event
    """

    position: int

    @property
    def idle(self) -> bool:
        """No cell is open."""

    def take(self, cells: Iterable[tuple[int, Key, Cell]]) -> None:
        """Goes on with these cells of aligned windows, where none is open: window, key, cell."""

    @property
    def measures(self) -> Cells:
        """The algebra of the vectors that are found."""

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Found]:
        """The next slice of the merged order: what it completes or closes."""

    def on_event(self, time: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Found]:
        """The same for a slice of one event; `solutions` as in `automata.protocol.RowEvaluator`."""

    def on_watermark(self, time: int) -> Sequence[Found]:
        """No later event has a time up to `time`."""

    def finish(self) -> Sequence[Found]:
        """The input has ended."""

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""

    def oldest_position(self) -> int:
        """No event before this position is asked for any more."""

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a state; nothing has been consumed before."""


class PropagatingEvaluator(Propagating):
    """Propagates counts, sums, minima and maxima along the automaton; memory is windows times keys.

    groups      the variables of GROUP BY, each of them in the key
    position    of the next event
    """

    state_kind = layouts.PROPAGATION.name
    needs_whole_slots = False

    def __init__(self, plan: Plan, groups: Sequence[int], measured: Sequence[Measured], values: Values) -> None:
        reason = why_not_propagated(plan, groups, measured)
        assert reason is None, reason
        program, machine = plan.program, machine_of(plan)
        self._machine = machine
        self._cells = Cells(plan, machine, measured, values)
        self._windows = windows_of(program, self._cells, machine.openers, bool(program.partition))
        self._key = key_of(plan)
        self._group = tuple(self._key.index(variable) for variable in groups)
        self.position = 0
        scopes = {symbol: sorted(program.symbols[symbol].scope) for symbol in machine.symbols}
        self._places = {
            symbol: (_places(scope, self._key), _places(scope, self._cells.variables))
            for symbol, scope in scopes.items()
        }

    @property
    def idle(self) -> bool:
        """No cell is open."""
        return next(iter(self._windows.cells()), None) is None

    def take(self, cells: Iterable[tuple[int, Key, Cell]]) -> None:
        """Goes on with these cells of aligned windows, where none is open: window, key, cell."""
        assert isinstance(self._windows, AlignedWindows), self._windows
        self._windows.take(cells)

    def hold(self, events: Iterable[HeldEvent]) -> None:
        """Takes events of sliding windows again of which is known what they have completed."""
        assert isinstance(self._windows, SlidingWindows), self._windows
        self._windows.hold(events)

    def retire(self, moment: Moment) -> int:
        """Begins nothing that another evaluator may begin, from this event on; returns the first window of that one."""
        return self._windows.retire(moment)

    def may_begin(self, moment: Moment) -> bool:
        """True if it has retired, and from this event on a window or match may still begin that is its own."""
        return self._windows.may_begin(moment)

    def resume(self) -> None:
        """Begins all again."""
        self._windows.resume()

    def twin(self) -> PropagatingEvaluator:
        """The same cells, to be told with others."""
        twin = copy(self)
        twin._windows = self._windows.twin()
        return twin

    @property
    def measures(self) -> Cells:
        """The algebra of the vectors that are found."""
        return self._cells

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> list[Found]:
        """The next slice of the merged order: what it completes or closes."""
        if not len(events):
            return []
        found: list[Found] = []
        times = events.times
        for event, rows in groupby(sorted(self._rows(solutions), key=itemgetter(0)), key=itemgetter(0)):
            found += self._windows.add(Moment(int(times[event]), self.position + event), _by_key(rows))
        self.position += len(events)
        found += self._windows.reached(Moment(int(times[-1]), self.position - 1))
        return self._grouped(found)

    def on_event(self, time: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> list[Found]:
        """The same for a slice of one event; `solutions` as in `automata.protocol.RowEvaluator`."""
        moment, self.position = Moment(time, self.position), self.position + 1
        rows: list[_Row] = []
        for symbol, some in solutions.items():
            places = self._places.get(symbol)
            if places is not None:
                padded = [(UNBOUND, *row) for row in some]
                rows += [(0, *_picked(row, places, symbol)) for row in padded]
        keys = _by_key(row for row in rows if UNBOUND not in row[1])
        return self._grouped([*(self._windows.add(moment, keys) if keys else ()), *self._windows.reached(moment)])

    def on_watermark(self, time: int) -> list[Found]:
        """No later event has a time up to `time`."""
        return self._grouped(self._windows.passed(time))

    def finish(self) -> list[Found]:
        """The input has ended."""
        return self._grouped(self._windows.finish())

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""
        ids: set[int] = set()
        for key, cell in self._windows.cells():
            ids.update(key)
            ids.update(self._cells.ids(cell))
        return [np.array(sorted(ids), dtype=np.int64)]

    def oldest_position(self) -> int:
        """No event before this position is asked for any more: none is kept."""
        return self.position

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`."""
        return self._snapshot(self._windows.stored)

    def snapshot_of(self, events: Iterable[HeldEvent]) -> dict[str, Any]:
        """The state after these events of sliding windows, too, which are not taken."""
        windows = self._windows
        assert isinstance(windows, SlidingWindows), windows
        return self._snapshot(lambda number: windows.stored(number, events))

    def _snapshot(self, stored_by: Callable[[Numbering], State]) -> dict[str, Any]:
        numbers: dict[int, int] = {}
        stored = stored_by(lambda identifier: numbers.setdefault(identifier, len(numbers)))
        ids = np.array(list(numbers), dtype=np.int64)
        return layouts.PROPAGATION.written(position=self.position, ids=StoredValues(ids), windows=stored)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a state; nothing has been consumed before."""
        state = layouts.PROPAGATION.read(state)
        ids = state["ids"].ids.tolist()
        self.position = state["position"]
        self._windows.restore(state["windows"], ids.__getitem__)

    def events_of(self, state: Mapping[str, Any]) -> list[HeldEvent] | None:
        """The events of sliding windows in a state; None: it has more than events."""
        state = layouts.PROPAGATION.read(state)
        starts, _, events = state["windows"]
        return None if starts else restored_events(events, state["ids"].ids.tolist().__getitem__)

    def _rows(self, solutions: Mapping[int, SymbolSolutions]) -> list[_Row]:
        rows: list[_Row] = []
        for symbol, table in solutions.items():
            if symbol in self._machine.symbols and len(table.events):
                none = [UNBOUND] * len(table.events)
                columns = {v: column.tolist() for v, column in table.values.items()}
                keys = zip(*(columns.get(v, none) for v in self._key), strict=True) if self._key else [()] * len(none)
                wanted = self._cells.variables
                ids = zip(*(columns.get(v, none) for v in wanted), strict=True) if wanted else [()] * len(none)
                symbols = [symbol] * len(none)
                rows += zip(table.events.tolist(), keys, symbols, ids, strict=True)
        return [row for row in rows if UNBOUND not in row[1]] if self._key else rows

    def _grouped(self, found: Iterable[Found]) -> list[Found]:
        return [each._replace(key=tuple([each.key[place] for place in self._group])) for each in found]


def _by_key(rows: Iterable[_Row]) -> Mapping[Key, Taken]:
    keys: dict[Key, list[tuple[int, tuple[int, ...]]]] = {}
    for _, key, symbol, ids in rows:
        keys.setdefault(key, []).append((symbol, ids))
    return keys


def _places(scope: Sequence[int], variables: Sequence[int]) -> tuple[int, ...]:
    """The place of each variable in a row of solutions behind an UNBOUND: 0 where the step does not bind it."""
    return tuple(scope.index(variable) + 1 if variable in scope else 0 for variable in variables)


def _picked(
    row: tuple[int, ...], places: tuple[tuple[int, ...], tuple[int, ...]], symbol: int
) -> tuple[Key, int, tuple[int, ...]]:
    key, wanted = places
    return tuple([row[place] for place in key]), symbol, tuple([row[place] for place in wanted])
