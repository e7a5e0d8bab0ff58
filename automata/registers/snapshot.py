"""The state of a register automaton: its runs and partitions as columns (see automata.state).

Free rows are left out and the others renumbered. Of the lists by key and slot only their members are kept: restoring
rebuilds them with the hashes of the new ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automata import layouts
from automata.registers import pool as run
from automata.registers.machine import Machine
from automata.registers.partitions import NUMBER, USED, Partitions, grow_partitions, key_column, new_partitions
from automata.registers.pool import Columns, Pool
from automata.registers.tables import NONE, Shape
from automata.state import Values, columns_of, rows_of
from automata.values import Ids


def machine_state(machine: Machine) -> dict[str, Any]:
    """The runs and the partitions; between two slices there is no other state."""
    partitions, first = machine.partitions, key_column(machine.shape)
    known = partitions.rows[: partitions.ends[USED]]
    return layouts.MACHINE.written(
        runs=_pool_state(machine.pool, machine.columns, machine.shape),
        places=columns_of(known[:, :first]),
        keys=Values(np.where(known[:, NUMBER, np.newaxis] == NONE, 0, known[:, first:])),
        ends=partitions.ends,
    )


def restored_machine(machine: Machine, room: Ids, state: Mapping[str, Any]) -> Machine:
    """A new machine with the runs and partitions of a state; `room` is for the registers of one run."""
    state = layouts.MACHINE.read(state)
    partitions = _restored_partitions(machine.shape, state)
    return machine._replace(pool=_restored_pool(machine, room, state["runs"]), partitions=partitions)


def _pool_state(pool: Pool, columns: Columns, shape: Shape) -> dict[str, Any]:
    rows = pool.rows[: pool.ends[run.SIZE]]
    alive = rows[:, run.LINKED] != NONE
    alive[run.ROOT] = True
    numbers = np.where(alive, np.cumsum(alive) - 1, NONE)
    kept = rows[alive]
    for column in (run.PARENT, run.OLDER, run.YOUNGER, *_entries(columns, shape)):
        kept[:, column] = np.where(kept[:, column] < 0, kept[:, column], numbers[kept[:, column]])
    for link in range(columns.links, columns.registers, run.LINK):
        kept[:, link + run.AFTER] = 0
        kept[:, link + run.BEFORE] = kept[:, link + run.BEFORE] != 0
    ends = pool.ends.copy()
    for end in (run.OLDEST, run.YOUNGEST):
        ends[end] = numbers[ends[end]] if ends[end] >= 0 else NONE
    return layouts.POOL.written(
        rows=columns_of(kept[:, : columns.registers]),
        registers=Values(kept[:, columns.registers :].copy()),
        ends=ends,
    )


def _restored_pool(machine: Machine, room: Ids, state: Mapping[str, Any]) -> Pool:
    state = layouts.POOL.read(state)
    registers = state["registers"].ids
    count = len(registers)
    rows = np.concatenate((rows_of(state["rows"], count), registers), axis=1)
    _, _, oldest, youngest, alive = state["ends"].tolist()
    ends = np.array([NONE, count, oldest, youngest, alive], dtype=np.int64)
    pool = run.grow(Pool(rows, machine.pool.heads, ends), machine.shape, len(machine.pool.rows))
    run.relink(pool, machine.columns, machine.tables, room)
    return pool


def _entries(columns: Columns, shape: Shape) -> range:
    """The columns of the run from which each repetition was entered."""
    return range(columns.repetitions + 1, columns.repetitions + 2 * shape.repetitions, 2)


def _restored_partitions(shape: Shape, state: Mapping[str, Any]) -> Partitions:
    keys = state["keys"].ids
    blank = new_partitions(shape)
    rows = np.zeros((max(len(keys), len(blank.rows)), blank.rows.shape[1]), dtype=np.int64)
    rows[:, NUMBER] = NONE
    rows[: len(keys)] = np.concatenate((rows_of(state["places"], len(keys)), keys), axis=1)
    return grow_partitions(Partitions(rows, blank.heads, state["ends"]), shape)
