"""Runs of a register automaton: rows of one int64 matrix, linked into the lists that events look up.

A run is in three kinds of doubly linked lists, so that it is removed from them in constant time:

edges   for each edge that it may still take, by a hash of the values that an event must have to take it
strict  of its partition, if only an adjacent event can extend it
age     all runs by their first event: a run comes right after the one that it extends

A run that nothing can extend any more leaves the first two; its row is reused once no other run extends it, or when
its window has passed (G 7.2.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel, lean_part
from automata.registers import tables as table
from automata.registers.tables import NONE, Shape
from automata.values import Ids

ROOT = 0
"""The row of the empty run; always there, in no list."""
_ROWS_INITIAL = 256

(
    PARENT, STATE, SYMBOL, POSITION, SOLUTION, TIME, STREAM, SLOT, SEQ, RANK,
    FIRST_TIME, FIRST, FIRST_RANK, WINDOW, PARTITION, DEPTH, MARKERS,
    CHILDREN, LINKED, OLDER, YOUNGER,
) = range(21)  # fmt: skip
"""PARENT … RANK       the run it extends; its state; the last event, and its ranks as in slices.timeline
FIRST_* WINDOW PARTITION DEPTH   of the whole run; DEPTH is the number of its events
MARKERS     bit m: the position of marker m was taken
CHILDREN    runs that extend this one
LINKED      edge lists it is in; NONE on rows that are free
OLDER, YOUNGER      neighbours in the list by age; YOUNGER also chains the free rows"""
_FIXED = 21

AFTER, BEFORE, TAKEN_TIME, TAKEN_STREAM, TAKEN_POSITION = range(5)
"""Columns of a link: the next and the previous link (0: it is in no list, n + 1: link n, -n - 1: it is the first of
list n); of its edge under skip-till-next, the first time, last stream and last position that took it (TAKEN_STREAM
NONE: not yet)."""
LINK = 5
"""Number of these columns."""

FREE, SIZE, OLDEST, YOUNGEST, LIVE = range(5)
"""Columns of `Pool.ends`: the first free row, rows ever used, the ends of the list by age, runs alive."""
_RUNS = 0
"""The column of `Partitions.rows` that counts their runs."""


class Columns(NamedTuple):
    """The first of the columns that follow the fixed ones: count and entry of each repetition, links, registers.

    lists       links of each run
    """

    repetitions: int
    links: int
    registers: int
    width: int
    lists: int


class Pool(NamedTuple):
    """rows       int64[capacity, width]
    heads       int64[a power of two]: the first link of each list, NONE if it is empty
    ends        FREE, SIZE, OLDEST, YOUNGEST, LIVE
    """

    rows: Ids
    heads: Ids
    ends: Ids


def layout(shape: Shape) -> Columns:
    """The columns of a program's runs; the last link is for the strict list."""
    links = _FIXED + 2 * shape.repetitions
    registers = links + LINK * (shape.slots + 1)
    return Columns(_FIXED, links, registers, registers + shape.variables, shape.slots + 1)


def new_pool(shape: Shape, columns: Columns) -> Pool:
    """An empty pool with its ROOT."""
    rows: NDArray[np.int64] = np.zeros((_ROWS_INITIAL, columns.width), dtype=np.int64)
    rows[ROOT, : columns.repetitions] = NONE
    rows[ROOT, [STATE, DEPTH, MARKERS, CHILDREN]] = 0
    heads = np.full(_heads_for(_ROWS_INITIAL, shape), NONE, dtype=np.int64)
    return Pool(rows, heads, np.array([NONE, 1, NONE, NONE, 0], dtype=np.int64))


def grow(pool: Pool, shape: Shape, rows: int) -> Pool:
    """The pool with room for that many rows more; `relink` fills its lists."""
    capacity = max(2 * len(pool.rows), len(pool.rows) + rows)
    grown = np.zeros((capacity, pool.rows.shape[1]), dtype=np.int64)
    grown[: len(pool.rows)] = pool.rows
    return Pool(grown, np.full(_heads_for(capacity, shape), NONE, dtype=np.int64), pool.ends)


def _heads_for(rows: int, shape: Shape) -> int:
    lists: int = 2 * rows * (shape.slots + 1)
    return 1 << (lists - 1).bit_length()


@lean_kernel
def room(pool: Pool) -> int:
    """The number of runs that can be added."""
    return int(pool.rows.shape[0] - pool.ends[LIVE] - 1)


@lean_part
def mix(hashed: int, value: int) -> int:
    """A hash with one more value; below 2**62, the same compiled and not."""
    mixed = ((hashed ^ int(value)) * 0x1E3779B97F4A7C15) & 0x3FFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 29)


@lean_part
def hash_of(values: Ids, seed: int) -> int:
    """The hash of a sequence of values."""
    hashed = seed
    for value in values:
        hashed = mix(hashed, value)
    return hashed


@lean_part
def strict_list(pool: Pool, partition: int) -> int:
    """The list of the partition's runs that only an adjacent event can extend."""
    return int(mix(mix(0x51D, partition), 0) & (pool.heads.shape[0] - 1))


@lean_part
def link(pool: Pool, columns: Columns, row: int, number: int, head: int) -> None:
    """Puts one link of a row into a list."""
    own = row * columns.lists + number
    column = columns.links + LINK * number
    first = pool.heads[head]
    pool.rows[row, column + AFTER] = first
    pool.rows[row, column + BEFORE] = -head - 1
    if first != NONE:
        _set_link(pool, columns, first, BEFORE, own + 1)
    pool.heads[head] = own


@lean_part
def _set_link(pool: Pool, columns: Columns, number: int, column: int, value: int) -> None:
    pool.rows[number // columns.lists, columns.links + LINK * (number % columns.lists) + column] = value


@lean_part
def unlink(pool: Pool, columns: Columns, row: int, number: int) -> bool:
    """Removes one link of a row from its list; returns whether it was in one."""
    column = columns.links + LINK * number
    before, after = pool.rows[row, column + BEFORE], pool.rows[row, column + AFTER]
    if before == 0:
        return False
    if before > 0:
        _set_link(pool, columns, before - 1, AFTER, after)
    else:
        pool.heads[-before - 1] = after
    if after != NONE:
        _set_link(pool, columns, after, BEFORE, before)
    pool.rows[row, column + BEFORE] = 0
    return True


@lean_part
def take_free(rows: Ids, following: int, ends: Ids, free: int, used: int) -> int:
    """A row without content; there must be room.

    following   the column of the next free row
    free, used  where `ends` has the first free row, NONE for none, and the number of rows ever used
    """
    row = ends[free]
    if row == NONE:
        row = ends[used]
        ends[used] += 1
    else:
        ends[free] = rows[row, following]
    return int(row)


@lean_part
def take_row(pool: Pool, source: int) -> int:
    """A row for a run that extends `source`, linked by age; there must be room."""
    row = take_free(pool.rows, YOUNGER, pool.ends, FREE, SIZE)
    older = pool.ends[YOUNGEST] if source == ROOT else source
    younger = pool.ends[OLDEST] if older == NONE else pool.rows[older, YOUNGER]
    _adjoin(pool, older, row)
    _adjoin(pool, row, younger)
    pool.ends[LIVE] += 1
    return int(row)


@lean_part
def _adjoin(pool: Pool, older: int, younger: int) -> None:
    """Makes two rows neighbours in the list by age; NONE stands for its end."""
    if older == NONE:
        pool.ends[OLDEST] = younger
    else:
        pool.rows[older, YOUNGER] = younger
    if younger == NONE:
        pool.ends[YOUNGEST] = older
    else:
        pool.rows[younger, OLDER] = older


@lean_part
def free_row(pool: Pool, columns: Columns, partitions: Ids, row: int) -> None:
    """Removes a run from every list and frees its row; `partitions` counts the runs of each partition."""
    for number in range(columns.lists):
        unlink(pool, columns, row, number)
    _adjoin(pool, pool.rows[row, OLDER], pool.rows[row, YOUNGER])
    partitions[pool.rows[row, PARTITION], _RUNS] -= 1
    pool.rows[row, LINKED] = NONE
    pool.rows[row, YOUNGER] = pool.ends[FREE]
    pool.ends[FREE] = row
    pool.ends[LIVE] -= 1


@lean_part
def release(pool: Pool, columns: Columns, partitions: Ids, row: int) -> None:
    """Frees a run that no event can extend and no run extends; then its parents for which the same holds."""
    while row != ROOT and pool.rows[row, LINKED] == 0 and pool.rows[row, CHILDREN] == 0:
        parent = pool.rows[row, PARENT]
        free_row(pool, columns, partitions, row)
        pool.rows[parent, CHILDREN] -= 1
        row = parent


@lean_part
def drop_edge(pool: Pool, columns: Columns, partitions: Ids, row: int, number: int) -> None:
    """Removes the run from the list of its edge with this number."""
    if unlink(pool, columns, row, number):
        pool.rows[row, LINKED] -= 1
        if pool.rows[row, LINKED] == 0:
            release(pool, columns, partitions, row)


@lean_part
def edge_list(pool: Pool, tables: Ids, edge: int, partition: int, slot: int, registers: Ids) -> int:
    """The list of the runs that may take an edge with these keys; `slot` is NONE except under strict contiguity."""
    hashed = mix(mix(mix(0xED6E, edge), partition), slot + 2)
    for place in range(tables.shape[2]):
        variable = tables[table.KEYS, edge, place]
        if variable < 0:
            break
        hashed = mix(hashed, registers[variable])
    return int(hashed & (pool.heads.shape[0] - 1))


@lean_kernel
def relink(pool: Pool, columns: Columns, tables: Ids, registers: Ids) -> None:
    """Fills the empty lists of a pool that has grown; `registers` is room for those of one run."""
    strict = columns.lists - 1
    row = pool.ends[OLDEST]
    while row != NONE:
        for variable in range(registers.shape[0]):
            registers[variable] = pool.rows[row, columns.registers + variable]
        for number in range(columns.lists):
            column = columns.links + LINK * number + BEFORE
            if pool.rows[row, column] != 0:
                pool.rows[row, column] = 0
                partition = pool.rows[row, PARTITION]
                if number == strict:
                    head = strict_list(pool, partition)
                else:
                    edge = tables[table.OUTGOING, pool.rows[row, STATE], number]
                    slot = pool.rows[row, SLOT] if tables[table.OPERATOR, edge, 0] == table.STRICT else NONE
                    head = edge_list(pool, tables, edge, partition, slot, registers)
                link(pool, columns, row, number, head)
        row = pool.rows[row, YOUNGER]
