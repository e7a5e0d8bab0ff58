"""The registers of a run that takes an edge with one solution of an event (specification 3.2.7)."""

from __future__ import annotations

from arrays.jit import lean_part
from automata.registers.event import Scratch
from automata.registers.iterated import CURRENT, FIRST_VALUE, ITERATED, LAST_VALUE, PREVIOUS
from automata.registers.machine import Machine
from automata.registers.tables import ACTIONS, ENTER, LOCALS, LOOP, TRACK, TRACKED
from automata.values import UNBOUND


@lean_part
def merge(machine: Machine, scratch: Scratch, edge: int, row: int) -> bool:
    """Joins the run's registers and the solution's values in `scratch.merged`; returns whether they are compatible.

    A new iteration resets the variables that it binds afresh to their values on entry.
    """
    columns, rows, tables = machine.columns, machine.pool.rows, machine.tables
    for variable in range(machine.shape.variables):
        scratch.merged[variable] = rows[row, columns.registers + variable]
    for place in range(0, tables.shape[2] - 1, 2):
        if tables[ACTIONS, edge, place] == LOOP:
            repetition = tables[ACTIONS, edge, place + 1]
            entered = rows[row, columns.repetitions + 2 * repetition + 1]
            for number in range(tables.shape[2]):
                variable = tables[LOCALS, repetition, number]
                if variable < 0:
                    break
                scratch.merged[variable] = rows[entered, columns.registers + variable]
    for variable in range(machine.shape.variables):
        value = scratch.own[variable]
        if value != UNBOUND:
            if scratch.merged[variable] != UNBOUND and scratch.merged[variable] != value:
                return False
            scratch.merged[variable] = value
    if machine.shape.tracked:
        _note_iterations(machine, scratch, edge)
    return True


@lean_part
def _note_iterations(machine: Machine, scratch: Scratch, edge: int) -> None:
    """Updates PREV, FIRST and LAST in `scratch.merged` (specification 3.2)."""
    tables, merged = machine.tables, scratch.merged
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


@lean_part
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


@lean_part
def entry_after(machine: Machine, edge: int, row: int, repetition: int) -> int:
    """The row from which the repetition was entered, once the run has taken the edge."""
    rows, first, tables = machine.pool.rows, machine.columns.repetitions, machine.tables
    entered, before = rows[row, first + 2 * repetition + 1], row
    for place in range(0, tables.shape[2] - 1, 2):
        crossed = tables[ACTIONS, edge, place + 1]
        if tables[ACTIONS, edge, place] == LOOP:
            before = rows[row, first + 2 * crossed + 1]
        elif tables[ACTIONS, edge, place] == ENTER and crossed == repetition:
            entered = before
    return int(entered)
