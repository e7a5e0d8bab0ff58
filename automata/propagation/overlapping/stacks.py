"""Two stacks for each key (Tangwongsan et al. 2015, General Incremental Sliding-Window Aggregation).

The back is one matrix: the product of all nodes from `border` on. Every node before it has the vector of the product
from that node to the end of the front. When the first node of the front leaves, the vector of the next one is there;
when none is left, the back is turned into the front, from its end to its beginning. So each node is multiplied twice,
however many partial matches have begun.
"""

from __future__ import annotations

from arrays.jit import lean_part, lean_step
from arrays.times import AFTER_ALL
from automata.propagation.kernel_arrays import ADD, FULL, KEEP, SET, Cells, Order, Room, Rules, Scratch, Slice
from automata.propagation.kernel_direct import Direct
from automata.propagation.kernel_lanes import arrive, clear, end_strict, holds_matches, improves, move, reach
from automata.propagation.overlapping.arrays import (
    APART,
    DRAWN,
    FREE,
    HELD,
    JOINED,
    OPENS,
    OWN,
    STALE,
    Algebra,
    Flat,
    Group,
    Places,
    Stacks,
)
from automata.propagation.overlapping.products import copy_row, keeps, multiply, set_unit
from automata.values import NONE, Ids


@lean_part
def gather(order: Order, group: Group, slot: int, begin: int, end: int) -> int:
    """Gathers the solutions of an event that have a key; returns their number."""
    solutions = 0
    for at in range(begin, end):
        if order.slots[at] == slot:
            group.rows[solutions], group.symbols[solutions] = order.rows[at], order.symbols[at]
            solutions += 1
    return solutions


@lean_part
def opens_matches(rules: Rules, group: Group, solutions: int) -> bool:
    """True if an event begins matches."""
    found = False
    for number in range(solutions):
        found |= rules.opens[group.symbols[number]] != 0
    return found


@lean_step
def advance(
    rules: Rules,
    room: Room,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    state: Ids,
    row: int,
    group: Group,
    solutions: int,
    time: int,
) -> None:
    """Advances a row by the solutions of an event."""
    reached = 0
    for number in range(solutions):
        symbol = group.symbols[number]
        for each in range(rules.moves[symbol], rules.moves[symbol + 1]):
            if holds_matches(cells, row, rules.lane[each]):
                reached = reach(rules, scratch, rules.target[each], reached)
                move(rules, cells, slice_, scratch, row, each, group.rows[number], time)
    end_strict(rules, cells, row)
    for number in range(solutions):
        symbol = group.symbols[number]
        for kill in range(rules.killed[symbol], rules.killed[symbol + 1]):
            clear(cells, row, rules.kills[kill])
    for number in range(reached):
        target = scratch.states[number]
        scratch.reached[target] = 0
        for enter in range(rules.entered[target], rules.entered[target + 1]):
            arrive(rules, cells, scratch, room, state, row, rules.enters[enter], target, time)


@lean_part
def is_touched(rules: Rules, group: Group, solutions: int, lane: int) -> bool:
    """True if an event changes the row of a lane, of which nothing has gone on yet."""
    found = False
    for number in range(rules.strict.shape[0]):
        found |= rules.strict[number] == lane
    for number in range(solutions):
        symbol = group.symbols[number]
        for each in range(rules.moves[symbol], rules.moves[symbol + 1]):
            found |= rules.lane[each] == lane
        for kill in range(rules.killed[symbol], rules.killed[symbol + 1]):
            found |= rules.kills[kill] == lane
    return found


@lean_step
def prepend(
    direct: Direct,
    rules: Rules,
    algebra: Algebra,
    room: Room,
    cells: Cells,
    slice_: Slice,
    state: Ids,
    matrix: int,
    symbol: int,
    solution: int,
    time: int,
) -> None:
    """Multiplies a matrix from the left by an event of one solution, in place; numbers have one limb."""
    for back in range(direct.begins[symbol + 1] - direct.begins[symbol]):
        number = direct.begins[symbol + 1] - 1 - back
        into, after = matrix + int(direct.sources[number]), matrix + int(direct.targets[number])
        step = direct.moves[number]
        first = time if rules.begins[step] else AFTER_ALL
        for lane in range(cells.counts.shape[1]):
            count = cells.counts[after, lane, 0]
            if count == 0:
                continue
            _prepend_sums(rules, algebra, room, cells, slice_, state, into, after, lane, step, solution)
            for column in range(cells.best.shape[2]):
                greatest, effect = rules.greatest[column], rules.extreme[step, column]
                best, value = cells.best[after, lane, column], slice_.values[solution, column]
                if improves(best, cells.best[into, lane, column], greatest):
                    cells.best[into, lane, column] = best
                    cells.ids[into, lane, column] = cells.ids[after, lane, column]
                taken = effect in (SET, ADD) and keeps(algebra, cells, after, lane, column)
                if taken and improves(value, cells.best[into, lane, column], greatest):
                    cells.best[into, lane, column] = value
                    cells.ids[into, lane, column] = slice_.ids[solution, column]
            cells.first[into, lane] = min(cells.first[into, lane], first, cells.first[after, lane])
            total = cells.counts[into, lane, 0] + count
            cells.counts[into, lane, 0] = total
            if total >= room.counts:
                state[FULL] = 1


@lean_part
def _prepend_sums(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    cells: Cells,
    slice_: Slice,
    state: Ids,
    into: int,
    after: int,
    lane: int,
    step: int,
    solution: int,
) -> None:
    for column in range(cells.sums.shape[2]):
        effect, through = rules.linear[step, column], algebra.through[column]
        total = cells.sums[into, lane, column, 0]
        if through != OWN or effect == KEEP:
            total += cells.sums[after, lane, column, 0]
        if effect in (SET, ADD):
            place = slice_.column[column]
            addend = slice_.addends[solution, place, 0] * slice_.signs[solution, place]
            if effect == ADD:
                total += addend * cells.counts[after, lane, 0]
            else:
                total += addend * cells.sums[after, lane, through, 0]
        cells.sums[into, lane, column, 0] = total
        if abs(total) >= room.sums:
            state[FULL] = 1


@lean_part
def append(stacks: Stacks, state: Ids, slot: int) -> int:
    """Puts a free node at the end of a queue: there is one."""
    node = int(state[FREE])
    if node == NONE:
        node = int(state[DRAWN])
        state[DRAWN] = node + 1
    else:
        state[FREE] = stacks.next[node]
    state[HELD] += 1
    tail = stacks.tail[slot]
    stacks.next[node], stacks.previous[node] = NONE, tail
    if tail == NONE:
        stacks.head[slot] = node
    else:
        stacks.next[tail] = node
    stacks.tail[slot] = node
    if stacks.border[slot] == NONE:
        stacks.border[slot] = node
    return node


@lean_part
def pop(stacks: Stacks, state: Ids, slot: int) -> bool:
    """Frees the first node of a queue; True if it was part of the back."""
    node = int(stacks.head[slot])
    after = stacks.next[node]
    in_back = stacks.border[slot] == node
    stacks.head[slot] = after
    if in_back:
        stacks.border[slot] = after
    if after == NONE:
        stacks.tail[slot] = NONE
    else:
        stacks.previous[after] = NONE
    stacks.next[node] = state[FREE]
    state[FREE] = node
    state[HELD] -= 1
    return bool(in_back)


@lean_part
def set_unit_matrix(algebra: Algebra, cells: Cells, places: Places, matrix: int) -> None:
    """Makes the matrix of no event."""
    for lane in range(places.lanes):
        set_unit(algebra, cells, matrix + lane, lane)


@lean_step
def turn_events(
    rules: Rules,
    direct: Direct,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    stacks: Stacks,
    held: Slice,
    scratch: Scratch,
    group: Group,
    state: Ids,
    slot: int,
    every: Ids,
) -> bool:
    """Turns all of a queue of events into the front; False, with the queue as it was, if a number does not fit."""
    narrow = cells.counts.shape[2] == 1 and cells.sums.shape[3] == 1
    set_unit_matrix(algebra, cells, places, 0)
    node = int(stacks.tail[slot])
    while node != NONE:
        solutions = 0
        while stacks.flags[node] & JOINED:
            group.rows[solutions], group.symbols[solutions] = node, stacks.symbols[node]
            solutions += 1
            node = int(stacks.previous[node])
        group.rows[solutions], group.symbols[solutions] = node, stacks.symbols[node]
        solutions += 1
        time = held.times[node]
        if narrow and solutions == 1 and direct.able[stacks.symbols[node]]:
            prepend(direct, rules, algebra, room, cells, held, state, 0, stacks.symbols[node], node, time)
        elif not _prepend_event(
            rules,
            algebra,
            room,
            places,
            cells,
            flat,
            held,
            scratch,
            group,
            state,
            solutions,
            bool(stacks.flags[node] & APART),
            time,
            every,
        ):
            return False
        if state[FULL]:
            return False
        copy_row(cells, rules.opening[0], places.nodes + node)
        node = int(stacks.previous[node])
    stacks.flags[stacks.head[slot]] &= ~STALE
    stacks.border[slot] = NONE
    set_unit_matrix(algebra, cells, places, places.backs + slot * places.lanes)
    return True


@lean_step
def _prepend_event(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    places: Places,
    cells: Cells,
    flat: Flat,
    held: Slice,
    scratch: Scratch,
    group: Group,
    state: Ids,
    solutions: int,
    apart: bool,
    time: int,
    every: Ids,
) -> bool:
    """Multiplies the first matrix from the left by an event; False if a number does not fit."""
    lanes, fits = places.lanes, True
    for lane in range(lanes):
        if is_touched(rules, group, solutions, lane):
            set_unit(algebra, cells, places.spare, lane)
            if apart:
                end_strict(rules, cells, places.spare)
            advance(rules, room, cells, held, scratch, state, places.spare, group, solutions, time)
            fits &= multiply(rules, algebra, room, cells, flat, places.spare, 0, lanes + lane, every)
    for lane in range(lanes):
        if is_touched(rules, group, solutions, lane):
            copy_row(cells, lanes + lane, lane)
    return fits


@lean_part
def forget_before(stacks: Stacks, state: Ids, slot: int, where: int) -> None:
    """Frees the events of a queue before `where`, and those that no match begins with; a back left over is STALE."""
    turns = False
    while stacks.head[slot] != NONE:
        node = stacks.head[slot]
        if stacks.where[node] >= where and stacks.flags[node] & OPENS:
            break
        opens = bool(stacks.flags[node] & OPENS)
        turns |= pop(stacks, state, slot) and opens
        while stacks.head[slot] != NONE and stacks.flags[stacks.head[slot]] & JOINED:
            pop(stacks, state, slot)
    if turns and stacks.head[slot] != NONE:
        stacks.flags[stacks.head[slot]] |= STALE
