"""The fast path for LIMIT 1: one run for all that have the same futures (A Section 6).

A makes an automaton recognise with a single run, which forgets the events taken. Here rows show the events of the first
match in output order. So of the runs that one event creates and that no later event can tell apart, only the first in
output order is kept: any match that extends another one has an earlier match that extends it. At most one run is left
for each state, first event, last event and contents of registers that are still read, instead of exponentially many:
these together are the single run.
"""

from __future__ import annotations

from arrays.jit import lean_part
from automata.registers import event
from automata.registers import tables as table
from automata.registers.event import EDGE, ENDS, FOUND, GOES_ON, LIST, RUN, SIGNATURE, Scratch
from automata.registers.machine import Machine
from automata.registers.merge import count_after, entry_after, merge
from automata.registers.pool import DEPTH, FIRST, MARKERS, PARENT, POSITION, ROOT, SYMBOL, mix
from automata.registers.tables import NONE, TARGET


@lean_part
def write_signature(machine: Machine, scratch: Scratch, number: int) -> None:
    """Writes the state of a candidate that later events can read; its solution's values are in `scratch.own`."""
    edge, source = scratch.candidates[number, EDGE], scratch.candidates[number, RUN]
    tables, signature = machine.tables, scratch.signatures[number]
    target = tables[TARGET, edge, 0]
    merge(machine, scratch, edge, source)
    signature[:] = 0
    signature[0], signature[1] = target, scratch.candidates[number, event.PARTITION]
    if machine.shape.sliding:
        signature[2] = scratch.now[event.POSITION] if source == ROOT else machine.pool.rows[source, FIRST]
    signature[3] = machine.pool.rows[source, MARKERS] | tables[table.MARKER_BITS, target, 0]
    for place in range(tables.shape[2]):
        variable = tables[table.LIVE_VARIABLES, target, place]
        if variable < 0:
            break
        signature[SIGNATURE + machine.shape.repetitions + variable] = scratch.merged[variable]
    for place in range(tables.shape[2]):
        repetition = tables[table.AROUND, target, place]
        if repetition < 0:
            break
        _write_repetition(machine, scratch, number, repetition)


@lean_part
def _write_repetition(machine: Machine, scratch: Scratch, number: int, repetition: int) -> None:
    """Writes the state that one more iteration reads: the capped count, and the values that it resets to."""
    edge, source = scratch.candidates[number, EDGE], scratch.candidates[number, RUN]
    tables, rows, signature = machine.tables, machine.pool.rows, scratch.signatures[number]
    count = count_after(machine, edge, source, repetition)
    if tables[table.AT_MOST, repetition, 0] == table.UNBOUNDED:
        count = min(count, tables[table.AT_LEAST, repetition, 0])
    signature[SIGNATURE + repetition] = count
    entered = entry_after(machine, edge, source, repetition)
    for place in range(tables.shape[2]):
        variable = tables[table.LOCALS, repetition, place]
        if variable < 0:
            break
        column = SIGNATURE + machine.shape.repetitions + machine.shape.variables * (1 + repetition) + variable
        signature[column] = rows[entered, machine.columns.registers + variable]


@lean_part
def narrow(machine: Machine, scratch: Scratch) -> None:
    """Clears GOES_ON and ENDS of the candidates that lead to no needed match; all have their signatures."""
    candidates = scratch.candidates
    for number in range(scratch.now[FOUND]):
        candidates[number, LIST] = NONE
        if candidates[number, GOES_ON]:
            place = _list_of(scratch, number)
            candidates[number, LIST] = place
            best = scratch.lists[place]
            if best == NONE or _order(machine, scratch, number, best) < 0:
                scratch.lists[place] = number
    for number in range(scratch.now[FOUND]):
        best = scratch.lists[candidates[number, LIST]]
        if candidates[number, GOES_ON] and not _is_needed(machine, scratch, number, best):
            candidates[number, GOES_ON] = 0
    for number in range(scratch.now[FOUND]):
        if candidates[number, LIST] != NONE:
            scratch.lists[candidates[number, LIST]] = NONE
    _narrow_matches(machine, scratch)


@lean_part
def _narrow_matches(machine: Machine, scratch: Scratch) -> None:
    """Keeps the first of the matches of each partition."""
    candidates, found = scratch.candidates, scratch.now[FOUND]
    for number in range(found):
        if candidates[number, ENDS] != 1:
            continue
        partition, best = candidates[number, event.PARTITION], number
        for other in range(number + 1, found):
            rival = candidates[other, ENDS] == 1 and candidates[other, event.PARTITION] == partition
            if rival and _order(machine, scratch, other, best) < 0:
                best = other
        for other in range(number, found):
            if candidates[other, ENDS] == 1 and candidates[other, event.PARTITION] == partition:
                candidates[other, ENDS] = 2 if _is_needed(machine, scratch, other, best) else 0
    for number in range(found):
        candidates[number, ENDS] = min(candidates[number, ENDS], 1)


@lean_part
def _is_needed(machine: Machine, scratch: Scratch, number: int, best: int) -> bool:
    """The candidate is the best one, or ties with it in a different match."""
    if number == best:
        return True
    if _order(machine, scratch, number, best) != 0:
        return False
    return machine.shape.demand != table.HAPPENED or not _same_steps(machine, scratch, number, best)


@lean_part
def _list_of(scratch: Scratch, number: int) -> int:
    """The place in `scratch.lists` of the best candidate with the same signature."""
    signatures, hashed = scratch.signatures, 0x517D
    for column in range(signatures.shape[1]):
        hashed = mix(hashed, signatures[number, column])
    place = hashed & (scratch.lists.shape[0] - 1)
    while scratch.lists[place] != NONE:
        same = True
        for column in range(signatures.shape[1]):
            same = same and signatures[scratch.lists[place], column] == signatures[number, column]
        if same:
            break
        place = (place + 1) & (scratch.lists.shape[0] - 1)
    return int(place)


@lean_part
def _order(machine: Machine, scratch: Scratch, number: int, other: int) -> int:
    """-1, 0 or 1: the output order of two candidates of one event, by their positions.

    The one with more events comes first: it has another event where the other one has the current event.
    """
    rows = machine.pool.rows
    a, b, order = scratch.candidates[number, RUN], scratch.candidates[other, RUN], 0
    while rows[a, DEPTH] > rows[b, DEPTH]:
        a, order = rows[a, PARENT], -1
    while rows[b, DEPTH] > rows[a, DEPTH]:
        b, order = rows[b, PARENT], 1
    while a != b and a != ROOT:
        if rows[a, POSITION] != rows[b, POSITION]:
            order = -1 if rows[a, POSITION] < rows[b, POSITION] else 1
        a, b = rows[a, PARENT], rows[b, PARENT]
    return order


@lean_part
def _same_steps(machine: Machine, scratch: Scratch, number: int, other: int) -> bool:
    """Two candidates with the same positions took them with the same steps."""
    rows, tables = machine.pool.rows, machine.tables
    if tables[TARGET, scratch.candidates[number, EDGE], 0] != tables[TARGET, scratch.candidates[other, EDGE], 0]:
        return False
    a, b = scratch.candidates[number, RUN], scratch.candidates[other, RUN]
    while a != b:
        if rows[a, SYMBOL] != rows[b, SYMBOL]:
            return False
        a, b = rows[a, PARENT], rows[b, PARENT]
    return True
