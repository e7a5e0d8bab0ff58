"""The position of the current event in the substream of each partition, updated event by event.

Ranks, slots and numbers within a slot are those that `automata.slices.timeline` gives a whole slice. Without
PARTITION BY there is one partition, number 0, and every event is in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel, lean_part
from automata.registers.pool import hash_of, take_free
from automata.registers.tables import NONE, PARTITION_BY, Shape
from automata.values import UNBOUND, Ids

_ROWS_INITIAL = 16

RUNS, NUMBER, FOLLOWING, LAST, RANK, SLOT, SEQ, TIME = range(8)
"""Columns: its runs; its number in matches, never given twice (NONE: the row is free); the next row of its list or of
the free ones; its last event; rank, slot, number within slot and stream, and time of that. Then, for each stream, the
number of its events in the slot, and in the one before; then the key."""
_COUNTS = 8

HEAD_FREE, USED, NUMBERED = range(3)
"""Columns of `Partitions.ends`."""


class Partitions(NamedTuple):
    """rows     int64[capacity, width]
    heads       int64[a power of two]: lists of partitions by the hash of their key
    ends        first free row, rows ever used, numbers given
    """

    rows: Ids
    heads: Ids
    ends: Ids


@lean_kernel
def key_column(shape: Shape) -> int:
    """The column where the key begins."""
    return _COUNTS + 2 * shape.streams


def new_partitions(shape: Shape) -> Partitions:
    """An empty table; without PARTITION BY, one with the only partition."""
    width = key_column(shape) + shape.keys
    rows: NDArray[np.int64] = np.zeros((_ROWS_INITIAL, width), dtype=np.int64)
    rows[:, NUMBER] = NONE
    partitions = Partitions(
        rows, np.full(2 * _ROWS_INITIAL, NONE, dtype=np.int64), np.array([NONE, 0, 0], dtype=np.int64)
    )
    if not shape.keys:
        add_partition(partitions, shape, np.zeros(0, dtype=np.int64))
    return partitions


def grow_partitions(partitions: Partitions, shape: Shape) -> Partitions:
    """The same partitions with room for as many again."""
    rows = np.zeros((2 * len(partitions.rows), partitions.rows.shape[1]), dtype=np.int64)
    rows[:, NUMBER] = NONE
    rows[: len(partitions.rows)] = partitions.rows
    grown = Partitions(rows, np.full(2 * len(rows), NONE, dtype=np.int64), partitions.ends)
    rehash(grown, shape)
    return grown


@lean_part
def _key_list(partitions: Partitions, key: Ids) -> int:
    return int(hash_of(key, 0x9A57) & (partitions.heads.shape[0] - 1))


@lean_part
def find_partition(partitions: Partitions, shape: Shape, key: Ids) -> int:
    """The row of the partition with this key; NONE: there is none."""
    first = key_column(shape)
    row = partitions.heads[_key_list(partitions, key)]
    while row != NONE:
        same = True
        for number in range(shape.keys):
            same = same and partitions.rows[row, first + number] == key[number]
        if same:
            return int(row)
        row = partitions.rows[row, FOLLOWING]
    return NONE


@lean_kernel
def add_partition(partitions: Partitions, shape: Shape, key: Ids) -> int:
    """A new partition; there must be room."""
    row = take_free(partitions.rows, FOLLOWING, partitions.ends, HEAD_FREE, USED)
    partitions.rows[row, :] = 0
    partitions.rows[row, NUMBER] = partitions.ends[NUMBERED]
    partitions.ends[NUMBERED] += 1
    partitions.rows[row, LAST] = partitions.rows[row, RANK] = partitions.rows[row, SLOT] = NONE
    for number in range(shape.keys):
        partitions.rows[row, key_column(shape) + number] = key[number]
    head = _key_list(partitions, key)
    partitions.rows[row, FOLLOWING] = partitions.heads[head]
    partitions.heads[head] = row
    return int(row)


@lean_kernel
def forget_partitions(partitions: Partitions, shape: Shape, position: int) -> None:
    """Drops the partitions without a run or the event at `position`; not where ranks must go on."""
    for row in range(partitions.ends[USED]):
        known = partitions.rows[row, NUMBER] != NONE
        if known and partitions.rows[row, RUNS] == 0 and partitions.rows[row, LAST] != position:
            partitions.rows[row, NUMBER] = NONE
    rehash(partitions, shape)


@lean_kernel
def rehash(partitions: Partitions, shape: Shape) -> None:
    """Rebuilds the lists."""
    first = key_column(shape)
    partitions.heads[:] = NONE
    partitions.ends[HEAD_FREE] = NONE
    for row in range(partitions.ends[USED]):
        if partitions.rows[row, NUMBER] == NONE:
            partitions.rows[row, FOLLOWING] = partitions.ends[HEAD_FREE]
            partitions.ends[HEAD_FREE] = row
        else:
            head = _key_list(partitions, partitions.rows[row, first : first + shape.keys])
            partitions.rows[row, FOLLOWING] = partitions.heads[head]
            partitions.heads[head] = row


@lean_part
def advance(partitions: Partitions, shape: Shape, row: int, position: int, time: int, stream: int) -> bool:
    """Counts the event in the partition, once however often it is called; returns whether a slot began."""
    if partitions.rows[row, LAST] == position:
        return False
    partitions.rows[row, LAST] = position
    partitions.rows[row, RANK] += 1
    if shape.total:
        partitions.rows[row, SLOT] += 1
        return True
    opens = partitions.rows[row, SLOT] == NONE or partitions.rows[row, TIME] != time
    if opens:
        for number in range(shape.streams):
            partitions.rows[row, _COUNTS + shape.streams + number] = partitions.rows[row, _COUNTS + number]
            partitions.rows[row, _COUNTS + number] = 0
        partitions.rows[row, SLOT] += 1
        partitions.rows[row, TIME] = time
    partitions.rows[row, SEQ] = partitions.rows[row, _COUNTS + stream]
    partitions.rows[row, _COUNTS + stream] += 1
    return bool(opens)


@lean_part
def was_last(partitions: Partitions, shape: Shape, row: int, stream: int, seq: int) -> bool:
    """The event with that number was the last of its stream in the slot before the current one."""
    return bool(partitions.rows[row, _COUNTS + shape.streams + stream] == seq + 1)


@lean_part
def partition_key(tables: Ids, registers: Ids, key: Ids) -> bool:
    """Writes the key of the solution's partition; returns whether it has one."""
    for number in range(key.shape[0]):
        key[number] = registers[tables[PARTITION_BY, number, 0]]
        if key[number] == UNBOUND:
            return False
    return True
