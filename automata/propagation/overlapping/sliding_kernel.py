"""Sliding windows compiled: the events of a window are a queue for each key, of which every event asks the product."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_kernel, lean_part, lean_step
from automata.propagation.kernel import Stop
from automata.propagation.kernel_arrays import (
    EMITTED,
    EVENT,
    FULL,
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
from automata.propagation.kernel_lanes import end_strict, holds_matches, move, reach
from automata.propagation.kernel_windows import reaches_back
from automata.propagation.overlapping.arrays import (
    APART,
    AT,
    HELD,
    JOINED,
    OPENS,
    STALE,
    Algebra,
    Flat,
    Group,
    Places,
    Stacks,
)
from automata.propagation.overlapping.products import copy_row, multiply
from automata.propagation.overlapping.stacks import (
    advance,
    append,
    forget_before,
    gather,
    opens_matches,
    set_unit_matrix,
    turn_events,
)
from automata.values import NONE, Ids

_DONE, _OUTPUT, _LIMBS, _NODES = (int(stop) for stop in Stop)


@lean_kernel
def consume(
    rules: Rules,
    final: Rules,
    direct: Direct,
    algebra: Algebra,
    shape: Shape,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    held: Slice,
    slice_: Slice,
    positions: Ids,
    raw: Ids,
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
    while event < order.ends.shape[0]:
        end = int(order.ends[event])
        position, time = positions[event], int(slice_.times[event])
        for at in range(int(state[AT]) if state[AT] else begin, end):
            slot = order.slots[at]
            if among(order.slots, slot, begin, at):
                continue
            state[EVENT], state[AT] = event, at
            if state[EMITTED] == output.windows.shape[0]:
                return _OUTPUT
            if state[HELD] + end - at > stacks.next.shape[0]:
                return _NODES
            where = _where(shape, stacks, slot, position, time)
            forget_before(stacks, state, slot, reaches_back(where, shape.size))
            if stacks.head[slot] != NONE and stacks.flags[stacks.head[slot]] & STALE:
                turned = turn_events(
                    rules, direct, algebra, room, places, cells, flat, stacks, held, scratch, group, state, slot, every
                )
                if not turned:
                    state[FULL] = 0
                    return _LIMBS
            solutions = gather(order, group, slot, at, end)
            opens = opens_matches(rules, group, solutions)
            if stacks.head[slot] == NONE and not opens:
                stacks.rank[slot] = where
                continue
            if stacks.head[slot] == NONE:
                set_unit_matrix(algebra, cells, places, places.backs + slot * places.lanes)
            apart = rules.strict.shape[0] > 0 and not shape.consecutive and stacks.last[slot] != position - 1
            row = _partial_matches(rules, algebra, room, places, cells, flat, stacks, slot, apart)
            if row == NONE:
                return _LIMBS
            _complete(final, cells, slice_, scratch, group, output, state, row, slot, solutions, position, time)
            _append(
                rules, direct, algebra, room, places, cells, slice_, scratch, group, state, slot, solutions, apart, time
            )
            _hold(stacks, held, slice_, raw, group, state, slot, solutions, apart, opens, where, position, time)
            stacks.rank[slot], stacks.last[slot] = where, position
            if state[FULL]:
                state[FULL], state[AT] = 0, at + 1
                return _LIMBS
        state[AT] = 0
        begin = end
        event += 1
    return _DONE


@lean_part
def _where(shape: Shape, stacks: Stacks, slot: int, position: int, time: int) -> int:
    """The time, the position or the number in its partition of an event, by which windows go."""
    if not shape.in_events:
        return time
    return stacks.rank[slot] + 1 if shape.consecutive else position


@lean_part
def _partial_matches(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    slot: int,
    apart: bool,
) -> int:
    """The row of all partial matches in the window that an event may complete; NONE: a number does not fit."""
    back, head = places.backs + slot * places.lanes, stacks.head[slot]
    row = places.spare
    if head == NONE or head == stacks.border[slot]:
        row = back + int(rules.opening[0])
    elif stacks.border[slot] == NONE:
        row = places.nodes + int(head)
    elif not multiply(rules, algebra, room, cells, flat, places.nodes + head, back, row, algebra.sources):
        return NONE
    if apart:
        if row != places.spare:
            copy_row(cells, row, places.spare)
        end_strict(rules, cells, places.spare)
        row = places.spare
    return row


@lean_step
def _complete(
    final: Rules,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    group: Group,
    output: Output,
    state: Ids,
    row: int,
    slot: int,
    solutions: int,
    position: int,
    time: int,
) -> None:
    """Writes what an event completes of the partial matches of a row."""
    reached = 0
    for number in range(solutions):
        symbol = group.symbols[number]
        for each in range(final.moves[symbol], final.moves[symbol + 1]):
            if holds_matches(cells, row, final.lane[each]):
                reached = reach(final, scratch, 0, reached)
                move(final, cells, slice_, scratch, row, each, group.rows[number], time)
    if not reached:
        return
    scratch.reached[0] = 0
    into = int(state[EMITTED])
    state[EMITTED] = into + 1
    output.windows[into], output.ends[into] = position, 0
    for column in range(cells.keys.shape[1]):
        output.keys[into, column] = cells.keys[slot, column]
    for limb in range(scratch.counts.shape[1]):
        output.counts[into, limb] = scratch.counts[0, limb]
    for measure in range(output.sums.shape[1]):
        for limb in range(scratch.sums.shape[2]):
            output.sums[into, measure, limb] = scratch.sums[0, measure, limb]
    for measure in range(scratch.best.shape[1]):
        output.best[into, measure], output.ids[into, measure] = scratch.best[0, measure], scratch.ids[0, measure]
    output.first[into], output.last[into] = scratch.first[0], time


@lean_step
def _append(
    rules: Rules,
    direct: Direct,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    group: Group,
    state: Ids,
    slot: int,
    solutions: int,
    apart: bool,
    time: int,
) -> None:
    """Multiplies the back by an event."""
    back, symbol = places.backs + slot * places.lanes, group.symbols[0]
    if solutions == 1 and direct.able[symbol] and cells.counts.shape[2] == 1 and cells.sums.shape[3] == 1:
        for number in range(algebra.begins[symbol], algebra.begins[symbol + 1]):
            row = np.uint64(back + algebra.touched[number])
            add_lanes(direct, rules, room, cells, slice_, state, row, symbol, group.rows[0], time)
        return
    for lane in range(places.lanes):
        if apart:
            end_strict(rules, cells, back + lane)
        advance(rules, room, cells, slice_, scratch, state, back + lane, group, solutions, time)


@lean_step
def _hold(
    stacks: Stacks,
    held: Slice,
    slice_: Slice,
    raw: Ids,
    group: Group,
    state: Ids,
    slot: int,
    solutions: int,
    apart: bool,
    opens: bool,
    where: int,
    position: int,
    time: int,
) -> None:
    """Puts an event at the end of its queue: a node for each solution."""
    for number in range(solutions):
        node, row = append(stacks, state, slot), group.rows[number]
        stacks.where[node], stacks.symbols[node] = where, group.symbols[number]
        stacks.flags[node] = (OPENS if opens else 0) | (APART if apart else 0) | (JOINED if number else 0)
        held.times[node], held.events[node] = time, position
        for column in range(raw.shape[1]):
            stacks.raw[node, column] = raw[row, column]
        for column in range(slice_.addends.shape[1]):
            held.signs[node, column] = slice_.signs[row, column]
            for limb in range(held.addends.shape[2]):
                there = limb < slice_.addends.shape[2]
                held.addends[node, column, limb] = slice_.addends[row, column, limb] if there else 0
        for column in range(slice_.values.shape[1]):
            held.values[node, column], held.ids[node, column] = slice_.values[row, column], slice_.ids[row, column]


@lean_kernel
def sweep(stacks: Stacks, shape: Shape, state: Ids, slots: int, where: int) -> None:
    """Frees the events that have left the window at this time or position."""
    for slot in range(slots):
        forget_before(stacks, state, slot, reaches_back(where, shape.size))
