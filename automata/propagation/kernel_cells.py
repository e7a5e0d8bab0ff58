"""The cells that the kernel works on, and their contents as exact values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrays.times import AFTER_ALL
from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.plan.program import Program
from automata.propagation import kernel, kernel_keys
from automata.propagation import kernel_arrays as arrays
from automata.propagation.cells import Cell, Vector
from automata.propagation.columns import Reader
from automata.propagation.found_columns import Block, FoundColumns, VectorReader, Vectors
from automata.propagation.kernel import Stop
from automata.propagation.kernel_arrays import NO_WINDOW
from automata.propagation.kernel_direct import direct_of
from automata.propagation.kernel_rules import rules_of
from automata.propagation.layout import Layout
from automata.propagation.limbed_cells import WIDE_ROOM, LimbedCells, one_limb
from automata.propagation.limbs import widened
from automata.propagation.machine import machine_of
from automata.propagation.measures import Measured, Values
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.windows import Key
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Mask

_SLOTS_FIRST, _OUTPUT_FIRST, _OUTPUT_MAX = 16, 256, 1 << 16


def open_max(program: Program) -> int:
    """The windows that may be open at once."""
    window = program.window
    return -(-window.size // (window.period))


class KernelCells(LimbedCells):
    """The arrays of the kernel, and the windows that it closes."""

    def __init__(
        self, plan: Plan, groups: Sequence[int], measured: Sequence[Measured], layout: Layout, values: Values
    ) -> None:
        program = self._program = plan.program
        window, key = program.window, key_of(plan)
        self._machine, self._measured, self._layout, self._values = machine_of(plan), measured, layout, values
        self._group = [key.index(variable) for variable in groups]
        self._reader = Reader(key, len(program.symbols), layout, values)
        self._rules = rules_of(plan, self._machine, layout)
        hop, partitioned = window.period, int(bool(program.partition))
        aligned = window.start, window.size, hop, open_max(program)
        self._shape = arrays.Shape(*aligned, int(window.anchored), int(window.in_events), partitioned)
        self._direct = direct_of(self._machine, self._rules)
        self._known: arrays.Room | None = None
        self._aligned, self._begun = self._shape, 0
        self._narrowed_at = -1
        self._state = np.zeros(arrays.STATE, dtype=np.int64)
        self._state[arrays.OPEN_LAST] = -1
        self._cells = self._new_cells(_SLOTS_FIRST, len(key))
        self._output = self._new_output(_OUTPUT_FIRST, len(key))

    @property
    def idle(self) -> bool:
        """No cell is open."""
        return bool(self._state[arrays.OPEN_FIRST] > self._state[arrays.OPEN_LAST])

    def begin_at(self, window: int | None) -> None:
        """Leaves out all windows before this one, or none; no cell is open."""
        aligned = self._aligned
        anchored = aligned.anchored if window is None else 1
        self._begun = 0 if window is None else max(window, 0) if aligned.anchored else window
        start = min(aligned.start + self._begun * aligned.hop, AFTER_ALL)
        self._shape = self._shape._replace(start=start, anchored=anchored)
        self._state[arrays.OPEN_FIRST], self._state[arrays.OPEN_LAST] = 0, -1

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions], position: int) -> FoundColumns:
        """All that the slice closes; Unsuited, with the cells as they were, if the kernel cannot take it."""
        if self.idle:
            self._forget()
        slice_ = self._reader.read(events, solutions, self._machine.symbols, position)
        order, most = self._order(slice_)
        room = self._room(slice_, most)
        scratch = self._scratch()
        found: list[Block] = []
        self._state[arrays.EVENT] = 0
        while True:
            rules, cells, out, state = (self._rules, self._direct), self._cells, self._output, self._state
            stop = kernel.consume(*rules, self._shape, room, cells, slice_, order, scratch, out, state)
            match stop:
                case Stop.DONE:
                    break
                case Stop.OUTPUT:
                    found += self._emitted(full=True)
                case Stop.LIMBS:
                    self._widen(self._widths[0] + 1, slice_.addends.shape[2])
                    room, scratch = WIDE_ROOM, self._scratch()
        where = position + len(events) - 1 if self._shape.in_events else int(events.times[-1])
        return FoundColumns([*found, *self._closed(where)])

    def passed(self, time: int) -> FoundColumns:
        """All that is closed once no event at or before `time` will come."""
        return FoundColumns([] if self._shape.in_events else self._closed(time + 1))

    def finish(self) -> FoundColumns:
        """All that is left."""
        return FoundColumns(self._closed(AFTER_ALL))

    def live_ids(self) -> list[Ids]:
        """The ids in keys and among the extremes."""
        return [] if self.idle else [self._cells.keys[: self._slots].ravel(), *self._reader.live_ids()]

    def hand_over(self, exact: PropagatingEvaluator) -> None:
        """Lets exact values go on, which hold nothing; nothing is held here then."""
        exact.take(self.open_cells())
        self._state[arrays.OPEN_LAST] = self._state[arrays.OPEN_FIRST] - 1
        self._forget()

    def snapshot(self, exact: PropagatingEvaluator) -> dict[str, Any]:
        """The state of exact values that would go on; they hold nothing yet."""
        exact.take(self.open_cells())
        return exact.snapshot()

    def open_cells(self) -> list[tuple[int, Key, Cell]]:
        """Every open cell as exact values, with its window and its key."""
        if self.idle:
            return []
        held, handed = self._cells, []
        numbers = np.flatnonzero(held.window[: self._slots * self._shape.open_max] != NO_WINDOW)
        for number, lanes in zip(numbers.tolist(), self._lanes(numbers), strict=True):
            cell = Cell(lanes)
            cell.position = int(held.position[number])
            key = tuple(held.keys[number // self._shape.open_max].tolist())
            handed.append((int(held.window[number]) + self._begun, key, cell))
        return handed

    # --- a slice ----------------------------------------------------------------------------------

    def _room(self, slice_: arrays.Slice, most: int) -> arrays.Room:
        """The room that numbers need before an event of the slice."""
        reached = int(self._state[arrays.OPEN_FIRST])
        closed, self._narrowed_at = reached != self._narrowed_at, reached
        return self._room_for(slice_, most * int(np.diff(self._rules.moves).max(initial=0)), closed)

    def _fits(self, room: arrays.Room) -> bool:
        """True if all numbers of open cells, counts of one limb, leave this room."""
        there = self._there()
        counts, sums = self._cells.counts[there], self._cells.sums[there][..., -1]
        return bool(counts.max(initial=0) < room.counts and np.abs(sums).max(initial=0) < room.sums)

    def _there(self) -> Mask:
        """A mask of the cells in use."""
        return self._cells.window != NO_WINDOW  # type: ignore[no-any-return]

    def _narrow(self) -> None:
        """Makes one limb of counts that are small again."""
        held = self._cells.counts
        if one_limb(held[self._there()]):
            self._known = None
            self._cells = self._cells._replace(counts=held[..., :1] + (held[..., 1:2] << arrays.LIMB))
            self._output = self._new_output(len(self._output.windows), self._output.keys.shape[1])

    # --- what is found ----------------------------------------------------------------------------

    @property
    def _slots(self) -> int:
        return int(self._state[arrays.SLOTS])

    def _closed(self, where: int) -> list[Block]:
        found: list[Block] = []
        while not kernel.close(self._rules, self._shape, self._cells, self._output, self._state, where):
            found += self._emitted(full=True)
        return found + self._emitted()

    def _emitted(self, full: bool = False) -> list[Block]:
        """The rows that have been written; makes more room if there was too little."""
        count, out = int(self._state[arrays.EMITTED]), self._output
        self._state[arrays.EMITTED] = 0
        numbers = Vectors(out.counts, out.sums, out.best, out.ids, out.first, out.last)
        vectors = numbers.at(np.arange(count))
        block = Block(out.windows[:count] + self._begun, out.keys[:count, self._group], vectors, self._vector_reader())
        if full and (len(out.windows) < _OUTPUT_MAX or not count):
            self._output = self._new_output(2 * len(out.windows), out.keys.shape[1])
        return [block] if count else []

    def _vector_reader(self) -> VectorReader:
        return VectorReader(self._measured, self._layout, self._values, dict(self._reader.scales))

    def _lanes(self, cells: Ids) -> list[list[Vector | None]]:
        """The lanes of cells as exact values."""
        held, lanes = self._cells, len(self._machine.lanes)
        timed = (held.first, held.last) if self._timed else (np.zeros(held.counts.shape[:2], np.int64),) * 2
        columns = Vectors(held.counts, held.sums, held.best, held.ids, *timed).at(cells)
        rows = len(cells) * lanes
        flat = Vectors(
            columns.counts.reshape(rows, columns.counts.shape[2]),
            columns.sums.reshape(rows, *columns.sums.shape[2:]),
            columns.best.reshape(rows, columns.best.shape[2]),
            columns.ids.reshape(rows, columns.ids.shape[2]),
            columns.first.ravel(),
            columns.last.ravel(),
        )
        vectors = [each if each[0] else None for each in self._vector_reader().read(flat)]
        return [vectors[begin : begin + lanes] for begin in range(0, len(vectors), lanes)]

    # --- arrays -----------------------------------------------------------------------------------

    @property
    def _timed(self) -> bool:
        """True if cells have the times of first and last events."""
        return bool(self._shape.in_events)

    @property
    def _keys(self) -> tuple[Ids, Ids]:
        return self._cells.table, self._cells.keys

    @property
    def _widths(self) -> tuple[int, int]:
        return self._cells.counts.shape[2], self._cells.sums.shape[3]

    def _forget(self) -> None:
        """No cell is open: no key is held, numbers are small again, and any representation will do."""
        self._reader.forget()
        if not self._slots:
            return
        self._state[arrays.SLOTS] = self._state[arrays.FULL] = self._state[arrays.EMITTING] = 0
        self._known = None
        key = self._cells.keys.shape[1]
        self._cells = self._new_cells(min(len(self._cells.keys), 1 << 16), key)
        self._output = self._new_output(len(self._output.windows), key)

    def _new_cells(self, slots: int, key: int, limbs: int = 1, wide: int = 1) -> arrays.Cells:
        cells, lanes = slots * self._shape.open_max, len(self._machine.lanes)
        linear, extreme = self._rules.linear.shape[1], len(self._layout.extreme)
        timed = (cells, lanes) if self._timed else (0, 0)
        return arrays.Cells(
            np.zeros(4 * slots, dtype=np.int64),
            np.zeros((slots, key), dtype=np.int64),
            np.full(cells, NO_WINDOW, dtype=np.int64),
            np.zeros(cells, dtype=np.int64),
            np.zeros((cells, lanes, limbs), dtype=np.int64),
            np.zeros((cells, lanes, linear, wide), dtype=np.int64),
            np.full((cells, lanes, extreme), np.nan),
            np.zeros((cells, lanes, extreme), dtype=np.int64),
            np.zeros(timed, dtype=np.int64),
            np.zeros(timed, dtype=np.int64),
            np.zeros((self._shape.open_max, slots), dtype=np.int64),
            np.zeros(self._shape.open_max, dtype=np.int64),
        )

    def _new_output(self, rows: int, key: int) -> arrays.Output:
        limbs, wide = self._widths
        linear, extreme = len(self._layout.linear), len(self._layout.extreme)
        return arrays.Output(
            np.zeros(rows, dtype=np.int64),
            np.zeros((rows, key), dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.zeros((rows, limbs), dtype=np.int64),
            np.zeros((rows, linear, wide), dtype=np.int64),
            np.zeros((rows, extreme)),
            np.zeros((rows, extreme), dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
        )

    def _scratch(self) -> arrays.Scratch:
        limbs, wide = self._widths
        states = len(self._machine.entered)
        linear, extreme = self._rules.linear.shape[1], len(self._layout.extreme)
        return arrays.Scratch(
            np.zeros(states, dtype=np.int64),
            np.zeros(states, dtype=np.int64),
            np.zeros((states, limbs), dtype=np.int64),
            np.zeros((states, linear, wide), dtype=np.int64),
            np.zeros((states, extreme)),
            np.zeros((states, extreme), dtype=np.int64),
            np.zeros(states, dtype=np.int64),
        )

    def _widen(self, limbs: int, addends: int) -> None:
        """Makes this many limbs of counts, and of sums what products with addends of so many need."""
        wide = self._limbs_of_sums(limbs, addends)
        if (limbs, wide) == self._widths:
            return
        self._known = None
        counts, sums = widened(self._cells.counts, limbs), widened(self._cells.sums, wide)
        self._cells = self._cells._replace(counts=counts, sums=sums)
        out = self._output
        self._output = out._replace(counts=widened(out.counts, limbs), sums=widened(out.sums, wide))

    def _make_room(self, stuck: bool) -> None:
        """Gives up the slots of keys without a cell; makes twice as many where few are, or one event needs more."""
        held, slots, windows = self._cells, self._slots, self._shape.open_max
        kept = np.flatnonzero((held.window[: slots * windows].reshape(slots, windows) != NO_WINDOW).any(axis=1))
        room = len(held.keys) if len(kept) * 2 <= len(held.keys) and not stuck else 2 * len(held.keys)
        self._program.check_runs(len(kept) * windows)
        fresh = self._new_cells(room, held.keys.shape[1], *self._widths)
        cells = (kept[:, np.newaxis] * windows + np.arange(windows)).ravel()
        fresh.keys[: len(kept)] = held.keys[kept]
        for name in ("window", "position", "counts", "sums", "best", "ids"):
            getattr(fresh, name)[: len(cells)] = getattr(held, name)[cells]
        if self._timed:
            fresh.first[: len(cells)], fresh.last[: len(cells)] = held.first[cells], held.last[cells]
        numbers = np.zeros(slots, dtype=np.int64)
        numbers[kept] = np.arange(len(kept))
        fresh.member_counts[:] = held.member_counts
        for place, count in enumerate(held.member_counts.tolist()):
            fresh.members[place, :count] = numbers[held.members[place, :count]]
        self._state[arrays.SLOTS] = len(kept)
        self._cells = fresh
        kernel_keys.number_keys(fresh.table, fresh.keys, len(kept))
