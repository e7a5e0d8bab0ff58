"""Making the candidates of one event into runs and matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_kernel
from automata.registers.machine import (
    EDGE,
    ENDS,
    FOUND,
    GOES_ON,
    PLACE,
    POSITION_NOW,
    RUN,
    STREAM_NOW,
    TIME_NOW,
    Machine,
    Step,
    window_of,
)
from automata.registers.merge import count_after, entry_after, merge
from automata.registers.places import NUMBER, PLACE_RANK, PLACE_SEQ, PLACE_SLOT
from automata.registers.pool import (
    BEFORE,
    CHILDREN,
    DEPTH,
    FIRST,
    FIRST_RANK,
    FIRST_TIME,
    LINK,
    LINKED,
    MARKERS,
    PARENT,
    PARTITION,
    POSITION,
    RANK,
    ROOT,
    RUNS,
    SEQ,
    SERIAL,
    SLOT,
    STATE,
    STREAM,
    SYMBOL,
    TAKEN_POSITION,
    TAKEN_STREAM,
    TAKEN_TIME,
    TIME,
    WINDOW,
    drop_edge,
    edge_list,
    link,
    release,
    strict_list,
    take_row,
    unlink,
)
from automata.registers.tables import (
    BLOCKERS,
    MARKER_BITS,
    NEXT,
    NONE,
    OPERATOR,
    OUTGOING,
    SLOT_OF,
    SOURCE_OF,
    STRICT,
    STRICT_ONLY,
    TARGET,
)
from automata.values import Ids

MATCHES, ENTRIES = range(2)
"""Of `Output.counts`."""
FACTS = 8
"""Of a match: first and last position, their times, number of the partition, first and last rank, entries' end."""


class Output(NamedTuple):
    """Matches in the order in which they were found.

    facts       FACTS columns
    registers   the values of the variables
    entries     (symbol, position, serial number of the solution), the steps of a match in their order
    counts      MATCHES, ENTRIES
    """

    facts: Ids
    registers: Ids
    entries: Ids
    counts: Ids


def new_output(variables: int, matches: int, entries: int) -> Output:
    """Room for so many."""
    return Output(
        np.zeros((matches, FACTS), dtype=np.int64),
        np.zeros((matches, variables), dtype=np.int64),
        np.zeros((entries, 3), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@lean_kernel
def entries_needed(machine: Machine, step: Step) -> int:
    """The number of entries of the matches among the candidates."""
    needed = 0
    for number in range(step.now[FOUND]):
        if step.candidates[number, ENDS]:
            needed += machine.pool.rows[step.candidates[number, RUN], DEPTH] + 1
    return needed


@lean_kernel
def matches_found(step: Step) -> int:
    """The number of candidates that end a match."""
    found = 0
    for number in range(step.now[FOUND]):
        found += step.candidates[number, ENDS]
    return found


@lean_kernel
def apply(machine: Machine, step: Step, output: Output, number: int, symbol: int, serial: int) -> None:
    """Let one candidate take its edge; its solution's values are in `step.own`."""
    edge, source = step.candidates[number, EDGE], step.candidates[number, RUN]
    if not (step.candidates[number, ENDS] or step.candidates[number, GOES_ON]):
        return
    merge(machine, step, edge, source)
    if step.candidates[number, ENDS]:
        _report(machine, step, output, number, symbol, serial)
    if step.candidates[number, GOES_ON]:
        row = take_row(machine.pool, source)
        _stamp(machine, step, row, number, symbol, serial)
        _count(machine, edge, source, row)
        _enlist(machine, step, row)


@lean_kernel
def _report(machine: Machine, step: Step, output: Output, number: int, symbol: int, serial: int) -> None:
    rows, source, place = machine.pool.rows, step.candidates[number, RUN], step.candidates[number, PLACE]
    match, end = output.counts[MATCHES], output.counts[ENTRIES] + rows[source, DEPTH] + 1
    rank, begun = machine.places.rows[place, PLACE_RANK], source != ROOT
    output.facts[match, 0] = rows[source, FIRST] if begun else step.now[POSITION_NOW]
    output.facts[match, 1] = step.now[POSITION_NOW]
    output.facts[match, 2] = rows[source, FIRST_TIME] if begun else step.now[TIME_NOW]
    output.facts[match, 3] = step.now[TIME_NOW]
    output.facts[match, 4] = machine.places.rows[place, NUMBER]
    output.facts[match, 5] = rows[source, FIRST_RANK] if begun else rank
    output.facts[match, 6] = rank
    output.facts[match, 7] = end
    for variable in range(machine.shape.variables):
        output.registers[match, variable] = step.merged[variable]
    output.counts[MATCHES] += 1
    output.counts[ENTRIES] = end
    at, row = end - 1, source
    output.entries[at, 0], output.entries[at, 1], output.entries[at, 2] = symbol, step.now[POSITION_NOW], serial
    while row != ROOT:
        at -= 1
        output.entries[at, 0], output.entries[at, 1] = rows[row, SYMBOL], rows[row, POSITION]
        output.entries[at, 2] = rows[row, SERIAL]
        row = rows[row, PARENT]


@lean_kernel
def _stamp(machine: Machine, step: Step, row: int, number: int, symbol: int, serial: int) -> None:
    """Write what a new run has taken, and where it stands."""
    rows, edge, source = machine.pool.rows, step.candidates[number, EDGE], step.candidates[number, RUN]
    place, target = step.candidates[number, PLACE], machine.tables[TARGET, edge, 0]
    rank = machine.places.rows[place, PLACE_RANK]
    rows[row, PARENT], rows[row, STATE], rows[row, SYMBOL] = source, target, symbol
    rows[row, POSITION], rows[row, SERIAL] = step.now[POSITION_NOW], serial
    rows[row, TIME], rows[row, STREAM] = step.now[TIME_NOW], step.now[STREAM_NOW]
    rows[row, SLOT], rows[row, SEQ] = machine.places.rows[place, PLACE_SLOT], machine.places.rows[place, PLACE_SEQ]
    rows[row, RANK], rows[row, PARTITION] = rank, place
    if source == ROOT:
        rows[row, FIRST_TIME], rows[row, FIRST] = step.now[TIME_NOW], step.now[POSITION_NOW]
        rows[row, FIRST_RANK], rows[row, WINDOW] = rank, window_of(machine.shape, step.now[TIME_NOW], rank)
    else:
        rows[row, FIRST_TIME], rows[row, FIRST] = rows[source, FIRST_TIME], rows[source, FIRST]
        rows[row, FIRST_RANK], rows[row, WINDOW] = rows[source, FIRST_RANK], rows[source, WINDOW]
    rows[row, DEPTH] = rows[source, DEPTH] + 1
    rows[row, MARKERS] = rows[source, MARKERS] | machine.tables[MARKER_BITS, target, 0]
    rows[row, CHILDREN] = 0
    rows[source, CHILDREN] += 1
    machine.places.rows[place, RUNS] += 1
    for variable in range(machine.shape.variables):
        rows[row, machine.columns.registers + variable] = step.merged[variable]


@lean_kernel
def _count(machine: Machine, edge: int, source: int, row: int) -> None:
    """Iterations begun, and from where each repetition was entered."""
    rows, first = machine.pool.rows, machine.columns.repetitions
    for repetition in range(machine.shape.repetitions):
        rows[row, first + 2 * repetition] = count_after(machine, edge, source, repetition)
        rows[row, first + 2 * repetition + 1] = entry_after(machine, edge, source, repetition)


@lean_kernel
def _enlist(machine: Machine, step: Step, row: int) -> None:
    """Put a new run, whose registers are in `step.merged`, into the lists of its edges."""
    pool, columns, tables, slots = machine.pool, machine.columns, machine.tables, machine.shape.slots
    state, partition, linked = pool.rows[row, STATE], pool.rows[row, PARTITION], 0
    for number in range(slots + 1):
        column = columns.links + LINK * number
        pool.rows[row, column + BEFORE] = 0
        pool.rows[row, column + TAKEN_STREAM] = NONE
        edge = tables[OUTGOING, state, number] if number < slots else NONE
        if edge < 0:
            continue
        slot = pool.rows[row, SLOT] if tables[OPERATOR, edge, 0] == STRICT else NONE
        link(pool, columns, row, number, edge_list(pool, tables, edge, partition, slot, step.merged))
        linked += 1
    if tables[STRICT_ONLY, state, 0]:
        link(pool, columns, row, slots, strict_list(pool, partition))
    pool.rows[row, LINKED] = linked


@lean_kernel
def close(machine: Machine, step: Step, number: int) -> None:
    """Remember, under skip-till-next, that the candidate's edge has been taken; events in one order end it at once."""
    edge, row = step.candidates[number, EDGE], step.candidates[number, RUN]
    pool, columns, tables = machine.pool, machine.columns, machine.tables
    if row == ROOT or tables[OPERATOR, edge, 0] != NEXT:
        return
    column = columns.links + LINK * tables[SLOT_OF, edge, 0]
    if pool.rows[row, column + TAKEN_STREAM] == NONE:
        pool.rows[row, column + TAKEN_TIME] = step.now[TIME_NOW]
    pool.rows[row, column + TAKEN_STREAM] = step.now[STREAM_NOW]
    pool.rows[row, column + TAKEN_POSITION] = step.now[POSITION_NOW]
    if not machine.shape.total:
        return
    for place in range(tables.shape[2]):
        other = tables[OUTGOING, tables[SOURCE_OF, edge, 0], place]
        if other < 0:
            break
        for blocker in tables[BLOCKERS, other]:
            if blocker == tables[SLOT_OF, edge, 0] and pool.rows[row, LINKED] > 0:
                drop_edge(pool, columns, machine.places.rows, row, tables[SLOT_OF, other, 0])


@lean_kernel
def retire(machine: Machine, place: int) -> None:
    """A slot has begun: free the runs that waited for an event in the one before, or there, in vain."""
    pool, columns, slots = machine.pool, machine.columns, machine.shape.slots
    slot = machine.places.rows[place, PLACE_SLOT]
    following = pool.heads[strict_list(pool, place)]
    while following != NONE:
        row, number = following // (slots + 1), following % (slots + 1)
        following = pool.rows[row, columns.links + LINK * number]
        if number == slots and pool.rows[row, PARTITION] == place and pool.rows[row, SLOT] < slot - 1:
            _give_up(machine, row)


@lean_kernel
def _give_up(machine: Machine, row: int) -> None:
    """Take a run that nothing can extend out of its lists."""
    pool, columns = machine.pool, machine.columns
    for number in range(machine.shape.slots + 1):
        unlink(pool, columns, row, number)
    pool.rows[row, LINKED] = 0
    release(pool, columns, machine.places.rows, row)
