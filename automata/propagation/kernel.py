"""Propagation compiled: a slice is merged by event, and each solution moves the aggregates of a few lanes.

Counts and sums are integers of any size: limbs of 31 bits, the least first, of which the last carries the sign and
keeps room for what one event adds. When it is nearly used up the kernel stops, and goes on with one limb more.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel, lean_part
from automata.values import NONE, Ids

Floats = NDArray[np.float64]
LIMB = 31
"""Bits of a limb."""
_MASK = (1 << LIMB) - 1
_ROOM = 1 << 29
"""The last limb of a number that needs another one."""
KEEP, SET, ADD, FORGET = range(4)
"""The effect of a move on a measure: none; its last value is replaced; it is added to; it has no value any more."""
_NO_EVENT = 1 << 62
NO_WINDOW = -(1 << 62)
"""The window of a cell that is not in use; windows before the epoch have numbers below 0."""
_PRIME = 0x9E3779B97F4A7C15


class Stop(IntEnum):
    """The reason why the kernel stopped: the end of the slice, or what it lacks."""

    DONE = 0
    KEYS = 1
    OUTPUT = 2
    LIMBS = 3


_DONE, _KEYS, _OUTPUT, _LIMBS = (int(stop) for stop in Stop)
STATE = 6
SLOTS, OPEN_FIRST, OPEN_LAST, EMITTED, EMITTING, FULL = range(STATE)
"""Places of what the kernel goes on from: keys in use, the least and the greatest open window (the greatest is less:
none is open), rows written, the next key of the window that is being closed, 1 once a number needs a limb more."""


class Rules(NamedTuple):
    """A machine as arrays; ranges as offsets.

    moves       symbol → its range of `lane`, `target`, `begins`, and rows of `linear` and `extreme`
    linear, extreme     the effect of each move on each linear and each extreme measure
    greatest    1 for each extreme measure that looks for the greatest
    killed      symbol → its range of `kills`; entered: state → its range of `enters`
    opens       1 for symbols that a cell begins with
    """

    moves: Ids
    lane: Ids
    target: Ids
    begins: Ids
    linear: Ids
    extreme: Ids
    greatest: Ids
    killed: Ids
    kills: Ids
    entered: Ids
    enters: Ids
    strict: Ids
    opening: Ids
    ends: Ids
    opens: Ids


class Shape(NamedTuple):
    """The windows: number of the first position or time, size, hop; how many may be open at once."""

    start: int
    size: int
    hop: int
    open_max: int
    anchored: int
    in_events: int
    consecutive: int


class Cells(NamedTuple):
    """Slots of keys, and the cells of each, one for each open window: `slot * open_max + window % open_max`.

    table       hash table: slot + 1 of a key, or 0
    keys        int64[slots, key]
    window      the window of each cell, or NO_WINDOW
    position    see `automata.propagation.cells.Cell`
    counts      int64[cells, lanes, limbs]
    sums        int64[cells, lanes, linear measures, wider limbs]
    best        float64[cells, lanes, extreme measures], NaN: none; ids alike
    first, last times of first and last events; none where nobody asks
    members     int64[open_max, slots]: the slots with a cell in a window; member_counts: how many
    """

    table: Ids
    keys: Ids
    window: Ids
    position: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids
    last: Ids
    members: Ids
    member_counts: Ids


class Slice(NamedTuple):
    """The solutions of a slice, those of one symbol after those of another, each ascending by event.

    begins      symbol → offset; cursors: the next solution of each symbol
    addends     int64[solutions, addend columns, limbs], magnitudes; signs alike
    column      linear measure → its addend column
    values      float64[solutions, extreme measures], NaN: unbound; ids alike
    """

    times: Ids
    position: int
    begins: Ids
    cursors: Ids
    events: Ids
    keys: Ids
    addends: Ids
    signs: Ids
    column: Ids
    values: Floats
    ids: Ids


class Scratch(NamedTuple):
    """What one event adds to each state; `states`: those it reaches; rows of one event: solution, symbol, slot."""

    reached: Ids
    states: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids
    rows: Ids


class Output(NamedTuple):
    """What closed windows have found: window, slot's key, and the vector of one end."""

    windows: Ids
    keys: Ids
    ends: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids
    last: Ids


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
    """What the solutions of an event with one key make of the cell of one window."""
    place = window % shape.open_max
    cell = slot * shape.open_max + place
    if cells.window[cell] != window:
        opens = 0
        for other in range(row, found):
            if scratch.rows[other, 2] == slot:
                opens |= rules.opens[scratch.rows[other, 1]]
        if not opens:
            return
        _open(rules, cells, cell, window)
        cells.members[place, cells.member_counts[place]] = slot
        cells.member_counts[place] += 1
        if state[OPEN_FIRST] > state[OPEN_LAST]:
            state[OPEN_FIRST] = state[OPEN_LAST] = window
        state[OPEN_FIRST] = min(state[OPEN_FIRST], window)
        state[OPEN_LAST] = max(state[OPEN_LAST], window)
    if shape.consecutive == 0 and cells.position[cell] != position - 1:
        _end_strict(rules, cells, cell)
    reached = 0
    for other in range(row, found):
        if scratch.rows[other, 2] == slot:
            solution, symbol = scratch.rows[other, 0], scratch.rows[other, 1]
            for move in range(rules.moves[symbol], rules.moves[symbol + 1]):
                if _nonzero(cells, cell, rules.lane[move]):
                    reached = _reach(rules, scratch, rules.target[move], reached)
                    _move(rules, cells, slice_, scratch, cell, move, solution, time)
    _end_strict(rules, cells, cell)
    for other in range(row, found):
        if scratch.rows[other, 2] == slot:
            symbol = scratch.rows[other, 1]
            for kill in range(rules.killed[symbol], rules.killed[symbol + 1]):
                _clear(cells, cell, rules.kills[kill])
    cells.position[cell] = position
    for number in range(reached):
        target = scratch.states[number]
        scratch.reached[target] = 0
        for enter in range(rules.entered[target], rules.entered[target + 1]):
            _add(rules, cells, scratch, state, cell, rules.enters[enter], target, time)


@lean_part
def _end_strict(rules: Rules, cells: Cells, cell: int) -> None:
    for number in range(rules.strict.shape[0]):
        _clear(cells, cell, rules.strict[number])


@lean_part
def _open(rules: Rules, cells: Cells, cell: int, window: int) -> None:
    cells.window[cell] = window
    cells.position[cell] = -2
    for lane in range(cells.counts.shape[1]):
        _clear(cells, cell, lane)
    for number in range(rules.opening.shape[0]):
        cells.counts[cell, rules.opening[number], 0] = 1


@lean_part
def _clear(cells: Cells, cell: int, lane: int) -> None:
    for limb in range(cells.counts.shape[2]):
        cells.counts[cell, lane, limb] = 0
    for measure in range(cells.sums.shape[2]):
        for limb in range(cells.sums.shape[3]):
            cells.sums[cell, lane, measure, limb] = 0
    for measure in range(cells.best.shape[2]):
        cells.best[cell, lane, measure] = np.nan


@lean_part
def _nonzero(cells: Cells, cell: int, lane: int) -> bool:
    found = False
    for limb in range(cells.counts.shape[2]):
        found |= cells.counts[cell, lane, limb] != 0
    return found


@lean_part
def _reach(rules: Rules, scratch: Scratch, target: int, reached: int) -> int:
    """Makes room for what reaches a state."""
    if scratch.reached[target]:
        return reached
    scratch.reached[target] = 1
    scratch.states[reached] = target
    for limb in range(scratch.counts.shape[1]):
        scratch.counts[target, limb] = 0
    for measure in range(scratch.sums.shape[1]):
        for limb in range(scratch.sums.shape[2]):
            scratch.sums[target, measure, limb] = 0
    for measure in range(scratch.best.shape[1]):
        scratch.best[target, measure] = np.nan
    scratch.first[target] = np.int64((1 << 63) - 1)
    return reached + 1


@lean_part
def _move(
    rules: Rules, cells: Cells, slice_: Slice, scratch: Scratch, cell: int, move: int, solution: int, time: int
) -> None:
    lane, target = rules.lane[move], rules.target[move]
    carry = np.int64(0)
    limbs = cells.counts.shape[2]
    for limb in range(limbs - 1):
        total = scratch.counts[target, limb] + cells.counts[cell, lane, limb] + carry
        scratch.counts[target, limb] = total & _MASK
        carry = total >> LIMB
    scratch.counts[target, limbs - 1] += cells.counts[cell, lane, limbs - 1] + carry
    for measure in range(cells.sums.shape[2]):
        effect = rules.linear[move, measure]
        if effect in (KEEP, ADD):
            _sum(scratch, cells, cell, lane, target, measure)
        if effect in (SET, ADD):
            _product(scratch, cells, slice_, cell, lane, target, measure, solution)
    for measure in range(cells.best.shape[2]):
        _better(rules, cells, slice_, scratch, cell, lane, target, measure, rules.extreme[move, measure], solution)
    if cells.first.shape[0] > 0:
        first = time if rules.begins[move] else cells.first[cell, lane]
        scratch.first[target] = min(scratch.first[target], first)


@lean_part
def _sum(scratch: Scratch, cells: Cells, cell: int, lane: int, target: int, measure: int) -> None:
    carry = np.int64(0)
    limbs = cells.sums.shape[3]
    for limb in range(limbs - 1):
        total = scratch.sums[target, measure, limb] + cells.sums[cell, lane, measure, limb] + carry
        scratch.sums[target, measure, limb] = total & _MASK
        carry = total >> LIMB
    scratch.sums[target, measure, limbs - 1] += cells.sums[cell, lane, measure, limbs - 1] + carry


@lean_part
def _product(
    scratch: Scratch, cells: Cells, slice_: Slice, cell: int, lane: int, target: int, measure: int, solution: int
) -> None:
    """Adds the solution's addend, as often as there are matches in the lane; no product reaches the last limb."""
    column = slice_.column[measure]
    limbs, last = cells.counts.shape[2], cells.sums.shape[3] - 1
    for part in range(slice_.addends.shape[2]):
        factor = slice_.addends[solution, column, part] * slice_.signs[solution, column]
        if factor == 0:
            continue
        carry = np.int64(0)
        for limb in range(limbs):
            total = scratch.sums[target, measure, part + limb] + cells.counts[cell, lane, limb] * factor + carry
            scratch.sums[target, measure, part + limb] = total & _MASK
            carry = total >> LIMB
        limb = part + limbs
        while carry != 0 and limb < last:
            total = scratch.sums[target, measure, limb] + carry
            scratch.sums[target, measure, limb] = total & _MASK
            carry = total >> LIMB
            limb += 1
        scratch.sums[target, measure, last] += carry


@lean_part
def _better(
    rules: Rules,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    cell: int,
    lane: int,
    target: int,
    measure: int,
    effect: int,
    solution: int,
) -> None:
    value, identifier = np.nan, np.int64(0)
    if effect in (KEEP, ADD):
        value, identifier = cells.best[cell, lane, measure], cells.ids[cell, lane, measure]
    if effect in (SET, ADD):
        taken = slice_.values[solution, measure]
        if _improves(taken, value, rules.greatest[measure]):
            value, identifier = taken, slice_.ids[solution, measure]
    if _improves(value, scratch.best[target, measure], rules.greatest[measure]):
        scratch.best[target, measure], scratch.ids[target, measure] = value, identifier


@lean_part
def _improves(value: float, known: float, greatest: int) -> bool:
    """NaN is no value."""
    if value != value:
        return False
    if known != known:
        return True
    return value > known if greatest else value < known


@lean_part
def _add(
    rules: Rules, cells: Cells, scratch: Scratch, state: Ids, cell: int, lane: int, target: int, time: int
) -> None:
    """Adds what reaches a state to a lane of it."""
    if cells.first.shape[0] > 0:
        known = cells.first[cell, lane] if _nonzero(cells, cell, lane) else scratch.first[target]
        cells.first[cell, lane] = min(known, scratch.first[target])
        cells.last[cell, lane] = time
    carry = np.int64(0)
    limbs = cells.counts.shape[2]
    for limb in range(limbs - 1):
        total = cells.counts[cell, lane, limb] + scratch.counts[target, limb] + carry
        cells.counts[cell, lane, limb] = total & _MASK
        carry = total >> LIMB
    cells.counts[cell, lane, limbs - 1] += scratch.counts[target, limbs - 1] + carry
    if cells.counts[cell, lane, limbs - 1] >= _ROOM:
        state[FULL] = 1
    limbs = cells.sums.shape[3]
    for measure in range(cells.sums.shape[2]):
        carry = np.int64(0)
        for limb in range(limbs - 1):
            total = cells.sums[cell, lane, measure, limb] + scratch.sums[target, measure, limb] + carry
            cells.sums[cell, lane, measure, limb] = total & _MASK
            carry = total >> LIMB
        cells.sums[cell, lane, measure, limbs - 1] += scratch.sums[target, measure, limbs - 1] + carry
        if abs(cells.sums[cell, lane, measure, limbs - 1]) >= _ROOM:
            state[FULL] = 1
    for measure in range(cells.best.shape[2]):
        if _improves(scratch.best[target, measure], cells.best[cell, lane, measure], rules.greatest[measure]):
            cells.best[cell, lane, measure] = scratch.best[target, measure]
            cells.ids[cell, lane, measure] = scratch.ids[target, measure]


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
                if _nonzero(cells, cell, rules.ends[end]):
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
