"""Propagation of a group, compiled: an event adds rows of quantities to rows of quantities, for all queries together.

Integers are as those of `automata.propagation.kernel`: one limb of 61 bits, or several of 31, of which the last has
room for what one event adds.
"""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_kernel, lean_part
from automata.propagation.kernel_arrays import NO_WINDOW, Order, Room, Slice
from automata.propagation.kernel_keys import among
from automata.propagation.shared.arrays import (
    EMITTED,
    EMITTING,
    EVENT,
    FULL,
    Cells,
    Clock,
    Frames,
    Output,
    Programs,
    Scratch,
)
from automata.propagation.shared.kernel_rows import add_narrow, add_wide, clear, copy
from automata.values import Ids

DONE, OUTPUT, LIMBS = range(3)
"""The reasons why the kernel stops: the end of the slice, no room for rows, a number needs a limb more."""


@lean_kernel
def consume(
    programs: Programs,
    frames: Frames,
    clock: Clock,
    room: Room,
    cells: Cells,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    output: Output,
    state: Ids,
) -> int:
    """Consumes the rest of the slice; returns the reason why it stopped."""
    event, until = int(state[EVENT]), NO_WINDOW
    begin = int(order.ends[event - 1]) if event else 0
    while event < order.ends.shape[0]:
        end = int(order.ends[event])
        if begin == end:
            event += 1
            continue
        time = int(slice_.times[event])
        if time >= until:
            if not close(frames, clock, cells, output, state, time):
                state[EVENT] = event
                return OUTPUT
            until = _advance_clock(frames, clock, time)
        for at in range(begin, end):
            if not among(order.slots, order.slots[at], begin, at):
                for frame in range(frames.start.shape[0]):
                    alone = end - begin == 1
                    if alone and not programs.touches[frame * programs.symbols + order.symbols[at]]:
                        continue
                    for window in range(clock.least[frame], clock.last[frame] + 1):
                        _enter(
                            programs,
                            frames,
                            clock,
                            room,
                            cells,
                            slice_,
                            order,
                            scratch,
                            state,
                            frame,
                            at,
                            end,
                            window,
                            alone,
                            slice_.position + event,
                        )
        begin = end
        event += 1
        if state[FULL]:
            state[FULL], state[EVENT] = 0, event
            return LIMBS
    return DONE


@lean_part
def _advance_clock(frames: Frames, clock: Clock, time: int) -> int:
    """The windows that a time is in; returns the time until which it is so."""
    earliest = (1 << 63) - 1
    for frame in range(frames.start.shape[0]):
        start, size, hop = frames.start[frame], frames.size[frame], frames.hop[frame]
        last = (time - start) // hop
        least = (time - start - size) // hop + 1
        if frames.anchored[frame] and least < 0:
            least = 0
        clock.last[frame], clock.least[frame] = last, least
        earliest = min(earliest, start + min((last + 1) * hop, least * hop + size))
    return earliest


@lean_part
def _enter(
    programs: Programs,
    frames: Frames,
    clock: Clock,
    room: Room,
    cells: Cells,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    state: Ids,
    frame: int,
    begin: int,
    end: int,
    window: int,
    alone: bool,
    position: int,
) -> None:
    """Advances the section of one window by the solutions of an event that have the key of the first one."""
    slot, open_max = order.slots[begin], frames.open_max[frame]
    place = window % open_max if open_max > 1 else 0
    section, base = frames.section[frame] + place, frame * programs.symbols
    if cells.window[slot, section] != window:
        opens = 0
        for at in range(begin, end):
            if order.slots[at] == slot:
                opens |= programs.opens[base + order.symbols[at]]
        if not opens:
            return
        _open(programs, frames, clock, cells, frame, slot, section, place, window)
    _advance(
        programs, frames, room, cells, slice_, order, scratch, state, frame, slot, place, begin, end, alone, position
    )


@lean_part
def _advance(
    programs: Programs,
    frames: Frames,
    room: Room,
    cells: Cells,
    slice_: Slice,
    order: Order,
    scratch: Scratch,
    state: Ids,
    frame: int,
    slot: int,
    place: int,
    begin: int,
    end: int,
    alone: bool,
    position: int,
) -> None:
    """The same for a section that is in use: its quantities are cleared and added to."""
    section, base = frames.section[frame] + place, frame * programs.symbols
    counts = frames.counts[frame] + place * frames.count_width[frame]
    sums = frames.sums[frame] + place * frames.sum_width[frame]
    best = frames.best[frame] + place * frames.best_width[frame]
    bases, where = (counts, sums, best), base + order.symbols[begin]
    if frames.gapped[frame]:
        if cells.position[slot, section] != position - 1:
            clear(programs, cells, slot, bases, programs.gaps[frame], programs.gaps[frame + 1])
        cells.position[slot, section] = position
    narrow = cells.counts.shape[1] == 1 and cells.sums.shape[1] == 1
    if alone and narrow and programs.safe[where]:
        clear(programs, cells, slot, bases, programs.clears[where], programs.clears[where + 1])
        own, solution = (cells.counts, cells.sums), order.rows[begin]
        add_narrow(programs, room, cells, slice_, own, scratch, state, slot, bases, where, solution, True)
        return
    copy(frames, cells, scratch, frame, slot, bases)
    for at in range(begin, end):
        if order.slots[at] == slot:
            where = base + order.symbols[at]
            clear(programs, cells, slot, bases, programs.clears[where], programs.clears[where + 1])
    own = scratch.counts, scratch.sums
    for at in range(begin, end):
        if order.slots[at] == slot:
            where, solution = base + order.symbols[at], order.rows[at]
            if narrow:
                add_narrow(programs, room, cells, slice_, own, scratch, state, slot, bases, where, solution, False)
            else:
                add_wide(programs, room, cells, slice_, scratch, state, slot, bases, where, solution)


@lean_part
def _open(
    programs: Programs,
    frames: Frames,
    clock: Clock,
    cells: Cells,
    frame: int,
    slot: int,
    section: int,
    place: int,
    window: int,
) -> None:
    """Begins a window: the empty match is there, and nothing else."""
    cells.window[slot, section], cells.position[slot, section] = window, -2
    for limb in range(cells.counts.shape[1]):
        begin = frames.counts[frame] + place * frames.count_width[frame]
        for number in range(begin, begin + frames.count_width[frame]):
            cells.counts[slot, limb, number] = 0
    for limb in range(cells.sums.shape[1]):
        begin = frames.sums[frame] + place * frames.sum_width[frame]
        for number in range(begin, begin + frames.sum_width[frame]):
            cells.sums[slot, limb, number] = 0
    begin = frames.best[frame] + place * frames.best_width[frame]
    for number in range(begin, begin + frames.best_width[frame]):
        cells.best[slot, number] = np.nan
    for number in range(programs.opening[frame], programs.opening[frame + 1]):
        cells.counts[slot, 0, frames.counts[frame] + place * frames.count_width[frame] + programs.opened[number]] = 1
    cells.members[section, cells.member_counts[section]] = slot
    cells.member_counts[section] += 1
    if clock.open_first[frame] > clock.open_last[frame]:
        clock.open_first[frame] = clock.open_last[frame] = window
    clock.open_first[frame] = min(clock.open_first[frame], window)
    clock.open_last[frame] = max(clock.open_last[frame], window)


@lean_kernel
def close(frames: Frames, clock: Clock, cells: Cells, output: Output, state: Ids, time: int) -> bool:
    """Writes the sections of windows that end up to a time; False if there is no room for all of them."""
    for frame in range(frames.start.shape[0]):
        while (
            clock.open_first[frame] <= clock.open_last[frame]
            and time >= frames.start[frame] + clock.open_first[frame] * frames.hop[frame] + frames.size[frame]
        ):
            window = clock.open_first[frame]
            place = window % frames.open_max[frame]
            section = frames.section[frame] + place
            while state[EMITTING] < cells.member_counts[section]:
                if state[EMITTED] == output.windows.shape[0]:
                    return False
                slot = cells.members[section, state[EMITTING]]
                _emit(frames, cells, output, state[EMITTED], frame, window, place, slot)
                cells.window[slot, section] = NO_WINDOW
                state[EMITTED] += 1
                state[EMITTING] += 1
            state[EMITTING] = 0
            cells.member_counts[section] = 0
            clock.open_first[frame] += 1
    return True


@lean_part
def _emit(
    frames: Frames, cells: Cells, output: Output, row: int, frame: int, window: int, place: int, slot: int
) -> None:
    output.frames[row], output.windows[row] = frame, window
    for column in range(cells.keys.shape[1]):
        output.keys[row, column] = cells.keys[slot, column]
    begin = frames.counts[frame] + place * frames.count_width[frame]
    for limb in range(cells.counts.shape[1]):
        for number in range(frames.count_width[frame]):
            output.counts[limb, number, row] = cells.counts[slot, limb, begin + number]
    begin = frames.sums[frame] + place * frames.sum_width[frame]
    for limb in range(cells.sums.shape[1]):
        for number in range(frames.sum_width[frame]):
            output.sums[limb, number, row] = cells.sums[slot, limb, begin + number]
    begin = frames.best[frame] + place * frames.best_width[frame]
    for number in range(frames.best_width[frame]):
        output.best[number, row] = cells.best[slot, begin + number]
        output.ids[number, row] = cells.ids[slot, begin + number]
