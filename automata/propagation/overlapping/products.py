"""Rows multiplied by matrices, with integers in limbs as in `automata.propagation.kernel`."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_part, lean_step
from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.propagation.kernel_arrays import LIMB, Cells, Room, Rules
from automata.propagation.kernel_lanes import clear, holds_matches, improves
from automata.propagation.overlapping.arrays import ALL, OWN, Algebra, Flat
from automata.values import Ids

_MASK = (1 << LIMB) - 1
_HALF = 1 << (LIMB - 1)


@lean_part
def set_unit(algebra: Algebra, cells: Cells, row: int, lane: int) -> None:
    """Makes the row of a lane from which nothing has gone on yet."""
    for each in range(cells.counts.shape[1]):
        clear(cells, row, each)
        cells.first[row, each], cells.last[row, each] = AFTER_ALL, BEFORE_ALL
    cells.counts[row, lane, 0] = 1
    for column in range(algebra.through.shape[0]):
        if algebra.through[column] == OWN:
            cells.sums[row, lane, column, 0] = 1


@lean_part
def copy_row(cells: Cells, source: int, target: int) -> None:
    """Copies a row."""
    for lane in range(cells.counts.shape[1]):
        for limb in range(cells.counts.shape[2]):
            cells.counts[target, lane, limb] = cells.counts[source, lane, limb]
        for column in range(cells.sums.shape[2]):
            for limb in range(cells.sums.shape[3]):
                cells.sums[target, lane, column, limb] = cells.sums[source, lane, column, limb]
        for column in range(cells.best.shape[2]):
            cells.best[target, lane, column] = cells.best[source, lane, column]
            cells.ids[target, lane, column] = cells.ids[source, lane, column]
        cells.first[target, lane], cells.last[target, lane] = cells.first[source, lane], cells.last[source, lane]


@lean_step
def multiply(
    rules: Rules, algebra: Algebra, room: Room, cells: Cells, flat: Flat, row: int, matrix: int, into: int, lanes: Ids
) -> bool:
    """Writes the product of a row and a matrix, in some lanes; False: a number does not fit."""
    fits = True
    for number in range(lanes.shape[0]):
        clear(cells, into, lanes[number])
        cells.first[into, lanes[number]], cells.last[into, lanes[number]] = AFTER_ALL, BEFORE_ALL
    for through in range(cells.counts.shape[1]):
        if not holds_matches(cells, row, through):
            continue
        for number in range(lanes.shape[0]):
            lane = lanes[number]
            if holds_matches(cells, matrix + through, lane):
                fits &= _add_path(rules, algebra, room, cells, flat, row, matrix + through, into, through, lane)
    return fits


@lean_part
def _add_path(
    rules: Rules,
    algebra: Algebra,
    room: Room,
    cells: Cells,
    flat: Flat,
    row: int,
    after: int,
    into: int,
    through: int,
    lane: int,
) -> bool:
    """Adds what a row has in the lane `through`, as it goes on to `lane` by the row `after`."""
    lanes, columns = cells.counts.shape[1], cells.sums.shape[2]
    limbs, wide = cells.counts.shape[2], cells.sums.shape[3]
    counted, going = (row * lanes + through) * limbs, (after * lanes + lane) * limbs
    target = (into * lanes + lane) * limbs
    fits = add_product(flat.counts, target, limbs, flat.counts, counted, limbs, flat.counts, going, limbs, room.counts)
    for column in range(columns):
        added = ((row * lanes + through) * columns + column) * wide
        later = ((after * lanes + lane) * columns + column) * wide
        target = ((into * lanes + lane) * columns + column) * wide
        kept = algebra.through[column]
        if kept == OWN:
            fits &= add_product(flat.sums, target, wide, flat.sums, added, wide, flat.sums, later, wide, room.sums)
            continue
        fits &= add_product(flat.sums, target, wide, flat.counts, counted, limbs, flat.sums, later, wide, room.sums)
        if kept == ALL:
            fits &= add_product(flat.sums, target, wide, flat.counts, going, limbs, flat.sums, added, wide, room.sums)
        else:
            paths = ((after * lanes + lane) * columns + kept) * wide
            fits &= add_product(flat.sums, target, wide, flat.sums, paths, wide, flat.sums, added, wide, room.sums)
    for column in range(cells.best.shape[2]):
        greatest = rules.greatest[column]
        if keeps(algebra, cells, after, lane, column):
            _take_better(cells, row, through, into, lane, column, greatest)
        _take_better(cells, after, lane, into, lane, column, greatest)
    first = min(cells.first[row, through], cells.first[after, lane])
    cells.first[into, lane] = min(cells.first[into, lane], first)
    last = max(cells.last[row, through], cells.last[after, lane])
    cells.last[into, lane] = max(cells.last[into, lane], last)
    return fits


@lean_part
def keeps(algebra: Algebra, cells: Cells, row: int, lane: int, column: int) -> bool:
    """True if some path to a lane keeps the extremes that were there before it."""
    kept = algebra.kept[column]
    if kept == ALL:
        return True
    found = False
    for limb in range(cells.sums.shape[3]):
        found |= cells.sums[row, lane, kept, limb] != 0
    return found


@lean_part
def _take_better(cells: Cells, row: int, lane: int, into: int, target: int, column: int, greatest: int) -> None:
    if improves(cells.best[row, lane, column], cells.best[into, target, column], greatest):
        cells.best[into, target, column] = cells.best[row, lane, column]
        cells.ids[into, target, column] = cells.ids[row, lane, column]


@lean_part
def add_product(
    totals: Ids,
    total: int,
    width: int,
    factors: Ids,
    factor: int,
    factor_width: int,
    numbers: Ids,
    number: int,
    number_width: int,
    limit: int,
) -> bool:
    """Adds a number, as often as a factor that is not negative says; False: the result may not fit.

    The last limb of a result is less than the limit.
    """
    if width == 1:
        one, other = factors[factor], numbers[number]
        if one == 0 or other == 0:
            return True
        if float(one) * abs(float(other)) >= float(limit):
            return False
        found = totals[total] + one * other
        totals[total] = found
        return bool(abs(found) < limit)
    used = factor_width
    while used > 0 and factors[factor + used - 1] == 0:
        used -= 1
    sign = np.int64(-1) if numbers[number + number_width - 1] < 0 else np.int64(0)
    length = number_width
    while length > 0 and numbers[number + length - 1] == (sign if length == number_width else sign & _MASK):
        length -= 1
    if used == 0 or (length == 0 and sign == 0):
        return True
    if used + length >= width:
        return False
    for low in range(used):
        carry = np.int64(0)
        for high in range(number_width):
            if low + high < width:
                place = total + low + high
                found = totals[place] + factors[factor + low] * numbers[number + high] + carry
                totals[place] = found & _MASK
                carry = found >> LIMB
        for place in range(low + number_width, width):
            found = totals[total + place] + carry
            totals[total + place] = found & _MASK
            carry = found >> LIMB
    top = totals[total + width - 1] & _MASK
    if top >= _HALF:
        top -= 1 << LIMB
    totals[total + width - 1] = top
    return bool(abs(top) < limit)
