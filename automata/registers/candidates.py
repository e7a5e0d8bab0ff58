"""The runs that one solution of one event extends (specification 3.2, "extends"): a search that changes no run.

An event visits only the runs in the lists of its own keys. Where a guard does not decide, a question is written, and
the event is evaluated again once the condition evaluator has answered it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arrays.comparison import FALSE, TRUE, UNKNOWN
from arrays.jit import lean_part
from automata.registers import event
from automata.registers import partitions as part
from automata.registers import pool as run
from automata.registers import tables as table
from automata.registers.answers import look_up
from automata.registers.code import evaluate_guard
from automata.registers.event import Scratch
from automata.registers.machine import NOWHERE, Machine, is_within
from automata.registers.merge import count_after, merge
from automata.registers.pool import ROOT
from automata.registers.tables import NONE
from automata.values import UNBOUND, Ids


@lean_part
def find_candidates(
    machine: Machine, scratch: Scratch, numbers: NDArray[np.float64], symbol: int, solution: int
) -> None:
    """Adds the candidates of one solution of the current event, whose values are in `scratch.own`."""
    tables = machine.tables
    for place in range(tables.shape[2]):
        edge = tables[table.EDGES, symbol, place]
        if edge < 0:
            break
        if tables[table.SOURCE_OF, edge, 0] == ROOT:
            _consider(machine, scratch, numbers, edge, ROOT, solution)
        elif tables[table.OPERATOR, edge, 0] != table.STRICT:
            _visit(machine, scratch, numbers, edge, solution, NONE)
        else:
            slot = machine.partitions.rows[scratch.now[event.IN_PARTITION], part.SLOT]
            if slot > 0:
                _visit(machine, scratch, numbers, edge, solution, slot - 1)
            if not machine.shape.total:
                _visit(machine, scratch, numbers, edge, solution, slot)


@lean_part
def _visit(
    machine: Machine, scratch: Scratch, numbers: NDArray[np.float64], edge: int, solution: int, slot: int
) -> None:
    """Considers the runs on an edge that have the solution's keys."""
    pool, columns, tables = machine.pool, machine.columns, machine.tables
    partition = scratch.now[event.IN_PARTITION]
    link = pool.heads[run.edge_list(pool, tables, edge, partition, slot, scratch.own)]
    while link != NONE:
        row, number = link // columns.lists, link % columns.lists
        link = pool.rows[row, columns.links + run.LINK * number + run.AFTER]
        scratch.now[event.VISITED] += 1
        if (
            number == tables[table.SLOT_OF, edge, 0]
            and pool.rows[row, run.STATE] == tables[table.SOURCE_OF, edge, 0]
            and pool.rows[row, run.PARTITION] == partition
            and (slot == NONE or pool.rows[row, run.SLOT] == slot)
        ):
            _consider(machine, scratch, numbers, edge, row, solution)


@lean_part
def _consider(
    machine: Machine, scratch: Scratch, numbers: NDArray[np.float64], edge: int, row: int, solution: int
) -> None:
    """Adds a candidate if the run takes the edge with this solution."""
    if not (_in_order(machine, scratch, row) and _in_window(machine, scratch, row) and _able(machine, edge, row)):
        return
    operator = machine.tables[table.OPERATOR, edge, 0]
    if row != ROOT and operator == table.STRICT and not _adjacent(machine, scratch, row):
        return
    if operator == table.NEXT and _blocked(machine, scratch, edge, row):
        return
    if not merge(machine, scratch, edge, row):
        return
    target = machine.tables[table.TARGET, edge, 0]
    if _decide(machine, scratch, numbers, machine.tables[table.CHECKS, target], row, True) != FALSE:
        ends = _may_end(machine, edge, row)
        if ends:
            ends = _decide(machine, scratch, numbers, machine.tables[table.FINALS, target], row, False) != FALSE
        _add(machine, scratch, edge, row, solution, 1 if ends else 0)


@lean_part
def _add(machine: Machine, scratch: Scratch, edge: int, row: int, solution: int, ends: int) -> None:
    """Counts a candidate, and writes it if there is room."""
    number, candidates = scratch.now[event.FOUND], scratch.candidates
    scratch.now[event.FOUND] += 1
    if number < candidates.shape[0]:
        candidates[number, event.EDGE], candidates[number, event.RUN] = edge, row
        candidates[number, event.SYMBOL], candidates[number, event.SOLUTION] = scratch.now[event.OWN], solution
        candidates[number, event.PARTITION] = scratch.now[event.IN_PARTITION]
        target = machine.tables[table.TARGET, edge, 0]
        candidates[number, event.ENDS] = ends
        candidates[number, event.GOES_ON] = 1 if machine.tables[table.OUTGOING, target, 0] >= 0 else 0


@lean_part
def _in_order(machine: Machine, scratch: Scratch, row: int) -> bool:
    rows = machine.pool.rows
    if row == ROOT or rows[row, run.TIME] < scratch.now[event.TIME]:
        return True
    same = rows[row, run.TIME] == scratch.now[event.TIME] and rows[row, run.STREAM] == scratch.now[event.STREAM]
    return bool(same and rows[row, run.POSITION] < scratch.now[event.POSITION])


@lean_part
def _in_window(machine: Machine, scratch: Scratch, row: int) -> bool:
    shape, rows = machine.shape, machine.pool.rows
    if row == ROOT:
        return bool(scratch.now[event.IN_WINDOW] != NOWHERE)
    if not shape.sliding:
        return bool(rows[row, run.WINDOW] == scratch.now[event.IN_WINDOW])
    if shape.in_events:
        rank = machine.partitions.rows[scratch.now[event.IN_PARTITION], part.RANK]
        return bool(rank - rows[row, run.FIRST_RANK] < shape.size)
    return is_within(rows[row, run.FIRST_TIME], scratch.now[event.TIME], shape.size)


@lean_part
def _adjacent(machine: Machine, scratch: Scratch, row: int) -> bool:
    """No event lies between the run's last event and the current one (G Definition 12)."""
    rows, partition = machine.pool.rows, scratch.now[event.IN_PARTITION]
    slot, seq = machine.partitions.rows[partition, part.SLOT], machine.partitions.rows[partition, part.SEQ]
    if rows[row, run.SLOT] == slot:
        return bool(rows[row, run.STREAM] == scratch.now[event.STREAM] and rows[row, run.SEQ] + 1 == seq)
    if machine.shape.total:
        return True
    last = part.was_last(machine.partitions, machine.shape, partition, rows[row, run.STREAM], rows[row, run.SEQ])
    return bool(seq == 0 and last)


@lean_part
def _able(machine: Machine, edge: int, row: int) -> bool:
    """The counts of the repetitions that the edge leaves or iterates allow it."""
    tables = machine.tables
    for place in range(0, tables.shape[2] - 1, 2):
        crossing, repetition = tables[table.ACTIONS, edge, place], tables[table.ACTIONS, edge, place + 1]
        if crossing < 0:
            break
        count = machine.pool.rows[row, machine.columns.repetitions + 2 * repetition]
        if crossing == table.LEAVE and count < tables[table.AT_LEAST, repetition, 0]:
            return False
        if crossing == table.LOOP and count >= tables[table.AT_MOST, repetition, 0]:
            return False
    return True


@lean_part
def _blocked(machine: Machine, scratch: Scratch, edge: int, row: int) -> bool:
    """Under skip-till-next an earlier event has taken the edge or a rival of the same step (G Definition 11)."""
    rows, tables = machine.pool.rows, machine.tables
    for place in range(tables.shape[2]):
        slot = tables[table.BLOCKERS, edge, place]
        if slot < 0:
            break
        column = machine.columns.links + run.LINK * slot
        stream = rows[row, column + run.TAKEN_STREAM]
        if stream == NONE:
            continue
        if rows[row, column + run.TAKEN_TIME] < scratch.now[event.TIME]:
            run.drop_edge(machine.pool, machine.columns, machine.partitions.rows, row, tables[table.SLOT_OF, edge, 0])
            return True
        if stream == scratch.now[event.STREAM] and rows[row, column + run.TAKEN_POSITION] < scratch.now[event.POSITION]:
            return True
    return False


@lean_part
def _may_end(machine: Machine, edge: int, row: int) -> bool:
    """A match may end at the edge's target: some accept has all the iterations that it needs."""
    tables = machine.tables
    for place in range(tables.shape[2]):
        accept = tables[table.ACCEPTS, tables[table.TARGET, edge, 0], place]
        if accept < 0:
            break
        enough = True
        for number in range(tables.shape[2]):
            repetition = tables[table.LEAVES, accept, number]
            if repetition < 0:
                break
            enough = enough and count_after(machine, edge, row, repetition) >= tables[table.AT_LEAST, repetition, 0]
        if enough:
            return True
    return False


@lean_part
def _decide(
    machine: Machine, scratch: Scratch, numbers: NDArray[np.float64], checks: Ids, row: int, patient: bool
) -> int:
    """FALSE if some decidable condition fails; UNKNOWN if one has no answer yet; else TRUE."""
    tables, decided = machine.tables, TRUE
    for check in checks:
        if check < 0:
            break
        marker = tables[table.MARKER, check, 0]
        taken = marker == 0 or machine.pool.rows[row, run.MARKERS] & marker != 0
        if not taken or (patient and _waits(tables, scratch, check)):
            continue
        condition = tables[table.CONDITION, check, 0]
        held = evaluate_guard(machine.code, condition, scratch.merged, numbers)
        if held == UNKNOWN:
            held = look_up(machine.answers, tables[table.REFERENCES, condition], condition, scratch.merged)
        if held == FALSE:
            return FALSE
        if held == UNKNOWN:
            decided = UNKNOWN
    return decided


@lean_part
def _waits(tables: Ids, scratch: Scratch, check: int) -> bool:
    """A variable that the condition reads is unbound and can still be bound (specification 3.1)."""
    for place in range(tables.shape[2]):
        variable = tables[table.WAITING, check, place]
        if variable < 0:
            break
        if scratch.merged[variable] == UNBOUND:
            return True
    return False
