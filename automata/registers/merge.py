"""The registers of a run that takes an edge with one solution of an event (specification 3.2.7)."""

from __future__ import annotations

from arrays.jit import lean_kernel
from automata.registers.iterated import CURRENT, FIRST_VALUE, ITERATED, LAST_VALUE, PREVIOUS
from automata.registers.machine import Machine, Step
from automata.registers.tables import ACTIONS, ENTER, LOCALS, LOOP, TRACK, TRACKED
from automata.values import UNBOUND


@lean_kernel
def merge(machine: Machine, step: Step, edge: int, row: int) -> bool:
    """Put the run's registers and the solution's values together; whether they are compatible.

    A new iteration forgets what the last one bound: what it binds afresh is as it was on entry.
    """
    columns, rows, tables = machine.columns, machine.pool.rows, machine.tables
    for variable in range(machine.shape.variables):
        step.merged[variable] = rows[row, columns.registers + variable]
    for place in range(0, tables.shape[2] - 1, 2):
        if tables[ACTIONS, edge, place] == LOOP:
            repetition = tables[ACTIONS, edge, place + 1]
            entered = rows[row, columns.repetitions + 2 * repetition + 1]
            for number in range(tables.shape[2]):
                variable = tables[LOCALS, repetition, number]
                if variable < 0:
                    break
                step.merged[variable] = rows[entered, columns.registers + variable]
    for variable in range(machine.shape.variables):
        value = step.own[variable]
        if value != UNBOUND:
            if step.merged[variable] != UNBOUND and step.merged[variable] != value:
                return False
            step.merged[variable] = value
    if machine.shape.tracked:
        _note_iterations(machine, step, edge)
    return True


@lean_kernel
def _note_iterations(machine: Machine, step: Step, edge: int) -> None:
    """Bring PREV, FIRST and LAST up to date (specification 3.2); the run's own are in `step.merged`."""
    tables, merged = machine.tables, step.merged
    for number in range(machine.shape.tracked):
        first = machine.shape.variables - ITERATED * (machine.shape.tracked - number)
        if tables[TRACK, edge, 2 * number]:
            merged[first + PREVIOUS] = merged[first + CURRENT]
        if tables[TRACK, edge, 2 * number + 1]:
            value = merged[tables[TRACKED, number, 0]]
            merged[first + CURRENT] = value
            if value != UNBOUND:
                merged[first + LAST_VALUE] = value
                if merged[first + FIRST_VALUE] == UNBOUND:
                    merged[first + FIRST_VALUE] = value


@lean_kernel
def count_after(machine: Machine, edge: int, row: int, repetition: int) -> int:
    """The number of iterations of the repetition that have begun once the run has taken the edge."""
    count = machine.pool.rows[row, machine.columns.repetitions + 2 * repetition]
    tables = machine.tables
    for place in range(0, tables.shape[2] - 1, 2):
        if tables[ACTIONS, edge, place] >= 0 and tables[ACTIONS, edge, place + 1] == repetition:
            if tables[ACTIONS, edge, place] == ENTER:
                count = 1
            elif tables[ACTIONS, edge, place] == LOOP:
                count += 1
    return int(count)


@lean_kernel
def entry_after(machine: Machine, edge: int, row: int, repetition: int) -> int:
    """The row from which the repetition was entered, once the run has taken the edge; see `Edge.entries`."""
    rows, first, tables = machine.pool.rows, machine.columns.repetitions, machine.tables
    entered, before = rows[row, first + 2 * repetition + 1], row
    for place in range(0, tables.shape[2] - 1, 2):
        crossed = tables[ACTIONS, edge, place + 1]
        if tables[ACTIONS, edge, place] == LOOP:
            before = rows[row, first + 2 * crossed + 1]
        elif tables[ACTIONS, edge, place] == ENTER and crossed == repetition:
            entered = before
    return int(entered)
