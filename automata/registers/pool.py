"""Runs of a register automaton: rows of one int64 matrix, linked into the lists by which events find them.

A run is in three kinds of lists, all of them doubly linked, so that it leaves them in constant time:

edges   for each edge that it may still take, under a hash of what an event must have to take it with it
strict  under its partition, if nothing but an adjacent event can extend it
age     all runs by their first event: a run is put right behind the one it came from

A run that nothing can extend any more leaves the first two; its row is used again as soon as no other run
came from it, or when its window has passed (G 7.2.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel
from automata.registers.tables import KEYS, NONE, OPERATOR, OUTGOING, STRICT, Shape
from automata.values import Ids

ROOT = 0
"""The row of the run that has taken nothing; always there, in no list."""
_ROWS_INITIAL = 256

(
    PARENT, STATE, SYMBOL, POSITION, SERIAL, TIME, STREAM, SLOT, SEQ, RANK,
    FIRST_TIME, FIRST, FIRST_RANK, WINDOW, PARTITION, DEPTH, MARKERS,
    CHILDREN, LINKED, OLDER, YOUNGER,
) = range(21)  # fmt: skip
"""PARENT … RANK       the run it came from; its state; the event taken last its place in slices.timeline
FIRST_* WINDOW PARTITION DEPTH   of the whole run; DEPTH is the number of its events
MARKERS     bit m: the home of marker m was taken
CHILDREN    rows that came from this one
LINKED      edge lists it is in; NONE on rows that are free
OLDER, YOUNGER      neighbours in the list by age; YOUNGER also chains the free rows"""
_FIXED = 21

AFTER, BEFORE, TAKEN_TIME, TAKEN_STREAM, TAKEN_POSITION = range(5)
"""Of one link: the next and the one before (0: it is in no list, n + 1: link n, -n - 1: it is the first of list n);
of its edge under skip-till-next: the first time, and the last stream and position, that took it (TAKEN_STREAM NONE:
not yet)."""
LINK = 5
"""Columns of a link."""

FREE, SIZE, OLDEST, YOUNGEST, LIVE = range(5)
"""Of `Pool.heads_of`: the first free row, rows ever used, the ends of the list by age, runs alive."""


RUNS = 0
"""The column of a table of partitions that counts their runs."""


class Columns(NamedTuple):
    """The columns that follow the fixed ones: count and entry of each repetition, links, registers."""

    repetitions: int
    links: int
    registers: int
    width: int


class Pool(NamedTuple):
    """rows       int64[capacity, width]
    heads       int64[a power of two]: the first link of each list, NONE if it is empty
    ends        FREE, SIZE, OLDEST, YOUNGEST, LIVE
    """

    rows: Ids
    heads: Ids
    ends: Ids


def layout(shape: Shape) -> Columns:
    """The columns of a program's runs; the link after those of the edges is for the strict list."""
    links = _FIXED + 2 * shape.repetitions
    registers = links + LINK * (shape.slots + 1)
    return Columns(_FIXED, links, registers, registers + shape.variables)


def new_pool(shape: Shape, columns: Columns) -> Pool:
    """An empty pool with its ROOT."""
    rows: NDArray[np.int64] = np.zeros((_ROWS_INITIAL, columns.width), dtype=np.int64)
    rows[ROOT, : columns.repetitions] = NONE
    rows[ROOT, [STATE, DEPTH, MARKERS, CHILDREN]] = 0
    heads = np.full(_heads_for(_ROWS_INITIAL, shape), NONE, dtype=np.int64)
    return Pool(rows, heads, np.array([NONE, 1, NONE, NONE, 0], dtype=np.int64))


def grow(pool: Pool, shape: Shape, rows: int) -> Pool:
    """The pool with room for that many rows more; the lists come later, with `link_again`."""
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


@lean_kernel
def mix(hashed: int, value: int) -> int:
    """One more value in a hash; below 2**62 throughout, the same compiled and not."""
    mixed = ((hashed ^ int(value)) * 0x1E3779B97F4A7C15) & 0x3FFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 29)


@lean_kernel
def strict_list(pool: Pool, partition: int) -> int:
    """The list of a partition's runs that only an adjacent event can extend."""
    return int(mix(mix(0x51D, partition), 0) & (pool.heads.shape[0] - 1))


@lean_kernel
def link(pool: Pool, columns: Columns, row: int, number: int, head: int) -> None:
    """Put one link of a row into a list."""
    links = (columns.registers - columns.links) // LINK
    own = row * links + number
    column = columns.links + LINK * number
    first = pool.heads[head]
    pool.rows[row, column + AFTER] = first
    pool.rows[row, column + BEFORE] = -head - 1
    if first != NONE:
        pool.rows[first // links, columns.links + LINK * (first % links) + BEFORE] = own + 1
    pool.heads[head] = own


@lean_kernel
def unlink(pool: Pool, columns: Columns, row: int, number: int) -> bool:
    """Take one link of a row out of its list; whether it was in one."""
    links = (columns.registers - columns.links) // LINK
    column = columns.links + LINK * number
    before, after = pool.rows[row, column + BEFORE], pool.rows[row, column + AFTER]
    if before == 0:
        return False
    if before > 0:
        other = before - 1
        pool.rows[other // links, columns.links + LINK * (other % links) + AFTER] = after
    else:
        pool.heads[-before - 1] = after
    if after != NONE:
        pool.rows[after // links, columns.links + LINK * (after % links) + BEFORE] = before
    pool.rows[row, column + BEFORE] = 0
    return True


@lean_kernel
def take_row(pool: Pool, source: int) -> int:
    """A row for a run that comes from `source`, in its place by age; there must be room."""
    row = pool.ends[FREE]
    if row == NONE:
        row = pool.ends[SIZE]
        pool.ends[SIZE] += 1
    else:
        pool.ends[FREE] = pool.rows[row, YOUNGER]
    older = pool.ends[YOUNGEST] if source == ROOT else source
    younger = pool.ends[OLDEST] if older == NONE else pool.rows[older, YOUNGER]
    pool.rows[row, OLDER], pool.rows[row, YOUNGER] = older, younger
    if older == NONE:
        pool.ends[OLDEST] = row
    else:
        pool.rows[older, YOUNGER] = row
    if younger == NONE:
        pool.ends[YOUNGEST] = row
    else:
        pool.rows[younger, OLDER] = row
    pool.ends[LIVE] += 1
    return int(row)


@lean_kernel
def free_row(pool: Pool, columns: Columns, places: Ids, row: int) -> None:
    """Take a run out of every list and its row into use again; `places` counts the runs of each partition."""
    for number in range((columns.registers - columns.links) // LINK):
        unlink(pool, columns, row, number)
    older, younger = pool.rows[row, OLDER], pool.rows[row, YOUNGER]
    if older == NONE:
        pool.ends[OLDEST] = younger
    else:
        pool.rows[older, YOUNGER] = younger
    if younger == NONE:
        pool.ends[YOUNGEST] = older
    else:
        pool.rows[younger, OLDER] = older
    places[pool.rows[row, PARTITION], RUNS] -= 1
    pool.rows[row, LINKED] = NONE
    pool.rows[row, YOUNGER] = pool.ends[FREE]
    pool.ends[FREE] = row
    pool.ends[LIVE] -= 1


@lean_kernel
def release(pool: Pool, columns: Columns, places: Ids, row: int) -> None:
    """Free a run that no event can extend and no other run came from; then those that were kept for its sake."""
    while row != ROOT and pool.rows[row, LINKED] == 0 and pool.rows[row, CHILDREN] == 0:
        parent = pool.rows[row, PARENT]
        free_row(pool, columns, places, row)
        pool.rows[parent, CHILDREN] -= 1
        row = parent


@lean_kernel
def drop_edge(pool: Pool, columns: Columns, places: Ids, row: int, number: int) -> None:
    """The run will not take its edge with this number any more."""
    if unlink(pool, columns, row, number):
        pool.rows[row, LINKED] -= 1
        if pool.rows[row, LINKED] == 0:
            release(pool, columns, places, row)


@lean_kernel
def edge_list(pool: Pool, tables: Ids, edge: int, partition: int, slot: int, registers: Ids) -> int:
    """The list of the runs that may take an edge with these keys; `slot` is NONE but under strict contiguity."""
    hashed = mix(mix(mix(0xED6E, edge), partition), slot + 2)
    for place in range(tables.shape[2]):
        variable = tables[KEYS, edge, place]
        if variable < 0:
            break
        hashed = mix(hashed, registers[variable])
    return int(hashed & (pool.heads.shape[0] - 1))


@lean_kernel
def link_again(pool: Pool, columns: Columns, tables: Ids, registers: Ids) -> None:
    """Fill the empty lists of a pool that has grown; `registers` is room for those of one run."""
    slots = (columns.registers - columns.links) // LINK - 1
    row = pool.ends[OLDEST]
    while row != NONE:
        for variable in range(registers.shape[0]):
            registers[variable] = pool.rows[row, columns.registers + variable]
        for number in range(slots + 1):
            column = columns.links + LINK * number + BEFORE
            if pool.rows[row, column] != 0:
                pool.rows[row, column] = 0
                partition = pool.rows[row, PARTITION]
                if number == slots:
                    head = strict_list(pool, partition)
                else:
                    edge = tables[OUTGOING, pool.rows[row, STATE], number]
                    slot = pool.rows[row, SLOT] if tables[OPERATOR, edge, 0] == STRICT else NONE
                    head = edge_list(pool, tables, edge, partition, slot, registers)
                link(pool, columns, row, number, head)
        row = pool.rows[row, YOUNGER]
