"""One slice of events, taken in event by event (RMA Section 4; G Algorithms 1-6 without sets of runs).

The kernel stops where it needs its host: for more room, for an answer, or to hand over matches. The event that it
stopped at is looked at again from its beginning; until then nothing of it has been done.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel
from automata.registers.answers import ASKED
from automata.registers.apply import (
    ENTRIES,
    MATCHES,
    Output,
    apply,
    close,
    entries_needed,
    matches_found,
    retire,
)
from automata.registers.gather import gather
from automata.registers.machine import (
    FOUND,
    LETTER,
    PLACE,
    PLACE_NOW,
    POSITION_NOW,
    STREAM_NOW,
    TIME_NOW,
    WINDOW_NOW,
    Machine,
    Step,
    window_of,
)
from automata.registers.narrow import narrow, note_kind
from automata.registers.places import HEAD_FREE, PLACE_RANK, USED, add_place, advance, find_place, partition_key
from automata.registers.pool import (
    FIRST_RANK,
    FIRST_TIME,
    OLDEST,
    PARTITION,
    WINDOW,
    YOUNGER,
    free_row,
    room,
)
from automata.registers.tables import EVERY, NONE, SCOPE
from automata.values import UNBOUND, Ids


class Stop(IntEnum):
    """The reason why the kernel has stopped: the end of the slice, or a full array."""

    DONE = 0
    ANSWERS = 1
    ROWS = 2
    PLACES = 3
    CANDIDATES = 4
    OUTPUT = 5


_DONE, _ANSWERS, _ROWS = int(Stop.DONE), int(Stop.ANSWERS), int(Stop.ROWS)
_PLACES, _CANDIDATES, _OUTPUT = int(Stop.PLACES), int(Stop.CANDIDATES), int(Stop.OUTPUT)


class Slice(NamedTuple):
    """A slice of the merged order and its solutions, the letters.

    times, streams      of each event
    events              for each letter, ascending for each symbol: which event of the slice
    values              int64[letters, most variables of a symbol], in the order of the symbol's scope
    ends                for each symbol: the letter after its last one
    cursors             for each symbol: the next letter
    progress            the next event
    position, serial    of the first event, and of the first letter
    """

    times: Ids
    streams: Ids
    events: Ids
    values: Ids
    ends: Ids
    cursors: Ids
    progress: Ids
    position: int
    serial: int


@lean_kernel
def take_in(machine: Machine, step: Step, output: Output, slice_: Slice, numbers: NDArray[np.float64]) -> int:
    """Takes in the rest of the slice; returns why it stopped."""
    while slice_.progress[0] < slice_.times.shape[0]:
        event = slice_.progress[0]
        step.now[POSITION_NOW] = slice_.position + event
        step.now[TIME_NOW], step.now[STREAM_NOW] = slice_.times[event], slice_.streams[event]
        step.now[FOUND] = 0
        if machine.shape.keys == 0:
            _stand(machine, step, 0)
        expire(machine, slice_.times[event])
        if not _gather_event(machine, step, slice_, numbers, event):
            return _PLACES
        if machine.answers.counts[ASKED]:
            return _ANSWERS
        if machine.shape.wanted != EVERY and step.now[FOUND] <= step.candidates.shape[0]:
            _narrow_event(machine, step, slice_, event)
        lacking = _lacking(machine, step, output)
        if lacking != _DONE:
            return lacking
        _apply_all(machine, step, output, slice_, event)
        slice_.progress[0] += 1
    return _DONE


@lean_kernel
def expire(machine: Machine, time: int) -> None:
    """Free the runs whose window is over at this time, or at their partition's rank; the oldest come first."""
    pool = machine.pool
    row = pool.ends[OLDEST]
    while row != NONE and _over(machine, row, time):
        free_row(pool, machine.columns, machine.places.rows, row)
        row = pool.ends[OLDEST]


@lean_kernel
def sweep(machine: Machine, time: int) -> None:
    """The same for all runs, where those of several partitions are over at different ranks."""
    row = machine.pool.ends[OLDEST]
    while row != NONE:
        following = machine.pool.rows[row, YOUNGER]
        if _over(machine, row, time):
            free_row(machine.pool, machine.columns, machine.places.rows, row)
        row = following


@lean_kernel
def _over(machine: Machine, row: int, time: int) -> bool:
    shape, rows = machine.shape, machine.pool.rows
    rank = machine.places.rows[rows[row, PARTITION], PLACE_RANK]
    if not shape.sliding:
        return bool(window_of(shape, time, rank) > rows[row, WINDOW])
    if shape.in_events:
        return bool(rank - rows[row, FIRST_RANK] >= shape.size)
    return bool(time - rows[row, FIRST_TIME] > shape.size)


@lean_kernel
def _stand(machine: Machine, step: Step, place: int) -> None:
    """The present event stands in this partition."""
    position, time, stream = step.now[POSITION_NOW], step.now[TIME_NOW], step.now[STREAM_NOW]
    if advance(machine.places, machine.shape, place, position, time, stream):
        retire(machine, place)
    step.now[PLACE_NOW] = place
    step.now[WINDOW_NOW] = window_of(machine.shape, time, machine.places.rows[place, PLACE_RANK])


@lean_kernel
def _gather_event(machine: Machine, step: Step, slice_: Slice, numbers: NDArray[np.float64], event: int) -> bool:
    """All candidates of one event; whether there was room for its partitions."""
    for symbol in range(slice_.ends.shape[0]):
        letter = slice_.cursors[symbol]
        while letter < slice_.ends[symbol] and slice_.events[letter] == event:
            read_letter(machine, step, slice_, symbol, letter, True)
            if machine.shape.keys == 0:
                gather(machine, step, numbers, symbol, letter)
            elif partition_key(machine.tables, step.own, step.key):
                place = find_place(machine.places, machine.shape, step.key)
                if place == NONE:
                    if machine.places.ends[HEAD_FREE] == NONE and (
                        machine.places.ends[USED] == machine.places.rows.shape[0]
                    ):
                        return False
                    place = add_place(machine.places, machine.shape, step.key)
                _stand(machine, step, place)
                gather(machine, step, numbers, symbol, letter)
            read_letter(machine, step, slice_, symbol, letter, False)
            letter += 1
    return True


@lean_kernel
def read_letter(machine: Machine, step: Step, slice_: Slice, symbol: int, letter: int, fill: bool) -> None:
    """Write a solution's values into its registers, or unbind them again."""
    for number in range(machine.tables.shape[2]):
        variable = machine.tables[SCOPE, symbol, number]
        if variable < 0:
            break
        step.own[variable] = slice_.values[letter, number] if fill else UNBOUND


@lean_kernel
def _narrow_event(machine: Machine, step: Step, slice_: Slice, event: int) -> None:
    """Leave only those candidates that are wanted, or may become what is wanted."""
    number = 0
    for symbol in range(slice_.ends.shape[0]):
        letter = slice_.cursors[symbol]
        while letter < slice_.ends[symbol] and slice_.events[letter] == event:
            if number < step.now[FOUND] and step.candidates[number, LETTER] == letter:
                read_letter(machine, step, slice_, symbol, letter, True)
                while number < step.now[FOUND] and step.candidates[number, LETTER] == letter:
                    note_kind(machine, step, number)
                    number += 1
                read_letter(machine, step, slice_, symbol, letter, False)
            letter += 1
    narrow(machine, step)


@lean_kernel
def _lacking(machine: Machine, step: Step, output: Output) -> int:
    """The array that is too small."""
    if step.now[FOUND] > step.candidates.shape[0]:
        return _CANDIDATES
    if step.now[FOUND] > room(machine.pool):
        return _ROWS
    if output.counts[MATCHES] + matches_found(step) > output.facts.shape[0]:
        return _OUTPUT
    if output.counts[ENTRIES] + entries_needed(machine, step) > output.entries.shape[0]:
        return _OUTPUT
    return _DONE


@lean_kernel
def _apply_all(machine: Machine, step: Step, output: Output, slice_: Slice, event: int) -> None:
    number = 0
    for symbol in range(slice_.ends.shape[0]):
        letter = slice_.cursors[symbol]
        while letter < slice_.ends[symbol] and slice_.events[letter] == event:
            if number < step.now[FOUND] and step.candidates[number, LETTER] == letter:
                read_letter(machine, step, slice_, symbol, letter, True)
                while number < step.now[FOUND] and step.candidates[number, LETTER] == letter:
                    step.now[PLACE_NOW] = step.candidates[number, PLACE]
                    apply(machine, step, output, number, symbol, slice_.serial + letter)
                    number += 1
                read_letter(machine, step, slice_, symbol, letter, False)
            letter += 1
        slice_.cursors[symbol] = letter
    for number in range(step.now[FOUND]):
        close(machine, step, number)
