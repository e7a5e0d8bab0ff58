"""The runs that one solution of one event extends (specification 3.2, "extends"): nothing is changed by looking.

An event meets only the runs in the lists under its own keys; what is found goes to a list of candidates. Where a
guard cannot tell, the question is written down, and the event is looked at again when it has been answered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arrays.comparison import FALSE, TRUE, UNKNOWN
from arrays.jit import lean_kernel
from automata.registers.answers import look_up, write_question
from automata.registers.code import evaluate_guard
from automata.registers.machine import (
    EDGE,
    ENDS,
    FOUND,
    GOES_ON,
    LETTER,
    NOWHERE,
    PLACE,
    PLACE_NOW,
    POSITION_NOW,
    RUN,
    STREAM_NOW,
    TIME_NOW,
    VISITED,
    WINDOW_NOW,
    Machine,
    Step,
)
from automata.registers.merge import count_after, merge
from automata.registers.places import PLACE_RANK, PLACE_SEQ, PLACE_SLOT, was_last
from automata.registers.pool import (
    AFTER,
    FIRST_RANK,
    FIRST_TIME,
    LINK,
    MARKERS,
    PARTITION,
    POSITION,
    ROOT,
    SEQ,
    SLOT,
    STATE,
    STREAM,
    TAKEN_POSITION,
    TAKEN_STREAM,
    TAKEN_TIME,
    TIME,
    WINDOW,
    drop_edge,
    edge_list,
)
from automata.registers.tables import (
    ACCEPTS,
    ACTIONS,
    AT_LEAST,
    AT_MOST,
    BLOCKERS,
    CHECKS,
    CONDITION,
    EDGES,
    FINALS,
    LEAVE,
    LEAVES,
    LOOP,
    MARKER,
    NEXT,
    NONE,
    OPERATOR,
    OUTGOING,
    REFERENCES,
    SLOT_OF,
    SOURCE_OF,
    STRICT,
    TARGET,
    WAITING,
)
from automata.values import UNBOUND, Ids


@lean_kernel
def gather(machine: Machine, step: Step, numbers: NDArray[np.float64], symbol: int, letter: int) -> None:
    """Add the candidates of one solution of the present event, whose values are in `step.own`."""
    tables = machine.tables
    for place in range(tables.shape[2]):
        edge = tables[EDGES, symbol, place]
        if edge < 0:
            break
        if tables[SOURCE_OF, edge, 0] == ROOT:
            _consider(machine, step, numbers, edge, ROOT, letter)
        elif tables[OPERATOR, edge, 0] != STRICT:
            _meet(machine, step, numbers, edge, letter, NONE)
        else:
            slot = machine.places.rows[step.now[PLACE_NOW], PLACE_SLOT]
            if slot > 0:
                _meet(machine, step, numbers, edge, letter, slot - 1)
            if not machine.shape.total:
                _meet(machine, step, numbers, edge, letter, slot)


@lean_kernel
def _meet(machine: Machine, step: Step, numbers: NDArray[np.float64], edge: int, letter: int, slot: int) -> None:
    """Look at the runs on an edge that have the solution's keys."""
    pool, columns, tables = machine.pool, machine.columns, machine.tables
    links = machine.shape.slots + 1
    place = step.now[PLACE_NOW]
    link = pool.heads[edge_list(pool, tables, edge, place, slot, step.own)]
    while link != NONE:
        row, number = link // links, link % links
        link = pool.rows[row, columns.links + LINK * number + AFTER]
        step.now[VISITED] += 1
        if (
            number == tables[SLOT_OF, edge, 0]
            and pool.rows[row, STATE] == tables[SOURCE_OF, edge, 0]
            and pool.rows[row, PARTITION] == place
            and (slot == NONE or pool.rows[row, SLOT] == slot)
        ):
            _consider(machine, step, numbers, edge, row, letter)


@lean_kernel
def _consider(machine: Machine, step: Step, numbers: NDArray[np.float64], edge: int, row: int, letter: int) -> None:
    """Make a run a candidate if it takes the edge with this solution."""
    if not (_in_order(machine, step, row) and _in_window(machine, step, row) and _able(machine, edge, row)):
        return
    operator = machine.tables[OPERATOR, edge, 0]
    if row != ROOT and operator == STRICT and not _adjacent(machine, step, row):
        return
    if operator == NEXT and _blocked(machine, step, edge, row):
        return
    if not merge(machine, step, edge, row):
        return
    target = machine.tables[TARGET, edge, 0]
    decided = _decide(machine, step, numbers, machine.tables[CHECKS, target], row, True)
    if decided != FALSE:
        ends = _may_end(machine, edge, row)
        if ends:
            final = _decide(machine, step, numbers, machine.tables[FINALS, target], row, False)
            ends = final != FALSE
        _add(machine, step, edge, row, letter, 1 if ends else 0)


@lean_kernel
def _add(machine: Machine, step: Step, edge: int, row: int, letter: int, ends: int) -> None:
    """Write a candidate down if there is room; count it in any case."""
    number = step.now[FOUND]
    step.now[FOUND] += 1
    if number < step.candidates.shape[0]:
        step.candidates[number, EDGE] = edge
        step.candidates[number, RUN] = row
        step.candidates[number, LETTER] = letter
        step.candidates[number, PLACE] = step.now[PLACE_NOW]
        step.candidates[number, ENDS] = ends
        target = machine.tables[TARGET, edge, 0]
        step.candidates[number, GOES_ON] = 1 if machine.tables[OUTGOING, target, 0] >= 0 else 0


@lean_kernel
def _in_order(machine: Machine, step: Step, row: int) -> bool:
    rows = machine.pool.rows
    if row == ROOT or rows[row, TIME] < step.now[TIME_NOW]:
        return True
    same = rows[row, TIME] == step.now[TIME_NOW] and rows[row, STREAM] == step.now[STREAM_NOW]
    return bool(same and rows[row, POSITION] < step.now[POSITION_NOW])


@lean_kernel
def _in_window(machine: Machine, step: Step, row: int) -> bool:
    shape, rows = machine.shape, machine.pool.rows
    if row == ROOT:
        return bool(step.now[WINDOW_NOW] != NOWHERE)
    if not shape.sliding:
        return bool(rows[row, WINDOW] == step.now[WINDOW_NOW])
    if shape.in_events:
        rank = machine.places.rows[step.now[PLACE_NOW], PLACE_RANK]
        return bool(rank - rows[row, FIRST_RANK] < shape.size)
    return bool(step.now[TIME_NOW] - rows[row, FIRST_TIME] <= shape.size)


@lean_kernel
def _adjacent(machine: Machine, step: Step, row: int) -> bool:
    """No event lies between the run's last event and this one (G Definition 12)."""
    rows, place = machine.pool.rows, step.now[PLACE_NOW]
    slot, seq = machine.places.rows[place, PLACE_SLOT], machine.places.rows[place, PLACE_SEQ]
    if rows[row, SLOT] == slot:
        return bool(rows[row, STREAM] == step.now[STREAM_NOW] and rows[row, SEQ] + 1 == seq)
    if machine.shape.total:
        return True
    return bool(seq == 0 and was_last(machine.places, machine.shape, place, rows[row, STREAM], rows[row, SEQ]))


@lean_kernel
def _able(machine: Machine, edge: int, row: int) -> bool:
    """The repetitions that the edge leaves or goes through once more have been iterated often, or seldom, enough."""
    tables = machine.tables
    for place in range(0, tables.shape[2] - 1, 2):
        crossing, repetition = tables[ACTIONS, edge, place], tables[ACTIONS, edge, place + 1]
        if crossing < 0:
            break
        count = machine.pool.rows[row, machine.columns.repetitions + 2 * repetition]
        if crossing == LEAVE and count < machine.tables[AT_LEAST, repetition, 0]:
            return False
        if crossing == LOOP and count >= machine.tables[AT_MOST, repetition, 0]:
            return False
    return True


@lean_kernel
def _blocked(machine: Machine, step: Step, edge: int, row: int) -> bool:
    """Under skip-till-next an earlier event has taken the edge or one that is the same step (G Definition 11)."""
    rows, tables = machine.pool.rows, machine.tables
    for place in range(tables.shape[2]):
        slot = tables[BLOCKERS, edge, place]
        if slot < 0:
            break
        column = machine.columns.links + LINK * slot
        stream = rows[row, column + TAKEN_STREAM]
        if stream == NONE:
            continue
        if rows[row, column + TAKEN_TIME] < step.now[TIME_NOW]:
            drop_edge(machine.pool, machine.columns, machine.places.rows, row, machine.tables[SLOT_OF, edge, 0])
            return True
        if stream == step.now[STREAM_NOW] and rows[row, column + TAKEN_POSITION] < step.now[POSITION_NOW]:
            return True
    return False


@lean_kernel
def _may_end(machine: Machine, edge: int, row: int) -> bool:
    """True if a match may end where the edge leads to."""
    tables = machine.tables
    for place in range(tables.shape[2]):
        accept = tables[ACCEPTS, tables[TARGET, edge, 0], place]
        if accept < 0:
            break
        enough = True
        for number in range(tables.shape[2]):
            repetition = tables[LEAVES, accept, number]
            if repetition < 0:
                break
            enough = enough and count_after(machine, edge, row, repetition) >= tables[AT_LEAST, repetition, 0]
        if enough:
            return True
    return False


@lean_kernel
def _decide(machine: Machine, step: Step, numbers: NDArray[np.float64], checks: Ids, row: int, patient: bool) -> int:
    """FALSE if a condition that can be decided does not hold; UNKNOWN if the host must be asked; else TRUE."""
    tables, decided = machine.tables, TRUE
    for check in checks:
        if check < 0:
            break
        taken = tables[MARKER, check, 0] == 0 or machine.pool.rows[row, MARKERS] & tables[MARKER, check, 0] != 0
        if not taken or (patient and _waits(tables, step, check)):
            continue
        condition = tables[CONDITION, check, 0]
        held = evaluate_guard(machine.code, condition, step.merged, numbers)
        if held == UNKNOWN:
            held = look_up(machine.answers, tables[REFERENCES, condition], condition, step.merged)
            if held == UNKNOWN:
                write_question(machine.answers, tables[REFERENCES, condition], condition, step.merged)
        if held == FALSE:
            return FALSE
        if held == UNKNOWN:
            decided = UNKNOWN
    return decided


@lean_kernel
def _waits(tables: Ids, step: Step, check: int) -> bool:
    """A variable that the condition reads is unbound and can still be bound (specification 3.1)."""
    for place in range(tables.shape[2]):
        variable = tables[WAITING, check, place]
        if variable < 0:
            break
        if step.merged[variable] == UNBOUND:
            return True
    return False
