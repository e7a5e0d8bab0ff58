"""Lanes of one cell in the kernel: moved along an edge, added to, ended."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_part
from arrays.times import AFTER_ALL
from automata.propagation.kernel_arrays import ADD, FULL, KEEP, LIMB, SET, Cells, Room, Rules, Scratch, Slice
from automata.values import Ids

_MASK = (1 << LIMB) - 1


@lean_part
def end_strict(rules: Rules, cells: Cells, cell: int) -> None:
    """Ends the lanes that every event ends."""
    for number in range(rules.strict.shape[0]):
        clear(cells, cell, rules.strict[number])


@lean_part
def open_cell(rules: Rules, cells: Cells, cell: int, window: int) -> None:
    """Begins a window: the empty match is there, and nothing else."""
    cells.window[cell] = window
    cells.position[cell] = -2
    for lane in range(cells.counts.shape[1]):
        clear(cells, cell, lane)
    for number in range(rules.opening.shape[0]):
        cells.counts[cell, rules.opening[number], 0] = 1


@lean_part
def clear(cells: Cells, cell: int, lane: int) -> None:
    """Ends what is in a lane."""
    for limb in range(cells.counts.shape[2]):
        cells.counts[cell, lane, limb] = 0
    for measure in range(cells.sums.shape[2]):
        for limb in range(cells.sums.shape[3]):
            cells.sums[cell, lane, measure, limb] = 0
    for measure in range(cells.best.shape[2]):
        cells.best[cell, lane, measure] = np.nan


@lean_part
def holds_matches(cells: Cells, cell: int, lane: int) -> bool:
    """True if a lane is not empty."""
    found = False
    for limb in range(cells.counts.shape[2]):
        found |= cells.counts[cell, lane, limb] != 0
    return found


@lean_part
def reach(rules: Rules, scratch: Scratch, target: int, reached: int) -> int:
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
    scratch.first[target] = AFTER_ALL
    return reached + 1


@lean_part
def move(
    rules: Rules, cells: Cells, slice_: Slice, scratch: Scratch, cell: int, move: int, solution: int, time: int
) -> None:
    """Adds a lane to a state, as it is after a step that this solution takes."""
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
    """Adds the solution's addend, as often as there are matches in the lane; no product reaches the last limb.

    A count of one limb is taken as two, unless sums have one, too.
    """
    column = slice_.column[measure]
    limbs, last = cells.counts.shape[2], cells.sums.shape[3] - 1
    if last == 0:
        factor = slice_.addends[solution, column, 0] * slice_.signs[solution, column]
        scratch.sums[target, measure, 0] += cells.counts[cell, lane, 0] * factor
        return
    split = limbs == 1
    if split:
        limbs = 2
    for part in range(slice_.addends.shape[2]):
        factor = slice_.addends[solution, column, part] * slice_.signs[solution, column]
        if factor == 0:
            continue
        carry = np.int64(0)
        for limb in range(limbs):
            count = cells.counts[cell, lane, 0 if split else limb]
            if split:
                count = count & _MASK if limb == 0 else count >> LIMB
            total = scratch.sums[target, measure, part + limb] + count * factor + carry
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
        if improves(taken, value, rules.greatest[measure]):
            value, identifier = taken, slice_.ids[solution, measure]
    if improves(value, scratch.best[target, measure], rules.greatest[measure]):
        scratch.best[target, measure], scratch.ids[target, measure] = value, identifier


@lean_part
def improves(value: float, known: float, greatest: int) -> bool:
    """NaN is no value."""
    if value != value:
        return False
    if known != known:
        return True
    return value > known if greatest else value < known


@lean_part
def arrive(
    rules: Rules, cells: Cells, scratch: Scratch, room: Room, state: Ids, cell: int, lane: int, target: int, time: int
) -> None:
    """Adds what reaches a state to a lane of it."""
    if cells.first.shape[0] > 0:
        known = cells.first[cell, lane] if holds_matches(cells, cell, lane) else scratch.first[target]
        cells.first[cell, lane] = min(known, scratch.first[target])
        cells.last[cell, lane] = time
    carry = np.int64(0)
    limbs = cells.counts.shape[2]
    for limb in range(limbs - 1):
        total = cells.counts[cell, lane, limb] + scratch.counts[target, limb] + carry
        cells.counts[cell, lane, limb] = total & _MASK
        carry = total >> LIMB
    cells.counts[cell, lane, limbs - 1] += scratch.counts[target, limbs - 1] + carry
    if cells.counts[cell, lane, limbs - 1] >= room.counts:
        state[FULL] = 1
    limbs = cells.sums.shape[3]
    for measure in range(cells.sums.shape[2]):
        carry = np.int64(0)
        for limb in range(limbs - 1):
            total = cells.sums[cell, lane, measure, limb] + scratch.sums[target, measure, limb] + carry
            cells.sums[cell, lane, measure, limb] = total & _MASK
            carry = total >> LIMB
        cells.sums[cell, lane, measure, limbs - 1] += scratch.sums[target, measure, limbs - 1] + carry
        if abs(cells.sums[cell, lane, measure, limbs - 1]) >= room.sums:
            state[FULL] = 1
    for measure in range(cells.best.shape[2]):
        if improves(scratch.best[target, measure], cells.best[cell, lane, measure], rules.greatest[measure]):
            cells.best[cell, lane, measure] = scratch.best[target, measure]
            cells.ids[cell, lane, measure] = scratch.ids[target, measure]
