"""Propagation of a group, compiled: an event adds rows of quantities to rows of quantities, for all queries together.

Between two times at which a window begins or ends, keys do not depend on each other: the events of each are taken
together, while what is known of it is in the nearest cache. Integers are as those of `automata.propagation.kernel`: one
limb of 61 bits, or several of 31, of which the last has room for what one event adds.
"""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_kernel, lean_part
from arrays.times import AFTER_ALL
from automata.propagation.kernel_arrays import NO_WINDOW, Order, Room, Slice
from automata.propagation.kernel_windows import newest_window, next_change, oldest_window
from automata.propagation.shared.arrays import (
    AT,
    BEGIN,
    BUNDLE,
    EMITTED,
    EMITTING,
    END,
    FULL,
    GROUP,
    GROUPS,
    Bundles,
    Cells,
    Clock,
    Frames,
    Groups,
    Numbers,
    Output,
    Programs,
)
from automata.propagation.shared.kernel_rows import Bases, add_rows, bases_of, clear, copy
from automata.values import Ids

DONE, OUTPUT, LIMBS = range(3)
"""The reasons why the kernel stops: the end of the slice, no room for rows, a number needs a limb more."""


@lean_kernel
def consume(
    programs: Programs,
    frames: Frames,
    bundles: Bundles,
    clock: Clock,
    room: Room,
    cells: Cells,
    numbers: Numbers,
    slice_: Slice,
    order: Order,
    groups: Groups,
    most: int,
    output: Output,
    state: Ids,
) -> int:
    """Consumes the rest of the slice, of which no event has more solutions than `most`; the reason why it stopped."""
    while state[BEGIN] < order.rows.shape[0]:
        if state[GROUPS] == 0:
            event = slice_.events[order.rows[state[BEGIN]]]
            time = slice_.times[event]
            if not close(frames, bundles, clock, cells, output, state, time):
                return OUTPUT
            last = _last_before(slice_.times, event, _advance_clock(frames, clock, time))
            state[END] = order.ends[last]
            state[GROUPS] = _group(cells, order, groups, state[BEGIN], state[END])
            state[GROUP], state[BUNDLE], state[AT] = 0, 0, 0
        for group in range(state[GROUP], state[GROUPS]):
            begin, end, slot = groups.ends[group - 1] if group else 0, groups.ends[group], groups.slots[group]
            for bundle in range(state[BUNDLE], bundles.copies.shape[0]):
                at = max(begin, state[AT])
                at = _enter(
                    programs,
                    frames,
                    bundles,
                    clock,
                    room,
                    cells,
                    numbers,
                    slice_,
                    groups,
                    most,
                    state,
                    bundle,
                    slot,
                    at,
                    end,
                )
                state[AT] = 0
                if state[FULL]:
                    state[FULL] = 0
                    state[GROUP], state[BUNDLE], state[AT] = group, bundle, at
                    return LIMBS
            state[BUNDLE] = 0
        state[BEGIN], state[GROUPS] = state[END], 0
    return DONE


@lean_part
def _advance_clock(frames: Frames, clock: Clock, time: int) -> int:
    """The windows that a time is in; returns the time until which it is so."""
    earliest = AFTER_ALL
    for frame in range(frames.start.shape[0]):
        start, size, hop = frames.start[frame], frames.size[frame], frames.hop[frame]
        least = oldest_window(start, size, hop, time)
        if frames.anchored[frame] and least < 0:
            least = 0
        clock.last[frame], clock.least[frame] = newest_window(start, hop, time), least
        earliest = min(earliest, next_change(start, size, hop, time))
    return earliest


@lean_part
def _last_before(times: Ids, event: int, until: int) -> int:
    """The last event before a time, by bisection from an event that is."""
    least, after = event, times.shape[0]
    while after - least > 1:
        middle = (least + after) // 2
        if times[middle] < until:
            least = middle
        else:
            after = middle
    return least


@lean_part
def _group(cells: Cells, order: Order, groups: Groups, begin: int, end: int) -> int:
    """Groups a range of solutions by key; returns the number of keys."""
    waiting, many = cells.waiting, 0
    for at in range(begin, end):
        slot = order.slots[at]
        if waiting[slot] == 0:
            groups.slots[many] = slot
            many += 1
        waiting[slot] += 1
    before = 0
    for group in range(many):
        slot = groups.slots[group]
        count, waiting[slot] = waiting[slot], before
        before += count
        groups.ends[group] = before
    for at in range(begin, end):
        slot = order.slots[at]
        place = waiting[slot]
        groups.rows[place], groups.symbols[place] = order.rows[at], order.symbols[at]
        waiting[slot] = place + 1
    for group in range(many):
        waiting[groups.slots[group]] = 0
    return many


@lean_part
def _enter(
    programs: Programs,
    frames: Frames,
    bundles: Bundles,
    clock: Clock,
    room: Room,
    cells: Cells,
    numbers: Numbers,
    slice_: Slice,
    groups: Groups,
    most: int,
    state: Ids,
    bundle: int,
    slot: int,
    at: int,
    end: int,
) -> int:
    """Advances the cells of a bundle by solutions that have their key; returns the next one.

    It stops before the end if FULL is set.
    """
    base, bases = bundle * programs.symbols, bases_of(bundles, numbers, bundle, slot)
    there, missing = _open_sections(frames, bundles, clock, cells, bundle, slot)
    begin = _first_opening(programs, slice_, groups, base, at, end) if missing else end
    if not there:
        at = begin
    while at < end and not state[FULL]:
        if at == begin:
            _open(programs, frames, bundles, clock, cells, numbers, bundle, slot, bases)
        after = _end_of_event(slice_, groups, at, end) if most > 1 else at + 1
        if after > at + 1 or programs.touches[base + groups.symbols[at]]:
            if bundles.gapped[bundle]:
                position = slice_.position + slice_.events[groups.rows[at]]
                if cells.position[slot, bundle] != position - 1:
                    clear(programs, numbers, bases, programs.gaps[bundle], programs.gaps[bundle + 1])
                cells.position[slot, bundle] = position
            spare = bases_of(bundles, numbers, bundle, cells.keys.shape[0])
            _take(programs, bundles, room, numbers, slice_, groups, state, bundle, bases, spare, at, after)
        at = after
    return at


@lean_part
def _open_sections(
    frames: Frames, bundles: Bundles, clock: Clock, cells: Cells, bundle: int, slot: int
) -> tuple[bool, bool]:
    """Tells whether some window of a bundle that the time is in has a section in use, and whether some has none."""
    there = missing = False
    for frame in range(bundles.frames[bundle], bundles.frames[bundle + 1]):
        for window in range(clock.least[frame], clock.last[frame] + 1):
            used = cells.window[slot, frames.section[frame] + window % frames.open_max[frame]] == window
            there |= used
            missing |= not used
    return there, missing


@lean_part
def _end_of_event(slice_: Slice, groups: Groups, at: int, end: int) -> int:
    """The first solution of another event."""
    after = at + 1
    while after < end and slice_.events[groups.rows[after]] == slice_.events[groups.rows[at]]:
        after += 1
    return after


@lean_part
def _first_opening(programs: Programs, slice_: Slice, groups: Groups, base: int, begin: int, end: int) -> int:
    """The first solution of the first event with which a section begins."""
    at = begin
    while at < end and not programs.opens[base + groups.symbols[at]]:
        at += 1
    while at < end and at > begin and slice_.events[groups.rows[at - 1]] == slice_.events[groups.rows[at]]:
        at -= 1
    return at


@lean_part
def _take(
    programs: Programs,
    bundles: Bundles,
    room: Room,
    numbers: Numbers,
    slice_: Slice,
    groups: Groups,
    state: Ids,
    bundle: int,
    bases: Bases,
    spare: Bases,
    begin: int,
    end: int,
) -> None:
    """Advances the sections of a bundle by the solutions of one event."""
    base, given = bundle * programs.symbols, bases
    if end > begin + 1 or not programs.in_place[base + groups.symbols[begin]]:
        copy(bundles, numbers, bundle, bases, spare)
        given = spare
    for at in range(begin, end):
        where = base + groups.symbols[at]
        clear(programs, numbers, bases, programs.clears[where], programs.clears[where + 1])
    for at in range(begin, end):
        where = base + groups.symbols[at]
        counts, sums = add_rows(programs, numbers, slice_, bases, given, where, groups.rows[at])
        if counts >= room.counts or sums >= room.sums:
            state[FULL] = 1


@lean_part
def _open(
    programs: Programs,
    frames: Frames,
    bundles: Bundles,
    clock: Clock,
    cells: Cells,
    numbers: Numbers,
    bundle: int,
    slot: int,
    bases: Bases,
) -> None:
    """Begins the windows that the time is in, unless they have begun: the empty match is there, and nothing else."""
    for frame in range(bundles.frames[bundle], bundles.frames[bundle + 1]):
        for window in range(clock.least[frame], clock.last[frame] + 1):
            place = window % frames.open_max[frame]
            section = frames.section[frame] + place
            if cells.window[slot, section] != window:
                cells.window[slot, section] = window
                for number in range(programs.opening[bundle], programs.opening[bundle + 1]):
                    opened = programs.opened[number] * bundles.copies[bundle] + frames.copy[frame] + place
                    numbers.counts[bases.counts + opened] = 1
                cells.members[section, cells.member_counts[section]] = slot
                cells.member_counts[section] += 1
                if clock.open_first[frame] > clock.open_last[frame]:
                    clock.open_first[frame] = clock.open_last[frame] = window
                clock.open_first[frame] = min(clock.open_first[frame], window)
                clock.open_last[frame] = max(clock.open_last[frame], window)


@lean_kernel
def close(frames: Frames, bundles: Bundles, clock: Clock, cells: Cells, output: Output, state: Ids, time: int) -> bool:
    """Writes the sections of windows that end up to a time; False if there is no room for all of them."""
    for frame in range(frames.start.shape[0]):
        left = oldest_window(frames.start[frame], frames.size[frame], frames.hop[frame], time)
        while clock.open_first[frame] <= clock.open_last[frame] and clock.open_first[frame] < left:
            window = clock.open_first[frame]
            place = window % frames.open_max[frame]
            section = frames.section[frame] + place
            while state[EMITTING] < cells.member_counts[section]:
                if state[EMITTED] == output.windows.shape[0]:
                    return False
                slot = cells.members[section, state[EMITTING]]
                _emit(frames, bundles, cells, output, state[EMITTED], frame, window, place, slot)
                cells.window[slot, section] = NO_WINDOW
                state[EMITTED] += 1
                state[EMITTING] += 1
            state[EMITTING] = 0
            cells.member_counts[section] = 0
            clock.open_first[frame] += 1
    return True


@lean_part
def _emit(
    frames: Frames,
    bundles: Bundles,
    cells: Cells,
    output: Output,
    row: int,
    frame: int,
    window: int,
    place: int,
    slot: int,
) -> None:
    """Writes what is told of a section, and makes nothing of it."""
    output.frames[row], output.windows[row] = frame, window
    for column in range(cells.keys.shape[1]):
        output.keys[row, column] = cells.keys[slot, column]
    bundle = frames.bundle[frame]
    copies, copy = bundles.copies[bundle], frames.copy[frame] + place
    begin, many = bundles.counts[bundle] + copy, bundles.count_told[bundle]
    for limb in range(cells.counts.shape[1]):
        for number in range(many):
            output.counts[limb, number, row] = cells.counts[slot, limb, begin + number * copies]
        for number in range(begin, bundles.counts[bundle] + bundles.count_width[bundle], copies):
            cells.counts[slot, limb, number] = 0
    begin, many = bundles.sums[bundle] + copy, bundles.sum_told[bundle]
    for limb in range(cells.sums.shape[1]):
        for number in range(many):
            output.sums[limb, number, row] = cells.sums[slot, limb, begin + number * copies]
        for number in range(begin, bundles.sums[bundle] + bundles.sum_width[bundle], copies):
            cells.sums[slot, limb, number] = 0
    begin, many = bundles.best[bundle] + copy, bundles.best_told[bundle]
    for number in range(many):
        output.best[number, row] = cells.best[slot, begin + number * copies]
        output.ids[number, row] = cells.ids[slot, begin + number * copies]
    for number in range(begin, bundles.best[bundle] + bundles.best_width[bundle], copies):
        cells.best[slot, number] = np.nan
