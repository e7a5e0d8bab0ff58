"""Evaluates one slice event by event (A Section 4; G Algorithms 1-6 without sets of runs).

The kernel stops when it needs more room, an answer, or its output read. The event at which it stopped is evaluated
again from its beginning; until then it has changed nothing.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel, lean_part
from automata.registers import event
from automata.registers import partitions as part
from automata.registers import pool as run
from automata.registers.answers import ASKED
from automata.registers.apply import Output, apply, close, has_room, retire
from automata.registers.candidates import find_candidates
from automata.registers.event import Scratch, Slice
from automata.registers.machine import Machine, is_within, window_of
from automata.registers.narrow import narrow, write_signature
from automata.registers.tables import EVERY, NONE, SCOPE
from automata.values import UNBOUND


class Stop(IntEnum):
    """The reason why the kernel stopped: the end of the slice, or what it lacks."""

    DONE = 0
    ANSWERS = 1
    ROWS = 2
    PARTITIONS = 3
    CANDIDATES = 4
    OUTPUT = 5


_DONE, _ANSWERS, _ROWS, _PARTITIONS, _CANDIDATES, _OUTPUT = (int(stop) for stop in Stop)


@lean_kernel
def consume(machine: Machine, scratch: Scratch, output: Output, slice_: Slice, numbers: NDArray[np.float64]) -> int:
    """Consumes the rest of the slice; returns the reason why it stopped."""
    now = scratch.now
    while slice_.progress[0] < slice_.times.shape[0]:
        index = slice_.progress[0]
        now[event.POSITION] = slice_.position + index
        now[event.TIME], now[event.STREAM] = slice_.times[index], slice_.streams[index]
        now[event.FOUND] = 0
        if machine.shape.keys == 0:
            _enter_partition(machine, scratch, 0)
        expire(machine, slice_.times[index])
        for symbol in range(slice_.ends.shape[0]):
            solution = slice_.cursors[symbol]
            while solution < slice_.ends[symbol] and slice_.events[solution] == index:
                if not _evaluate(machine, scratch, slice_, numbers, symbol, solution):
                    return _PARTITIONS
                solution += 1
        if machine.answers.counts[ASKED]:
            return _ANSWERS
        if machine.shape.demand != EVERY and now[event.FOUND] <= scratch.candidates.shape[0]:
            _narrow(machine, scratch, slice_)
        lacking = _lacking(machine, scratch, output)
        if lacking != _DONE:
            return lacking
        _apply(machine, scratch, output, slice_)
        for symbol in range(slice_.ends.shape[0]):
            while slice_.cursors[symbol] < slice_.ends[symbol] and slice_.events[slice_.cursors[symbol]] == index:
                slice_.cursors[symbol] += 1
        slice_.progress[0] = index + 1
    return _DONE


@lean_kernel
def expire(machine: Machine, time: int) -> None:
    """Frees the runs whose window is over at this time, or at their partition's rank, up to the first that is not."""
    pool = machine.pool
    row = pool.ends[run.OLDEST]
    while row != NONE and _over(machine, row, time):
        run.free_row(pool, machine.columns, machine.partitions.rows, row)
        row = pool.ends[run.OLDEST]


@lean_kernel
def sweep(machine: Machine, time: int) -> None:
    """Frees all runs whose window is over: those of several partitions are over at different ranks."""
    row = machine.pool.ends[run.OLDEST]
    while row != NONE:
        following = machine.pool.rows[row, run.YOUNGER]
        if _over(machine, row, time):
            run.free_row(machine.pool, machine.columns, machine.partitions.rows, row)
        row = following


@lean_part
def _over(machine: Machine, row: int, time: int) -> bool:
    shape, rows = machine.shape, machine.pool.rows
    rank = machine.partitions.rows[rows[row, run.PARTITION], part.RANK]
    if not shape.sliding:
        return bool(window_of(shape, time, rank) > rows[row, run.WINDOW])
    if shape.in_events:
        return bool(rank - rows[row, run.FIRST_RANK] >= shape.size)
    return not is_within(rows[row, run.FIRST_TIME], time, shape.size)


@lean_part
def _enter_partition(machine: Machine, scratch: Scratch, partition: int) -> None:
    """Counts the current event in this partition."""
    now = scratch.now
    position, time, stream = now[event.POSITION], now[event.TIME], now[event.STREAM]
    if part.advance(machine.partitions, machine.shape, partition, position, time, stream):
        retire(machine, partition)
    now[event.IN_PARTITION] = partition
    now[event.IN_WINDOW] = window_of(machine.shape, time, machine.partitions.rows[partition, part.RANK])


@lean_part
def _evaluate(
    machine: Machine, scratch: Scratch, slice_: Slice, numbers: NDArray[np.float64], symbol: int, solution: int
) -> bool:
    """Finds the candidates of one solution; returns whether there was room for its partition."""
    _read_solution(machine, scratch, slice_, symbol, solution)
    if machine.shape.keys:
        if not part.partition_key(machine.tables, scratch.own, scratch.key):
            return True
        partitions = machine.partitions
        partition = part.find_partition(partitions, machine.shape, scratch.key)
        if partition == NONE:
            if partitions.ends[part.HEAD_FREE] == NONE and partitions.ends[part.USED] == partitions.rows.shape[0]:
                return False
            partition = part.add_partition(partitions, machine.shape, scratch.key)
        _enter_partition(machine, scratch, partition)
    find_candidates(machine, scratch, numbers, symbol, solution)
    return True


@lean_part
def _read_solution(machine: Machine, scratch: Scratch, slice_: Slice, symbol: int, solution: int) -> None:
    """Writes a solution's values into `scratch.own`, whose other registers are unbound."""
    own, scopes, before = scratch.own, machine.tables[SCOPE], scratch.now[event.OWN]
    for number in range(scopes.shape[1]):
        if scopes[before, number] < 0:
            break
        own[scopes[before, number]] = UNBOUND
    for number in range(scopes.shape[1]):
        if scopes[symbol, number] < 0:
            break
        own[scopes[symbol, number]] = slice_.values[solution, number]
    scratch.now[event.OWN] = symbol


@lean_part
def _narrow(machine: Machine, scratch: Scratch, slice_: Slice) -> None:
    """Keeps only the candidates that may lead to a match that is needed."""
    solution = NONE
    for number in range(scratch.now[event.FOUND]):
        if scratch.candidates[number, event.SOLUTION] != solution:
            solution = scratch.candidates[number, event.SOLUTION]
            _read_solution(machine, scratch, slice_, scratch.candidates[number, event.SYMBOL], solution)
        write_signature(machine, scratch, number)
    narrow(machine, scratch)


@lean_part
def _lacking(machine: Machine, scratch: Scratch, output: Output) -> int:
    """The table without enough room for the candidates, or _DONE."""
    if scratch.now[event.FOUND] > scratch.candidates.shape[0]:
        return _CANDIDATES
    if scratch.now[event.FOUND] > run.room(machine.pool):
        return _ROWS
    return _DONE if has_room(machine, scratch, output) else _OUTPUT


@lean_part
def _apply(machine: Machine, scratch: Scratch, output: Output, slice_: Slice) -> None:
    solution = NONE
    for number in range(scratch.now[event.FOUND]):
        if scratch.candidates[number, event.SOLUTION] != solution:
            solution = scratch.candidates[number, event.SOLUTION]
            _read_solution(machine, scratch, slice_, scratch.candidates[number, event.SYMBOL], solution)
        scratch.now[event.IN_PARTITION] = scratch.candidates[number, event.PARTITION]
        apply(machine, scratch, output, number, scratch.now[event.OWN], slice_.numbers[solution])
    for number in range(scratch.now[event.FOUND]):
        scratch.now[event.TAKEN + scratch.candidates[number, event.EDGE]] += 1
        close(machine, scratch, number)
