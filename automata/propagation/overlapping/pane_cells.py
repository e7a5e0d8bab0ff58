"""The arrays of the kernel of hopping windows, and what the windows that it closes have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from math import gcd

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.plan.plan import Plan
from automata.propagation import kernel_arrays
from automata.propagation.cells import Cell
from automata.propagation.found_columns import Block, FoundColumns
from automata.propagation.kernel import Stop
from automata.propagation.layout import Layout
from automata.propagation.limbed_cells import WIDE_ROOM
from automata.propagation.machine import Machine
from automata.propagation.overlapping import arrays, pane_kernel
from automata.propagation.overlapping.queued_cells import QueuedCells
from automata.propagation.windows import Key
from automata.slices.events import Events, SymbolSolutions
from automata.values import NONE, Ids, Mask


class PaneCells(QueuedCells):
    """Hopping windows of one query: a queue of the panes of each key."""

    def _shaped(self, plan: Plan, layout: Layout) -> tuple[Machine, int, Sequence[int]]:
        """The whole machine, a matrix and a row for each pane, and the lanes of complete matches."""
        length = gcd(self._shape.size, self._shape.hop)
        self._panes = pane_kernel.Panes(length, self._shape.size // length, self._shape.hop // length)
        self._shape = self._shape._replace(open_max=1)
        self._told: list[Ids] | None = None
        self._limbs = 1
        return self._machine, len(self._machine.lanes) + 1, self._machine.ends

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions], position: int) -> FoundColumns:
        """All that the slice closes; Unsuited, with the cells as they were, if the kernel cannot take it."""
        if self.idle:
            self._forget()
            self._state[arrays.CURRENT] = BEFORE_ALL
        slice_ = self._reader.read(events, solutions, self._machine.symbols, position)
        order, most = self._order(slice_)
        self._most = max(self._most, most)
        self._addend = max(self._addend, int(slice_.addends.max(initial=0)))
        self._limbs = max(self._limbs, slice_.addends.shape[2])
        room, scratch = self._room(slice_, self._most), self._scratch()
        group = arrays.Group(np.zeros(self._most, dtype=np.int64), np.zeros(self._most, dtype=np.int64))
        found: list[Block] = []
        self._state[kernel_arrays.EVENT] = self._state[arrays.AT] = 0
        while True:
            stop = pane_kernel.consume(
                self._rules,
                self._direct,
                self._algebra,
                self._shape,
                self._panes,
                room,
                self._places,
                self._cells,
                self._flat(),
                self._stacks,
                slice_,
                order,
                scratch,
                group,
                self._every,
                self._output,
                self._state,
            )
            if stop == Stop.DONE:
                break
            found += self._after(stop)
            if stop == Stop.LIMBS:
                room, scratch = WIDE_ROOM, self._scratch()
        where = position + len(events) - 1 if self._shape.in_events else int(events.times[-1])
        return FoundColumns([*found, *self._closed(where)])

    def open_cells(self) -> list[tuple[int, Key, Cell]]:
        """The cell of every open window and key as exact values."""
        if self.idle:
            return []
        twin = copy(self)
        twin._state, twin._told = self._state.copy(), []
        twin._stacks, twin._cells, twin._output = deepcopy((self._stacks, self._cells, self._output))
        twin._group = list(range(self._cells.keys.shape[1]))
        twin._rules = self._rules._replace(ends=self._every)
        twin._algebra = self._algebra._replace(sources=self._every)
        blocks = twin._closed(AFTER_ALL)
        ends = [lane for lanes in twin._told for lane in lanes.tolist()]
        cells: dict[tuple[int, Key], Cell] = {}
        for lane, (unit, key, vector) in zip(ends, (each for block in blocks for each in block), strict=True):
            cell = cells.setdefault((unit, key), Cell([None] * len(self._every)))
            cell.lanes[lane] = vector
        return [(unit, key, cell) for (unit, key), cell in cells.items()]

    # --- what is found ----------------------------------------------------------------------------

    def _closed(self, where: int) -> list[Block]:
        found: list[Block] = []
        pane = AFTER_ALL if where == AFTER_ALL else (where - self._shape.start) // self._panes.length
        if self.idle or pane <= self._state[arrays.CURRENT]:
            return self._emitted()
        self._state[arrays.AT] = 0
        while True:
            stop = pane_kernel.close(
                self._rules,
                self._algebra,
                self._panes,
                self._room_known(),
                self._places,
                self._cells,
                self._flat(),
                self._stacks,
                self._every,
                self._output,
                self._state,
                pane,
            )
            if stop == Stop.DONE:
                self._state[arrays.CURRENT] = pane
                return found + self._emitted()
            found += self._after(stop)

    def _after(self, stop: int) -> list[Block]:
        """Makes the room for want of which a kernel has stopped."""
        match stop:
            case Stop.OUTPUT:
                return self._emitted(full=True)
            case Stop.LIMBS:
                self._widen(self._widths[0] + 1, self._limbs)
            case _:
                self._grow(len(self._cells.keys), 2 * len(self._stacks.next))
        return []

    def _emitted(self, full: bool = False) -> list[Block]:
        """The rows that have been written; makes more room if there was too little."""
        if self._told is not None:
            self._told.append(self._output.ends[: self._state[kernel_arrays.EMITTED]].copy())
        return super()._emitted(full)

    def _room_known(self) -> kernel_arrays.Room:
        """The room that numbers need to be multiplied."""
        return WIDE_ROOM if self._widths[0] > 1 or self._known is None else self._known

    # --- arrays -----------------------------------------------------------------------------------

    def _rows_of_nodes(self) -> Mask:
        """The matrices of all panes, and vectors where there are some."""
        stacks, width = self._stacks, self._width
        there = np.zeros((len(stacks.next), width), dtype=np.bool_)
        for slot in range(self._slots):
            node, front = int(stacks.head[slot]), True
            while node != NONE:
                front &= node != int(stacks.border[slot])
                there[node, :-1], there[node, -1] = True, front
                node = int(stacks.next[node])
        return there.ravel()

    def _free(self) -> None:
        """Nothing: panes leave as windows are closed."""

    def _narrow(self) -> None:
        """Numbers stay wide until nothing is held."""
