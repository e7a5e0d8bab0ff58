"""Rows of quantities in the kernel of a group: copied, cleared, and added to each other."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_part
from automata.propagation.kernel_arrays import LIMB, Room, Slice
from automata.propagation.kernel_lanes import improves
from automata.propagation.shared.arrays import FULL, Cells, Frames, Programs, Scratch
from automata.values import Ids

COUNT, COUNT_IF, SUM, PRODUCT, BEST, VALUE = range(6)
"""`equations.Op`, as numbers."""
_COUNTS, _SUMS = range(2)
"""`equations.Kind`, as numbers; the third is that of extremes."""
_MASK = (1 << LIMB) - 1
_Bases = tuple[int, int, int]


@lean_part
def copy(frames: Frames, cells: Cells, scratch: Scratch, frame: int, slot: int, bases: _Bases) -> None:
    """Keeps the quantities of a section as they are before an event."""
    counts, sums, best = bases
    for limb in range(cells.counts.shape[1]):
        for number in range(np.uint64(frames.count_width[frame])):
            scratch.counts[0, limb, number] = cells.counts[slot, limb, np.uint64(counts) + number]
    for limb in range(cells.sums.shape[1]):
        for number in range(np.uint64(frames.sum_width[frame])):
            scratch.sums[0, limb, number] = cells.sums[slot, limb, np.uint64(sums) + number]
    for number in range(np.uint64(frames.best_width[frame])):
        scratch.best[0, number] = cells.best[slot, np.uint64(best) + number]
        scratch.ids[0, number] = cells.ids[slot, np.uint64(best) + number]


@lean_part
def clear(programs: Programs, cells: Cells, slot: int, bases: _Bases, begin: int, end: int) -> None:
    """Sets ranges of quantities to nothing."""
    counts, sums, best = bases
    for at in range(begin, end):
        kind, first, many = programs.cleared[at, 0], programs.cleared[at, 1], programs.cleared[at, 2]
        if kind == _COUNTS:
            for limb in range(cells.counts.shape[1]):
                for number in range(counts + first, counts + first + many):
                    cells.counts[slot, limb, number] = 0
        elif kind == _SUMS:
            for limb in range(cells.sums.shape[1]):
                for number in range(sums + first, sums + first + many):
                    cells.sums[slot, limb, number] = 0
        else:
            for number in range(best + first, best + first + many):
                cells.best[slot, number] = np.nan


@lean_part
def add_narrow(
    programs: Programs,
    room: Room,
    cells: Cells,
    slice_: Slice,
    given: tuple[Ids, Ids],
    scratch: Scratch,
    state: Ids,
    slot: int,
    bases: _Bases,
    where: int,
    solution: int,
    safe: bool,
) -> None:
    """Adds all rows of one symbol; integers have one limb.

    given   counts and sums as they were before the event; `safe`: they are those of the cells
    """
    counts, sums, _ = bases
    from_counts, from_sums = given
    peak_count, peak_sum = np.int64(0), np.int64(0)
    row, before_counts, before_sums = (np.uint64(slot), counts, sums) if safe else (np.uint64(0), 0, 0)
    key = np.uint64(slot)
    none = np.uint64(0)
    for run in range(programs.runs[where], programs.runs[where + 1]):
        op, step, many = programs.run[run, 0], programs.run[run, 2], np.uint64(programs.run[run, 4])
        if op == COUNT_IF and slice_.addends[solution, programs.run[run, 5], 0] == 0:
            continue
        if op <= COUNT_IF:
            source = np.uint64(before_counts + programs.run[run, 1])
            target = np.uint64(counts + programs.run[run, 3])
            if many == 1:
                total = cells.counts[key, none, target] + from_counts[row, none, source]
                cells.counts[key, none, target] = total
                peak_count |= total
            elif step:
                for n in range(many):
                    total = cells.counts[key, none, target + n] + from_counts[row, none, source + n]
                    cells.counts[key, none, target + n] = total
                    peak_count |= total
            else:
                added = from_counts[row, none, source]
                for n in range(many):
                    total = cells.counts[key, none, target + n] + added
                    cells.counts[key, none, target + n] = total
                    peak_count |= total
        elif op == SUM:
            source, target = np.uint64(before_sums + programs.run[run, 1]), np.uint64(sums + programs.run[run, 3])
            for n in range(many):
                at = source + n if step else source
                total = cells.sums[key, none, target + n] + from_sums[row, none, at]
                cells.sums[key, none, target + n] = total
                peak_sum |= total ^ (total >> 63)
        elif op == PRODUCT:
            source, target = np.uint64(before_counts + programs.run[run, 1]), np.uint64(sums + programs.run[run, 3])
            column = programs.run[run, 5]
            factor = slice_.addends[solution, column, 0] * slice_.signs[solution, column]
            for n in range(many):
                at = source + n if step else source
                total = cells.sums[key, none, target + n] + factor * from_counts[row, none, at]
                cells.sums[key, none, target + n] = total
                peak_sum |= total ^ (total >> 63)
        else:
            _add_best(programs, cells, slice_, scratch, slot, bases, run, solution, safe)
    if peak_count >= room.counts or peak_sum >= room.sums:
        state[FULL] = 1


@lean_part
def _add_best(
    programs: Programs,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    slot: int,
    bases: _Bases,
    run: int,
    solution: int,
    safe: bool,
) -> None:
    """The better ones of a row of extremes and another one, or the solution's number."""
    counts, _, best = bases
    source, step, target = programs.run[run, 1], programs.run[run, 2], programs.run[run, 3]
    column = programs.run[run, 5]
    for n in range(programs.run[run, 4]):
        at, place = source + n * step, best + target + n
        value, identifier = np.nan, np.int64(0)
        if programs.run[run, 0] == BEST:
            if safe:
                value, identifier = cells.best[slot, best + at], cells.ids[slot, best + at]
            else:
                value, identifier = scratch.best[0, at], scratch.ids[0, at]
        else:
            there = False
            for limb in range(cells.counts.shape[1]):
                there |= (cells.counts[slot, limb, counts + at] if safe else scratch.counts[0, limb, at]) != 0
            if there:
                value, identifier = slice_.values[solution, column], slice_.ids[solution, column]
        if improves(value, cells.best[slot, place], programs.run[run, 6]):
            cells.best[slot, place], cells.ids[slot, place] = value, identifier


@lean_part
def add_wide(
    programs: Programs,
    room: Room,
    cells: Cells,
    slice_: Slice,
    scratch: Scratch,
    state: Ids,
    slot: int,
    bases: _Bases,
    where: int,
    solution: int,
) -> None:
    """Adds all rows of one symbol, whose sources have been copied; integers have several limbs."""
    counts, sums, _ = bases
    for run in range(programs.runs[where], programs.runs[where + 1]):
        op, step, column = programs.run[run, 0], programs.run[run, 2], programs.run[run, 5]
        if op == COUNT_IF and slice_.addends[solution, column, 0] == 0:
            continue
        if op >= BEST:
            _add_best(programs, cells, slice_, scratch, slot, bases, run, solution, False)
            continue
        for n in range(programs.run[run, 4]):
            source, target = programs.run[run, 1] + n * step, programs.run[run, 3] + n
            if op <= COUNT_IF:
                _add(cells.counts, slot, counts + target, scratch.counts, 0, source)
                if cells.counts[slot, cells.counts.shape[1] - 1, counts + target] >= room.counts:
                    state[FULL] = 1
                continue
            if op == SUM:
                _add(cells.sums, slot, sums + target, scratch.sums, 0, source)
            else:
                _multiply(cells.sums, slot, sums + target, scratch.counts, 0, source, slice_, solution, column)
            if abs(cells.sums[slot, cells.sums.shape[1] - 1, sums + target]) >= room.sums:
                state[FULL] = 1


@lean_part
def _add(into: Ids, slot: int, target: int, numbers: Ids, row: int, source: int) -> None:
    carry, last = np.int64(0), into.shape[1] - 1
    for limb in range(last):
        total = into[slot, limb, target] + numbers[row, limb, source] + carry
        into[slot, limb, target] = total & _MASK
        carry = total >> LIMB
    into[slot, last, target] += numbers[row, last, source] + carry


@lean_part
def _multiply(
    into: Ids,
    slot: int,
    target: int,
    numbers: Ids,
    row: int,
    source: int,
    slice_: Slice,
    solution: int,
    column: int,
) -> None:
    """Adds a count times the solution's number; sums have more limbs than both together, so no product is cut off.

    A count of one limb is taken as two.
    """
    limbs, last = numbers.shape[1], into.shape[1] - 1
    split = limbs == 1
    if split:
        limbs = 2
    for part in range(slice_.addends.shape[2]):
        factor = slice_.addends[solution, column, part] * slice_.signs[solution, column]
        if factor == 0:
            continue
        carry = np.int64(0)
        for limb in range(limbs):
            count = numbers[row, 0 if split else limb, source]
            if split:
                count = count & _MASK if limb == 0 else count >> LIMB
            total = into[slot, part + limb, target] + count * factor + carry
            into[slot, part + limb, target] = total & _MASK
            carry = total >> LIMB
        limb = part + limbs
        while carry != 0 and limb < last:
            total = into[slot, limb, target] + carry
            into[slot, limb, target] = total & _MASK
            carry = total >> LIMB
            limb += 1
        into[slot, last, target] += carry
