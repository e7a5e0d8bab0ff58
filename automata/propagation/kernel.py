"""Propagation compiled: a slice is merged by event, and each solution moves the aggregates of a few lanes.

Counts and sums are integers of any size: limbs of 31 bits, the least first, of which the last carries the sign and
keeps room for what one event adds. When it is nearly used up the kernel stops, and goes on with one limb more.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from arrays.jit import lean_kernel, lean_part
from automata.propagation.kernel_arrays import (
    EMITTED,
    EMITTING,
    FULL,
    NO_WINDOW,
    OPEN_FIRST,
    OPEN_LAST,
    SLOTS,
    Cells,
    Output,
    Rules,
    Scratch,
    Shape,
    Slice,
)
from automata.propagation.kernel_lanes import arrive, clear, end_strict, holds_matches, move, open_cell, reach
from automata.values import NONE, Ids

_NO_EVENT = 1 << 62
_PRIME = 0x9E3779B97F4A7C15


class Stop(IntEnum):
    """The reason why the kernel stopped: the end of the slice, or what it lacks."""

    DONE = 0
    KEYS = 1
    OUTPUT = 2
    LIMBS = 3


_DONE, _KEYS, _OUTPUT, _LIMBS = (int(stop) for stop in Stop)


@lean_kernel
def consume(
    rules: Rules, shape: Shape, cells: Cells, slice_: Slice, scratch: Scratch, output: Output, state: Ids
) -> int:
    """Consumes the rest of the slice; returns the reason why it stopped."""
    symbols = slice_.begins.shape[0] - 1
    while True:
        event = _NO_EVENT
        for symbol in range(symbols):
            at = slice_.cursors[symbol]
            if at < slice_.begins[symbol + 1] and slice_.events[at] < event:
                event = int(slice_.events[at])
        if event == _NO_EVENT:
            return _DONE
        position = slice_.position + event
        where = position if shape.in_events else int(slice_.times[event])
        if not close(rules, shape, cells, output, state, where):
            return _OUTPUT
        found = _gather(slice_, scratch, event, symbols)
        for row in range(found):
            if scratch.rows[row, 2] == NONE:
                slot = _slot(cells, slice_, scratch.rows[row, 0], state)
                if slot == NONE:
                    return _KEYS
                scratch.rows[row, 2] = slot
        for symbol in range(symbols):
            while slice_.cursors[symbol] < slice_.begins[symbol + 1] and slice_.events[slice_.cursors[symbol]] == event:
                slice_.cursors[symbol] += 1
        time = int(slice_.times[event])
        last = (where - shape.start) // shape.hop
        least = (where - shape.start - shape.size) // shape.hop + 1
        if shape.anchored and least < 0:
            least = 0
        for row in range(found):
            slot = scratch.rows[row, 2]
            if slot >= 0:
                for window in range(least, last + 1):
                    _enter(rules, shape, cells, slice_, scratch, state, row, found, slot, window, time, position)
                for other in range(row + 1, found):
                    if scratch.rows[other, 2] == slot:
                        scratch.rows[other, 2] = -2
        if state[FULL]:
            state[FULL] = 0
            return _LIMBS


@lean_part
def _gather(slice_: Slice, scratch: Scratch, event: int, symbols: int) -> int:
    """The solutions of an event, in `scratch.rows`."""
    found = 0
    for symbol in range(symbols):
        at = slice_.cursors[symbol]
        while at < slice_.begins[symbol + 1] and slice_.events[at] == event:
            scratch.rows[found, 0], scratch.rows[found, 1], scratch.rows[found, 2] = at, symbol, NONE
            found += 1
            at += 1
    return found


@lean_part
def _slot(cells: Cells, slice_: Slice, row: int, state: Ids) -> int:
    """The slot of a solution's key, given out now if it is new; NONE if there is no room."""
    width = cells.keys.shape[1]
    mask = cells.table.shape[0] - 1
    at = _place(slice_.keys, row, mask)
    while cells.table[at]:
        slot = int(cells.table[at]) - 1
        same = True
        for column in range(width):
            same &= cells.keys[slot, column] == slice_.keys[row, column]
        if same:
            return slot
        at = (at + 1) & mask
    slot = int(state[SLOTS])
    if slot == cells.keys.shape[0]:
        return NONE
    state[SLOTS] = slot + 1
    cells.table[at] = slot + 1
    for column in range(width):
        cells.keys[slot, column] = slice_.keys[row, column]
    for place in range(cells.members.shape[0]):
        cells.window[slot * cells.members.shape[0] + place] = NO_WINDOW
    return slot


@lean_part
def _enter(
    rules: Rules,
    shape: Shape,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    state: Ids,
    row: int,
    found: int,
    slot: int,
    window: int,
    time: int,
    position: int,
) -> None:
    """Advances the cell of one window by the solutions of an event with one key."""
    place = window % shape.open_max
    cell = slot * shape.open_max + place
    if cells.window[cell] != window:
        opens = 0
        for other in range(row, found):
            if scratch.rows[other, 2] == slot:
                opens |= rules.opens[scratch.rows[other, 1]]
        if not opens:
            return
        open_cell(rules, cells, cell, window)
        cells.members[place, cells.member_counts[place]] = slot
        cells.member_counts[place] += 1
        if state[OPEN_FIRST] > state[OPEN_LAST]:
            state[OPEN_FIRST] = state[OPEN_LAST] = window
        state[OPEN_FIRST] = min(state[OPEN_FIRST], window)
        state[OPEN_LAST] = max(state[OPEN_LAST], window)
    if shape.consecutive == 0 and cells.position[cell] != position - 1:
        end_strict(rules, cells, cell)
    reached = 0
    for other in range(row, found):
        if scratch.rows[other, 2] == slot:
            solution, symbol = scratch.rows[other, 0], scratch.rows[other, 1]
            for number in range(rules.moves[symbol], rules.moves[symbol + 1]):
                if holds_matches(cells, cell, rules.lane[number]):
                    reached = reach(rules, scratch, rules.target[number], reached)
                    move(rules, cells, slice_, scratch, cell, number, solution, time)
    end_strict(rules, cells, cell)
    for other in range(row, found):
        if scratch.rows[other, 2] == slot:
            symbol = scratch.rows[other, 1]
            for kill in range(rules.killed[symbol], rules.killed[symbol + 1]):
                clear(cells, cell, rules.kills[kill])
    cells.position[cell] = position
    for number in range(reached):
        target = scratch.states[number]
        scratch.reached[target] = 0
        for enter in range(rules.entered[target], rules.entered[target + 1]):
            arrive(rules, cells, scratch, state, cell, rules.enters[enter], target, time)


@lean_kernel
def close(rules: Rules, shape: Shape, cells: Cells, output: Output, state: Ids, where: int) -> bool:
    """Writes what the windows that end up to `where` have found; False if there is no room for all of it."""
    while state[OPEN_FIRST] <= state[OPEN_LAST] and where >= shape.start + state[OPEN_FIRST] * shape.hop + shape.size:
        window = state[OPEN_FIRST]
        place = window % shape.open_max
        while state[EMITTING] < cells.member_counts[place]:
            if state[EMITTED] + rules.ends.shape[0] > output.windows.shape[0]:
                return False
            slot = cells.members[place, state[EMITTING]]
            cell = slot * shape.open_max + place
            for end in range(rules.ends.shape[0]):
                if holds_matches(cells, cell, rules.ends[end]):
                    _emit(cells, output, state[EMITTED], window, slot, cell, rules.ends[end], end)
                    state[EMITTED] += 1
            cells.window[cell] = NO_WINDOW
            state[EMITTING] += 1
        state[EMITTING] = 0
        cells.member_counts[place] = 0
        state[OPEN_FIRST] += 1
    return True


@lean_part
def _emit(cells: Cells, output: Output, row: int, window: int, slot: int, cell: int, lane: int, end: int) -> None:
    output.windows[row], output.ends[row] = window, end
    for column in range(cells.keys.shape[1]):
        output.keys[row, column] = cells.keys[slot, column]
    for limb in range(cells.counts.shape[2]):
        output.counts[row, limb] = cells.counts[cell, lane, limb]
    for measure in range(cells.sums.shape[2]):
        for limb in range(cells.sums.shape[3]):
            output.sums[row, measure, limb] = cells.sums[cell, lane, measure, limb]
    for measure in range(cells.best.shape[2]):
        output.best[row, measure] = cells.best[cell, lane, measure]
        output.ids[row, measure] = cells.ids[cell, lane, measure]
    if cells.first.shape[0] > 0:
        output.first[row], output.last[row] = cells.first[cell, lane], cells.last[cell, lane]


@lean_kernel
def number_keys(cells: Cells, count: int) -> None:
    """Enters the keys of the first slots in the hash table, which is empty."""
    mask = cells.table.shape[0] - 1
    for slot in range(count):
        at = _place(cells.keys, slot, mask)
        while cells.table[at]:
            at = (at + 1) & mask
        cells.table[at] = slot + 1


@lean_part
def _place(keys: Ids, row: int, mask: int) -> np.int64:
    """The place in the hash table from which on a key is looked for."""
    hashed = np.uint64(0)
    for column in range(keys.shape[1]):
        hashed = (hashed ^ np.uint64(keys[row, column])) * np.uint64(_PRIME)
        hashed ^= hashed >> np.uint64(29)
    return np.int64(hashed & np.uint64(mask))
