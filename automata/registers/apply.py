"""From the candidates of one event to runs and matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_part
from automata.registers import event
from automata.registers import partitions as part
from automata.registers import pool as run
from automata.registers import tables as table
from automata.registers.event import Scratch
from automata.registers.machine import Machine, window_of
from automata.registers.merge import count_after, entry_after, merge
from automata.registers.pool import ROOT
from automata.registers.tables import NONE
from automata.values import Ids

MATCHES, ENTRIES = range(2)
"""Columns of `Output.counts`."""
FACTS = 8
"""Columns of `Output.facts`: first and last position, their times, number of the partition, first and last rank, end of
the entries."""


class Output(NamedTuple):
    """Matches in the order in which they were found.

    facts       FACTS columns
    registers   the values of the variables
    entries     (symbol, position, number of the solution in the event), the steps of a match in their order
    counts      MATCHES, ENTRIES
    """

    facts: Ids
    registers: Ids
    entries: Ids
    counts: Ids


def new_output(variables: int, matches: int, entries: int) -> Output:
    """An empty output with room for so many matches and entries."""
    return Output(
        np.zeros((matches, FACTS), dtype=np.int64),
        np.zeros((matches, variables), dtype=np.int64),
        np.zeros((entries, 3), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@lean_part
def has_room(machine: Machine, scratch: Scratch, output: Output) -> bool:
    """The matches among the candidates, with their entries, fit into the output."""
    matches, entries = output.counts[MATCHES], output.counts[ENTRIES]
    for number in range(scratch.now[event.FOUND]):
        if scratch.candidates[number, event.ENDS]:
            matches += 1
            entries += machine.pool.rows[scratch.candidates[number, event.RUN], run.DEPTH] + 1
    return bool(matches <= output.facts.shape[0] and entries <= output.entries.shape[0])


@lean_part
def apply(machine: Machine, scratch: Scratch, output: Output, number: int, symbol: int, solution: int) -> None:
    """Lets one candidate take its edge; its solution's values are in `scratch.own`."""
    edge, source = scratch.candidates[number, event.EDGE], scratch.candidates[number, event.RUN]
    ends, goes_on = scratch.candidates[number, event.ENDS], scratch.candidates[number, event.GOES_ON]
    if not (ends or goes_on):
        return
    merge(machine, scratch, edge, source)
    if ends:
        _report(machine, scratch, output, number, symbol, solution)
    if goes_on:
        row = run.take_row(machine.pool, source)
        _write_run(machine, scratch, row, number, symbol, solution)
        _write_repetitions(machine, edge, source, row)
        _link_run(machine, scratch, row)


@lean_part
def _report(machine: Machine, scratch: Scratch, output: Output, number: int, symbol: int, solution: int) -> None:
    rows, source, now = machine.pool.rows, scratch.candidates[number, event.RUN], scratch.now
    partition = machine.partitions.rows[scratch.candidates[number, event.PARTITION]]
    match, end = output.counts[MATCHES], output.counts[ENTRIES] + rows[source, run.DEPTH] + 1
    rank, begun = partition[part.RANK], source != ROOT
    facts = output.facts[match]
    facts[0], facts[1] = rows[source, run.FIRST] if begun else now[event.POSITION], now[event.POSITION]
    facts[2], facts[3] = rows[source, run.FIRST_TIME] if begun else now[event.TIME], now[event.TIME]
    facts[4] = partition[part.NUMBER]
    facts[5], facts[6] = rows[source, run.FIRST_RANK] if begun else rank, rank
    facts[7] = end
    for variable in range(machine.shape.variables):
        output.registers[match, variable] = scratch.merged[variable]
    output.counts[MATCHES] += 1
    output.counts[ENTRIES] = end
    place, row = end - 1, source
    _write_entry(output, place, symbol, now[event.POSITION], solution)
    while row != ROOT:
        place -= 1
        _write_entry(output, place, rows[row, run.SYMBOL], rows[row, run.POSITION], rows[row, run.SOLUTION])
        row = rows[row, run.PARENT]


@lean_part
def _write_entry(output: Output, place: int, symbol: int, position: int, solution: int) -> None:
    output.entries[place, 0], output.entries[place, 1], output.entries[place, 2] = symbol, position, solution


@lean_part
def _write_run(machine: Machine, scratch: Scratch, row: int, number: int, symbol: int, solution: int) -> None:
    """Writes the last event, the state and the registers of a new run."""
    rows, now = machine.pool.rows, scratch.now
    edge, source = scratch.candidates[number, event.EDGE], scratch.candidates[number, event.RUN]
    partition, target = scratch.candidates[number, event.PARTITION], machine.tables[table.TARGET, edge, 0]
    place = machine.partitions.rows[partition]
    rank, time, position = place[part.RANK], now[event.TIME], now[event.POSITION]
    rows[row, run.PARENT], rows[row, run.STATE], rows[row, run.SYMBOL] = source, target, symbol
    rows[row, run.POSITION], rows[row, run.SOLUTION] = position, solution
    rows[row, run.TIME], rows[row, run.STREAM] = time, now[event.STREAM]
    rows[row, run.SLOT], rows[row, run.SEQ] = place[part.SLOT], place[part.SEQ]
    rows[row, run.RANK], rows[row, run.PARTITION] = rank, partition
    if source == ROOT:
        rows[row, run.FIRST_TIME], rows[row, run.FIRST], rows[row, run.FIRST_RANK] = time, position, rank
        rows[row, run.WINDOW] = window_of(machine.shape, time, rank)
    else:
        for column in range(run.FIRST_TIME, run.WINDOW + 1):
            rows[row, column] = rows[source, column]
    rows[row, run.DEPTH] = rows[source, run.DEPTH] + 1
    rows[row, run.MARKERS] = rows[source, run.MARKERS] | machine.tables[table.MARKER_BITS, target, 0]
    rows[row, run.CHILDREN] = 0
    rows[source, run.CHILDREN] += 1
    place[part.RUNS] += 1
    for variable in range(machine.shape.variables):
        rows[row, machine.columns.registers + variable] = scratch.merged[variable]


@lean_part
def _write_repetitions(machine: Machine, edge: int, source: int, row: int) -> None:
    """Writes the iterations begun, and the row from which each repetition was entered."""
    rows, first = machine.pool.rows, machine.columns.repetitions
    for repetition in range(machine.shape.repetitions):
        rows[row, first + 2 * repetition] = count_after(machine, edge, source, repetition)
        rows[row, first + 2 * repetition + 1] = entry_after(machine, edge, source, repetition)


@lean_part
def _link_run(machine: Machine, scratch: Scratch, row: int) -> None:
    """Puts a new run, whose registers are in `scratch.merged`, into the lists of its edges."""
    pool, columns, tables, slots = machine.pool, machine.columns, machine.tables, machine.shape.slots
    state, partition, linked = pool.rows[row, run.STATE], pool.rows[row, run.PARTITION], 0
    for number in range(slots + 1):
        column = columns.links + run.LINK * number
        pool.rows[row, column + run.BEFORE] = 0
        pool.rows[row, column + run.TAKEN_STREAM] = NONE
        edge = tables[table.OUTGOING, state, number] if number < slots else NONE
        if edge < 0:
            continue
        slot = pool.rows[row, run.SLOT] if tables[table.OPERATOR, edge, 0] == table.STRICT else NONE
        run.link(pool, columns, row, number, run.edge_list(pool, tables, edge, partition, slot, scratch.merged))
        linked += 1
    if tables[table.STRICT_ONLY, state, 0]:
        run.link(pool, columns, row, slots, run.strict_list(pool, partition))
    pool.rows[row, run.LINKED] = linked


@lean_part
def close(machine: Machine, scratch: Scratch, number: int) -> None:
    """Marks the candidate's edge as taken under skip-till-next; in a total order that ends it at once."""
    edge, row = scratch.candidates[number, event.EDGE], scratch.candidates[number, event.RUN]
    pool, columns, tables = machine.pool, machine.columns, machine.tables
    if row == ROOT or tables[table.OPERATOR, edge, 0] != table.NEXT:
        return
    own = tables[table.SLOT_OF, edge, 0]
    column = columns.links + run.LINK * own
    if pool.rows[row, column + run.TAKEN_STREAM] == NONE:
        pool.rows[row, column + run.TAKEN_TIME] = scratch.now[event.TIME]
    pool.rows[row, column + run.TAKEN_STREAM] = scratch.now[event.STREAM]
    pool.rows[row, column + run.TAKEN_POSITION] = scratch.now[event.POSITION]
    if not machine.shape.total:
        return
    for place in range(tables.shape[2]):
        other = tables[table.OUTGOING, tables[table.SOURCE_OF, edge, 0], place]
        if other < 0:
            break
        for blocker in tables[table.BLOCKERS, other]:
            if blocker == own and pool.rows[row, run.LINKED] > 0:
                run.drop_edge(pool, columns, machine.partitions.rows, row, tables[table.SLOT_OF, other, 0])


@lean_part
def retire(machine: Machine, partition: int) -> None:
    """At the begin of a slot, frees the runs that no event of the slot before it has extended."""
    pool, columns, strict = machine.pool, machine.columns, machine.shape.slots
    slot = machine.partitions.rows[partition, part.SLOT]
    following = pool.heads[run.strict_list(pool, partition)]
    while following != NONE:
        row, number = following // columns.lists, following % columns.lists
        following = pool.rows[row, columns.links + run.LINK * number + run.AFTER]
        if number == strict and pool.rows[row, run.PARTITION] == partition and pool.rows[row, run.SLOT] < slot - 1:
            for other in range(columns.lists):
                run.unlink(pool, columns, row, other)
            pool.rows[row, run.LINKED] = 0
            run.release(pool, columns, machine.partitions.rows, row)
