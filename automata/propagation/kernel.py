"""Propagation compiled: a slice is merged by event, and each solution moves the aggregates of a few lanes.

Counts and sums are integers of any size: limbs of 31 bits, the least first, of which the last carries the sign and
keeps room for what one event adds. When it is nearly used up the kernel stops, and goes on with one limb more. Small
numbers have one limb only, of 61 bits.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from arrays.jit import lean_kernel, lean_part
from arrays.times import BEFORE_ALL
from automata.propagation.kernel_arrays import (
    EMITTED,
    EMITTING,
    EVENT,
    FULL,
    NO_WINDOW,
    OPEN_FIRST,
    OPEN_LAST,
    Cells,
    Order,
    Output,
    Room,
    Rules,
    Scratch,
    Shape,
    Slice,
)
from automata.propagation.kernel_direct import Direct, add_lanes
from automata.propagation.kernel_keys import among
from automata.propagation.kernel_lanes import arrive, clear, end_strict, holds_matches, move, open_cell, reach
from automata.propagation.kernel_windows import newest_window, next_change, oldest_window
from automata.values import Ids


class Stop(IntEnum):
    """The reason why the kernel stopped: the end of the slice, or what it lacks."""

    DONE = 0
    OUTPUT = 1
    LIMBS = 2
    NODES = 3


_DONE, _OUTPUT, _LIMBS = int(Stop.DONE), int(Stop.OUTPUT), int(Stop.LIMBS)


@lean_kernel
def consume(
    rules: Rules,
    direct: Direct,
    shape: Shape,
    room: Room,
    cells: Cells,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    output: Output,
    state: Ids,
) -> int:
    """Consumes the rest of the slice; returns the reason why it stopped."""
    event = int(state[EVENT])
    begin = int(order.ends[event - 1]) if event else 0
    least, last, passed = 0, -1, BEFORE_ALL
    narrow = cells.counts.shape[2] == 1 and (cells.sums.shape[2] == 0 or cells.sums.shape[3] == 1)
    while event < order.ends.shape[0]:
        end = int(order.ends[event])
        if begin == end:
            event += 1
            continue
        position, time = slice_.position + event, int(slice_.times[event])
        where = position if shape.in_events else time
        if where >= passed:
            if not close(rules, shape, cells, output, state, where):
                state[EVENT] = event
                return _OUTPUT
            last = newest_window(shape.start, shape.hop, where)
            least = oldest_window(shape.start, shape.size, shape.hop, where)
            if shape.anchored and least < 0:
                least = 0
            passed = next_change(shape.start, shape.size, shape.hop, where)
        for at in range(begin, end):
            slot = order.slots[at]
            if not among(order.slots, slot, begin, at):
                alone = narrow and end - begin == 1 and direct.able[order.symbols[at]]
                for window in range(least, last + 1):
                    cell = slot if shape.open_max == 1 else slot * shape.open_max + window % shape.open_max
                    if alone and cells.window[cell] == window:
                        symbol, solution = order.symbols[at], order.rows[at]
                        add_lanes(direct, rules, room, cells, slice_, state, np.uint64(cell), symbol, solution, time)
                        continue
                    _enter(rules, shape, room, cells, slice_, order, scratch, state, at, end, window, time, position)
        begin = end
        event += 1
        if state[FULL]:
            state[FULL], state[EVENT] = 0, event
            return _LIMBS
    return _DONE


@lean_part
def _enter(
    rules: Rules,
    shape: Shape,
    room: Room,
    cells: Cells,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    state: Ids,
    begin: int,
    end: int,
    window: int,
    time: int,
    position: int,
) -> None:
    """Advances the cell of one window by the solutions of an event that have the key of the first one."""
    place, slot = 0, order.slots[begin]
    if shape.open_max > 1:
        place = window % shape.open_max
    cell = slot * shape.open_max + place
    if cells.window[cell] != window:
        opens = 0
        for at in range(begin, end):
            if order.slots[at] == slot:
                opens |= rules.opens[order.symbols[at]]
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
    for at in range(begin, end):
        if order.slots[at] == slot:
            symbol = order.symbols[at]
            for number in range(rules.moves[symbol], rules.moves[symbol + 1]):
                if holds_matches(cells, cell, rules.lane[number]):
                    reached = reach(rules, scratch, rules.target[number], reached)
                    move(rules, cells, slice_, scratch, cell, number, order.rows[at], time)
    end_strict(rules, cells, cell)
    for at in range(begin, end):
        if order.slots[at] == slot:
            symbol = order.symbols[at]
            for kill in range(rules.killed[symbol], rules.killed[symbol + 1]):
                clear(cells, cell, rules.kills[kill])
    cells.position[cell] = position
    for number in range(reached):
        target = scratch.states[number]
        scratch.reached[target] = 0
        for enter in range(rules.entered[target], rules.entered[target + 1]):
            arrive(rules, cells, scratch, room, state, cell, rules.enters[enter], target, time)


@lean_kernel
def close(rules: Rules, shape: Shape, cells: Cells, output: Output, state: Ids, where: int) -> bool:
    """Writes what the windows that end up to `where` have found; False if there is no room for all of it."""
    left = oldest_window(shape.start, shape.size, shape.hop, where)
    while state[OPEN_FIRST] <= state[OPEN_LAST] and state[OPEN_FIRST] < left:
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
