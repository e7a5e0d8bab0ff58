"""Hopping windows compiled: the events of a pane are one matrix for each key, and a window is a product of panes.

A pane is as long as the greatest length that a window and its hop are multiples of. An event is multiplied with the
matrix of its pane, however many windows are open, and a pane with others twice, when it ends and as the stacks turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_kernel, lean_part, lean_step
from arrays.times import BEFORE_ALL
from automata.propagation.kernel import Stop
from automata.propagation.kernel_arrays import (
    EMITTED,
    EVENT,
    FULL,
    SLOTS,
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
from automata.propagation.kernel_lanes import holds_matches
from automata.propagation.kernel_windows import newest_window, next_change
from automata.propagation.overlapping.arrays import (
    AT,
    CLOSING,
    CURRENT,
    HELD,
    SETTLED,
    STALE,
    Algebra,
    Flat,
    Group,
    Places,
    Stacks,
)
from automata.propagation.overlapping.products import copy_row, multiply
from automata.propagation.overlapping.stacks import advance, append, gather, opens_matches, pop, set_unit_matrix
from automata.values import NONE, Ids

_DONE, _OUTPUT, _LIMBS, _NODES = (int(stop) for stop in Stop)


class Panes(NamedTuple):
    """The length of a pane; panes of a window, and of a hop."""

    length: int
    window: int
    hop: int


@lean_kernel
def consume(
    rules: Rules,
    direct: Direct,
    algebra: Algebra,
    shape: Shape,
    panes: Panes,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    group: Group,
    every: Ids,
    output: Output,
    state: Ids,
) -> int:
    """Consumes the rest of the slice; returns the reason why it stopped."""
    event = int(state[EVENT])
    begin = int(order.ends[event - 1]) if event else 0
    pane, until = 0, BEFORE_ALL
    while event < order.ends.shape[0]:
        end, time = int(order.ends[event]), int(slice_.times[event])
        state[EVENT] = event
        where = slice_.position + event if shape.in_events else time
        if where >= until:
            pane = newest_window(shape.start, panes.length, where)
            until = next_change(shape.start, panes.length, panes.length, where)
        if pane > state[CURRENT] and begin < end:
            stop = close(rules, algebra, panes, room, places, cells, flat, stacks, every, output, state, pane)
            if stop != _DONE:
                return stop
            state[CURRENT] = pane
        for at in range(int(state[AT]) if state[AT] else begin, end):
            slot = order.slots[at]
            if among(order.slots, slot, begin, at) or (shape.anchored and pane < 0):
                continue
            state[AT] = at
            if state[HELD] == stacks.next.shape[0]:
                return _NODES
            solutions = gather(order, group, slot, at, end)
            node = stacks.tail[slot]
            if node == NONE or stacks.where[node] != pane:
                if node == NONE and not opens_matches(rules, group, solutions):
                    continue
                node = _begin_pane(algebra, shape, panes, places, cells, stacks, state, slot, pane)
            matrix, symbol = places.nodes + node * places.width, group.symbols[0]
            if solutions == 1 and direct.able[symbol] and cells.counts.shape[2] == 1 and cells.sums.shape[3] == 1:
                for number in range(algebra.begins[symbol], algebra.begins[symbol + 1]):
                    row = np.uint64(matrix + algebra.touched[number])
                    add_lanes(direct, rules, room, cells, slice_, state, row, symbol, group.rows[0], time)
            else:
                for lane in range(places.lanes):
                    advance(rules, room, cells, slice_, scratch, state, matrix + lane, group, solutions, time)
            if state[FULL]:
                state[FULL], state[AT] = 0, at + 1
                return _LIMBS
        state[AT] = 0
        begin = end
        event += 1
    return _DONE


@lean_part
def _first_window(panes: Panes, pane: int) -> int:
    """The first window that has not ended when a pane begins."""
    return (pane - panes.window) // panes.hop + 1


@lean_part
def _begin_pane(
    algebra: Algebra,
    shape: Shape,
    panes: Panes,
    places: Places,
    cells: Cells,
    stacks: Stacks,
    state: Ids,
    slot: int,
    pane: int,
) -> int:
    """A new node at the end of a queue."""
    if state[HELD] == 0:
        first = _first_window(panes, pane)
        state[CLOSING] = max(first, 0) if shape.anchored else first
    node = append(stacks, state, slot)
    stacks.where[node], stacks.flags[node] = pane, 0
    set_unit_matrix(algebra, cells, places, places.nodes + node * places.width)
    return node


@lean_kernel
def close(
    rules: Rules,
    algebra: Algebra,
    panes: Panes,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    every: Ids,
    output: Output,
    state: Ids,
    pane: int,
) -> int:
    """Writes what the windows that end before a later pane have found; returns why it stopped."""
    for slot in range(state[SLOTS]):
        tail = stacks.tail[slot]
        if tail != NONE and not stacks.flags[tail] & SETTLED:
            if not _settle(rules, algebra, room, places, cells, flat, stacks, every, slot):
                return _LIMBS
            stacks.flags[tail] |= SETTLED
    while state[HELD] > 0 and state[CLOSING] < _first_window(panes, pane):
        for slot in range(state[AT], state[SLOTS]):
            state[AT] = slot
            if stacks.head[slot] == NONE:
                continue
            if state[EMITTED] + rules.ends.shape[0] > output.windows.shape[0]:
                return _OUTPUT
            if not _close_key(rules, algebra, panes, room, places, cells, flat, stacks, every, output, state, slot):
                return _LIMBS
        state[AT] = 0
        state[CLOSING] += 1
    return _DONE


@lean_step
def _settle(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    every: Ids,
    slot: int,
) -> bool:
    """Multiplies the back with the pane that has ended; False, with the back as it was, if a number does not fit."""
    node, back = stacks.tail[slot], places.backs + slot * places.lanes
    matrix, fits = places.nodes + node * places.width, True
    if stacks.border[slot] == node:
        for lane in range(places.lanes):
            copy_row(cells, matrix + lane, back + lane)
        return True
    for lane in range(places.lanes):
        fits &= multiply(rules, algebra, room, cells, flat, back + lane, matrix, lane, every)
    if fits:
        for lane in range(places.lanes):
            copy_row(cells, lane, back + lane)
    return fits


@lean_step
def _close_key(
    rules: Rules,
    algebra: Algebra,
    panes: Panes,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    every: Ids,
    output: Output,
    state: Ids,
    slot: int,
) -> bool:
    """Writes what a key has found in the window that is being closed; False if a number does not fit."""
    window, stale = int(state[CLOSING]), False
    while stacks.head[slot] != NONE and stacks.where[stacks.head[slot]] < window * panes.hop:
        stale |= pop(stacks, state, slot)
    head = stacks.head[slot]
    if head == NONE:
        return True
    if stale:
        stacks.flags[head] |= STALE
    if stacks.flags[head] & STALE and not _turn(rules, algebra, room, places, cells, flat, stacks, every, slot):
        return False
    row, back = places.spare, places.backs + slot * places.lanes
    front = places.nodes + head * places.width + places.lanes
    if head == stacks.border[slot]:
        row = back + int(rules.opening[0])
    elif stacks.border[slot] == NONE:
        row = front
    elif not multiply(rules, algebra, room, cells, flat, front, back, row, algebra.sources):
        return False
    for end in range(rules.ends.shape[0]):
        if holds_matches(cells, row, rules.ends[end]):
            _write(cells, output, state, row, slot, end, rules.ends[end], window)
    while stacks.head[slot] != NONE and stacks.where[stacks.head[slot]] < (window + 1) * panes.hop:
        if pop(stacks, state, slot) and stacks.head[slot] != NONE:
            stacks.flags[stacks.head[slot]] |= STALE
    return True


@lean_part
def _write(cells: Cells, output: Output, state: Ids, row: int, slot: int, end: int, lane: int, window: int) -> None:
    into = int(state[EMITTED])
    state[EMITTED] = into + 1
    output.windows[into], output.ends[into] = window, end
    for column in range(cells.keys.shape[1]):
        output.keys[into, column] = cells.keys[slot, column]
    for limb in range(cells.counts.shape[2]):
        output.counts[into, limb] = cells.counts[row, lane, limb]
    for measure in range(output.sums.shape[1]):
        for limb in range(cells.sums.shape[3]):
            output.sums[into, measure, limb] = cells.sums[row, lane, measure, limb]
    for measure in range(cells.best.shape[2]):
        output.best[into, measure], output.ids[into, measure] = (
            cells.best[row, lane, measure],
            cells.ids[row, lane, measure],
        )
    output.first[into], output.last[into] = cells.first[row, lane], cells.last[row, lane]


@lean_step
def _turn(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    every: Ids,
    slot: int,
) -> bool:
    """Turns all of a queue of panes into the front; False, with the queue as it was, if a number does not fit."""
    set_unit_matrix(algebra, cells, places, 0)
    node = int(stacks.tail[slot])
    while node != NONE:
        matrix, fits = places.nodes + node * places.width, True
        for lane in range(places.lanes):
            fits &= multiply(rules, algebra, room, cells, flat, matrix + lane, 0, places.lanes + lane, every)
        if not fits:
            return False
        for lane in range(places.lanes):
            copy_row(cells, places.lanes + lane, lane)
        copy_row(cells, rules.opening[0], matrix + places.lanes)
        node = int(stacks.previous[node])
    stacks.flags[stacks.head[slot]] &= ~STALE
    stacks.border[slot] = NONE
    return True
