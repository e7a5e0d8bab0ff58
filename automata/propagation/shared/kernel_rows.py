"""Rows of quantities in the kernel of a group: copied, cleared, and added to each other.

All arrays are flat: a row of cells stands at its slot times its size, limb after limb. Rows of quantities are added a
limb at a time, so that each limb is one vector operation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_part
from automata.propagation.kernel_arrays import LIMB, Slice
from automata.propagation.kernel_lanes import improves
from automata.propagation.shared.arrays import Bundles, Numbers, Programs
from automata.values import Ids

COUNT, COUNT_IF, SUM, PRODUCT, BEST, VALUE = range(6)
"""`equations.Op`, as numbers."""
_COUNTS, _SUMS = range(2)
"""`equations.Kind`, as numbers; the third is that of extremes."""
_MASK = (1 << LIMB) - 1


class Bases(NamedTuple):
    """The places of the first quantities of a bundle in the flat arrays."""

    counts: int
    sums: int
    best: int


@lean_part
def bases_of(bundles: Bundles, numbers: Numbers, bundle: int, slot: int) -> Bases:
    """The places of a bundle in a row of cells."""
    return Bases(
        slot * numbers.count_limbs * numbers.count_width + bundles.counts[bundle],
        slot * numbers.sum_limbs * numbers.sum_width + bundles.sums[bundle],
        slot * numbers.best_width + bundles.best[bundle],
    )


@lean_part
def copy(bundles: Bundles, numbers: Numbers, bundle: int, bases: Bases, to: Bases) -> None:
    """Keeps the quantities of a bundle as they are before an event."""
    for limb in range(numbers.count_limbs):
        begin = limb * numbers.count_width
        _copy_row(numbers.counts, bases.counts + begin, to.counts + begin, bundles.count_width[bundle])
    for limb in range(numbers.sum_limbs):
        begin = limb * numbers.sum_width
        _copy_row(numbers.sums, bases.sums + begin, to.sums + begin, bundles.sum_width[bundle])
    for number in range(bundles.best_width[bundle]):
        numbers.best[to.best + number] = numbers.best[bases.best + number]
        numbers.ids[to.best + number] = numbers.ids[bases.best + number]


@lean_part
def _copy_row(numbers: Ids, source: int, target: int, many: int) -> None:
    begin, to = np.uint64(source), np.uint64(target)
    for n in range(np.uint64(many)):
        numbers[to + n] = numbers[begin + n]


@lean_part
def clear(programs: Programs, numbers: Numbers, bases: Bases, begin: int, end: int) -> None:
    """Sets ranges of quantities to nothing."""
    for at in range(begin, end):
        kind, first, many = programs.cleared[at, 0], programs.cleared[at, 1], programs.cleared[at, 2]
        if kind == _COUNTS:
            for limb in range(numbers.count_limbs):
                _clear_row(numbers.counts, bases.counts + limb * numbers.count_width + first, many)
        elif kind == _SUMS:
            for limb in range(numbers.sum_limbs):
                _clear_row(numbers.sums, bases.sums + limb * numbers.sum_width + first, many)
        else:
            for number in range(bases.best + first, bases.best + first + many):
                numbers.best[number] = np.nan


@lean_part
def _clear_row(numbers: Ids, first: int, many: int) -> None:
    begin = np.uint64(first)
    for n in range(np.uint64(many)):
        numbers[begin + n] = 0


@lean_part
def add_rows(
    programs: Programs, numbers: Numbers, slice_: Slice, bases: Bases, given: Bases, where: int, solution: int
) -> tuple[np.int64, np.int64]:
    """Adds all rows of one symbol; returns the last limbs of all counts and of all sums that have changed, or-ed.

    given   the places of what is added: `bases` themselves, or those of a copy
    """
    peak_counts, peak_sums = np.int64(0), np.int64(0)
    for run in range(programs.runs[where], programs.runs[where + 1]):
        op, source, step, target = (
            programs.run[run, 0],
            programs.run[run, 1],
            programs.run[run, 2],
            programs.run[run, 3],
        )
        many, column = programs.run[run, 4], programs.run[run, 5]
        if op <= COUNT_IF:
            if op == COUNT or slice_.addends[solution, column, 0] != 0:
                places = given.counts + source, step, bases.counts + target, many
                peak_counts |= _add_row(
                    numbers.counts, numbers.count_limbs, numbers.count_width, numbers.aside, numbers.carry, places
                )
        elif op == SUM:
            places = given.sums + source, step, bases.sums + target, many
            peak_sums |= _add_row(
                numbers.sums, numbers.sum_limbs, numbers.sum_width, numbers.aside, numbers.carry, places
            )
        elif op == PRODUCT:
            places = given.counts + source, step, bases.sums + target, many
            peak_sums |= _add_products(numbers, slice_, solution, column, places)
        elif op == BEST:
            places = given.best + source, step, bases.best + target, many
            _add_best(numbers, places, programs.run[run, 6])
        else:
            places = given.counts + source, step, bases.best + target, many
            value, identifier = slice_.values[solution, column], slice_.ids[solution, column]
            _add_value(numbers, value, identifier, places, programs.run[run, 6])
    return peak_counts, peak_sums


_Places = tuple[int, int, int, int]
"""The first source, the step of the sources (0, 1), the first target, how many."""


@lean_part
def _add_row(numbers: Ids, limbs: int, width: int, aside: Ids, carry: Ids, places: _Places) -> np.int64:
    """Adds a row to another one, which it may overlap; returns the last limbs, or-ed."""
    step = places[1]
    source, target, many = np.uint64(places[0]), np.uint64(places[2]), np.uint64(places[3])
    peak = np.int64(0)
    if limbs > 1 or (many > 1 and step and source < target + many and target < source + many and source != target):
        return _add_limbs(numbers, limbs, width, aside, carry, places)
    if many == 1:
        total = numbers[target] + numbers[source]
        numbers[target] = total
        peak |= total ^ (total >> 63)
    elif step == 0:
        added = numbers[source]
        for n in range(many):
            total = numbers[target + n] + added
            numbers[target + n] = total
            peak |= total ^ (total >> 63)
    elif source == target:
        for n in range(many):
            total = 2 * numbers[target + n]
            numbers[target + n] = total
            peak |= total ^ (total >> 63)
    else:
        for n in range(many):
            total = numbers[target + n] + numbers[source + n]
            numbers[target + n] = total
            peak |= total ^ (total >> 63)
    return peak


@lean_part
def _add_limbs(numbers: Ids, limbs: int, width: int, aside: Ids, carry: Ids, places: _Places) -> np.int64:
    """The same for several limbs, or rows that overlap: what is added is set aside first."""
    many, step, peak = np.uint64(places[3]), places[1], np.int64(0)
    for n in range(many):
        carry[n] = 0
    for limb in range(limbs):
        source, target = np.uint64(places[0] + limb * width), np.uint64(places[2] + limb * width)
        if step:
            for n in range(many):
                aside[n] = numbers[source + n]
        else:
            added = numbers[source]
            for n in range(many):
                aside[n] = added
        if limb < limbs - 1:
            for n in range(many):
                total = numbers[target + n] + aside[n] + carry[n]
                numbers[target + n] = total & _MASK
                carry[n] = total >> LIMB
        else:
            for n in range(many):
                total = numbers[target + n] + aside[n] + carry[n]
                numbers[target + n] = total
                peak |= total ^ (total >> 63)
    return peak


@lean_part
def _add_products(numbers: Numbers, slice_: Slice, solution: int, column: int, places: _Places) -> np.int64:
    """Adds counts times the solution's number to sums; returns the last limbs of these, or-ed."""
    step, peak = places[1], np.int64(0)
    source, target, many = np.uint64(places[0]), np.uint64(places[2]), np.uint64(places[3])
    if numbers.sum_limbs == 1:
        factor = slice_.addends[solution, column, 0] * slice_.signs[solution, column]
        if step:
            for n in range(many):
                total = numbers.sums[target + n] + factor * numbers.counts[source + n]
                numbers.sums[target + n] = total
                peak |= total ^ (total >> 63)
        else:
            added = factor * numbers.counts[source]
            for n in range(many):
                total = numbers.sums[target + n] + added
                numbers.sums[target + n] = total
                peak |= total ^ (total >> 63)
        return peak
    for n in range(places[3]):
        total = _add_product(numbers, slice_, solution, column, places[0] + n * step, places[2] + n)
        peak |= total ^ (total >> 63)
    return peak


@lean_part
def _add_product(numbers: Numbers, slice_: Slice, solution: int, column: int, source: int, target: int) -> np.int64:
    """Adds one product, and returns the last limb; sums have more limbs than both together, so none is cut off.

    A count of one limb is taken as two.
    """
    counts, sums = numbers.counts, numbers.sums
    split = numbers.count_limbs == 1
    limbs, end = 2 if split else numbers.count_limbs, target + (numbers.sum_limbs - 1) * numbers.sum_width
    for part in range(slice_.addends.shape[2]):
        factor = slice_.addends[solution, column, part] * slice_.signs[solution, column]
        if factor == 0:
            continue
        carry, at = np.int64(0), target + part * numbers.sum_width
        for limb in range(limbs):
            if split:
                count = counts[source] & _MASK if limb == 0 else counts[source] >> LIMB
            else:
                count = counts[source + limb * numbers.count_width]
            total = sums[at] + count * factor + carry
            sums[at] = total & _MASK
            carry = total >> LIMB
            at += numbers.sum_width
        while carry != 0 and at < end:
            total = sums[at] + carry
            sums[at] = total & _MASK
            carry = total >> LIMB
            at += numbers.sum_width
        sums[end] += carry
    return np.int64(sums[end])


@lean_part
def _add_best(numbers: Numbers, places: _Places, greatest: int) -> None:
    """The better ones of a row of extremes and another one, which it may overlap."""
    source, step, target, many = places
    for n in range(many):
        number = many - 1 - n if source < target else n
        at, place = source + number * step, target + number
        if improves(numbers.best[at], numbers.best[place], greatest):
            numbers.best[place], numbers.ids[place] = numbers.best[at], numbers.ids[at]


@lean_part
def _add_value(numbers: Numbers, value: float, identifier: int, places: _Places, greatest: int) -> None:
    """The better ones of a row of extremes and a number, where there are matches."""
    source, step, target, many = places
    for n in range(many):
        if improves(value, numbers.best[target + n], greatest):
            there = False
            for limb in range(numbers.count_limbs):
                there |= numbers.counts[source + n * step + limb * numbers.count_width] != 0
            if there:
                numbers.best[target + n], numbers.ids[target + n] = value, identifier
