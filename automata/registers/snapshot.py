"""The state of a register automaton: its runs and partitions as columns (see automata.state).

Rows that are free are left out and the others numbered anew. Of the lists by key and slot only who is in them is kept:
they are made again, under the hashes of the new ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automata.registers.machine import Machine
from automata.registers.places import NUMBER, USED, Places, grow_places, key_column, new_places
from automata.registers.pool import (
    AFTER,
    BEFORE,
    LINK,
    LINKED,
    OLDER,
    OLDEST,
    PARENT,
    ROOT,
    SIZE,
    YOUNGER,
    YOUNGEST,
    Columns,
    Pool,
    grow,
    link_again,
)
from automata.registers.tables import NONE, Shape
from automata.state import Values, columns_of, rows_of
from automata.values import Ids


def machine_state(machine: Machine) -> dict[str, Any]:
    """The runs and the partitions; between two slices nothing else is known."""
    places, first = machine.places, key_column(machine.shape)
    known = places.rows[: places.ends[USED]]
    return {
        "runs": _pool_state(machine.pool, machine.columns, machine.shape),
        "places": columns_of(known[:, :first]),
        "keys": Values(np.where(known[:, NUMBER, np.newaxis] == NONE, 0, known[:, first:])),
        "ends": places.ends,
    }


def restored_machine(machine: Machine, room: Ids, state: Mapping[str, Any]) -> Machine:
    """A machine that is new, brought to a state; `room` is for the registers of one run."""
    places = _restored_places(machine.shape, state)
    pool = _restored_pool(machine, room, state["runs"])
    return machine._replace(pool=pool, places=places)


def _pool_state(pool: Pool, columns: Columns, shape: Shape) -> dict[str, Any]:
    rows = pool.rows[: pool.ends[SIZE]]
    alive = rows[:, LINKED] != NONE
    alive[ROOT] = True
    numbers = np.where(alive, np.cumsum(alive) - 1, NONE)
    kept = rows[alive]
    for column in (PARENT, OLDER, YOUNGER, *_entries(columns, shape)):
        kept[:, column] = np.where(kept[:, column] < 0, kept[:, column], numbers[kept[:, column]])
    for link in range(columns.links, columns.registers, LINK):
        kept[:, link + AFTER] = 0
        kept[:, link + BEFORE] = kept[:, link + BEFORE] != 0
    ends = pool.ends.copy()
    for end in (OLDEST, YOUNGEST):
        ends[end] = numbers[ends[end]] if ends[end] >= 0 else NONE
    return {
        "rows": columns_of(kept[:, : columns.registers]),
        "registers": Values(kept[:, columns.registers :].copy()),
        "ends": ends,
    }


def _restored_pool(machine: Machine, room: Ids, state: Mapping[str, Any]) -> Pool:
    registers = state["registers"].ids
    count = len(registers)
    rows = np.concatenate((rows_of(state["rows"], count), registers), axis=1)
    _, _, oldest, youngest, alive = state["ends"].tolist()
    ends = np.array([NONE, count, oldest, youngest, alive], dtype=np.int64)
    pool = grow(Pool(rows, machine.pool.heads, ends), machine.shape, len(machine.pool.rows))
    link_again(pool, machine.columns, machine.tables, room)
    return pool


def _entries(columns: Columns, shape: Shape) -> range:
    """The columns that say from which run each repetition was entered."""
    return range(columns.repetitions + 1, columns.repetitions + 2 * shape.repetitions, 2)


def _restored_places(shape: Shape, state: Mapping[str, Any]) -> Places:
    keys = state["keys"].ids
    blank = new_places(shape)
    rows = np.zeros((max(len(keys), len(blank.rows)), blank.rows.shape[1]), dtype=np.int64)
    rows[:, NUMBER] = NONE
    rows[: len(keys)] = np.concatenate((rows_of(state["places"], len(keys)), keys), axis=1)
    return grow_places(Places(rows, blank.heads, state["ends"]), shape)
