"""The place of the current event in the substream of each partition, updated with each event.

The same ranks, slots and numbers within a slot as `automata.slices.timeline` gives a whole slice. Without PARTITION BY
there is one partition, number 0, and every event is in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_kernel
from automata.registers.pool import RUNS, mix
from automata.registers.tables import NONE, PARTITION_BY, Shape
from automata.values import UNBOUND, Ids

_PLACES_INITIAL = 16

_, NUMBER, NEXT_PLACE, LAST, PLACE_RANK, PLACE_SLOT, PLACE_SEQ, PLACE_TIME = range(8)
"""How many runs it has; its number in matches, never given twice (NONE: the row is free); the next row of its list or
of the free ones; its last event; rank, slot, number within slot and stream, and time of that. Then come, for each
stream, how many events it has in the slot and had in the one before; then the key."""
_COUNTS = 8

HEAD_FREE, USED, NUMBERED = range(3)


class Places(NamedTuple):
    """rows     int64[capacity, width]
    heads       int64[a power of two]: lists of partitions by the hash of their key
    ends        first free row, rows ever used, numbers given
    """

    rows: Ids
    heads: Ids
    ends: Ids


def key_column(shape: Shape) -> int:
    """The column at which the key begins."""
    return _COUNTS + 2 * shape.streams


def new_places(shape: Shape) -> Places:
    """No partition yet, but for the only one where there is no PARTITION BY."""
    width = _COUNTS + 2 * shape.streams + shape.keys
    rows: NDArray[np.int64] = np.zeros((_PLACES_INITIAL, width), dtype=np.int64)
    rows[:, NUMBER] = NONE
    places = Places(rows, np.full(2 * _PLACES_INITIAL, NONE, dtype=np.int64), np.array([NONE, 0, 0], dtype=np.int64))
    if not shape.keys:
        add_place(places, shape, np.zeros(0, dtype=np.int64))
    return places


def grow_places(places: Places, shape: Shape) -> Places:
    """Room for as many again."""
    rows = np.zeros((2 * len(places.rows), places.rows.shape[1]), dtype=np.int64)
    rows[:, NUMBER] = NONE
    rows[: len(places.rows)] = places.rows
    grown = Places(rows, np.full(2 * len(rows), NONE, dtype=np.int64), places.ends)
    rehash(grown, shape)
    return grown


@lean_kernel
def _key_list(places: Places, key: Ids) -> int:
    hashed = 0x9A57
    for value in key:
        hashed = mix(hashed, value)
    return int(hashed & (places.heads.shape[0] - 1))


@lean_kernel
def find_place(places: Places, shape: Shape, key: Ids) -> int:
    """The partition with this key, NONE if there is none yet."""
    first = _COUNTS + 2 * shape.streams
    row = places.heads[_key_list(places, key)]
    while row != NONE:
        same = True
        for number in range(shape.keys):
            same = same and places.rows[row, first + number] == key[number]
        if same:
            return int(row)
        row = places.rows[row, NEXT_PLACE]
    return NONE


@lean_kernel
def add_place(places: Places, shape: Shape, key: Ids) -> int:
    """A new partition; there must be room."""
    row = places.ends[HEAD_FREE]
    if row == NONE:
        row = places.ends[USED]
        places.ends[USED] += 1
    else:
        places.ends[HEAD_FREE] = places.rows[row, NEXT_PLACE]
    places.rows[row, :] = 0
    places.rows[row, NUMBER] = places.ends[NUMBERED]
    places.ends[NUMBERED] += 1
    places.rows[row, LAST] = places.rows[row, PLACE_RANK] = places.rows[row, PLACE_SLOT] = NONE
    for number in range(shape.keys):
        places.rows[row, _COUNTS + 2 * shape.streams + number] = key[number]
    head = _key_list(places, key)
    places.rows[row, NEXT_PLACE] = places.heads[head]
    places.heads[head] = row
    return int(row)


@lean_kernel
def forget_places(places: Places, shape: Shape, position: int) -> None:
    """Drop the partitions without a run that the event at `position` is not in; not where ranks must go on."""
    for row in range(places.ends[USED]):
        known = places.rows[row, NUMBER] != NONE
        if known and places.rows[row, RUNS] == 0 and places.rows[row, LAST] != position:
            places.rows[row, NUMBER] = NONE
    rehash(places, shape)


@lean_kernel
def rehash(places: Places, shape: Shape) -> None:
    """Make the lists anew."""
    first = _COUNTS + 2 * shape.streams
    places.heads[:] = NONE
    places.ends[HEAD_FREE] = NONE
    for row in range(places.ends[USED]):
        if places.rows[row, NUMBER] == NONE:
            places.rows[row, NEXT_PLACE] = places.ends[HEAD_FREE]
            places.ends[HEAD_FREE] = row
        else:
            head = _key_list(places, places.rows[row, first : first + shape.keys])
            places.rows[row, NEXT_PLACE] = places.heads[head]
            places.heads[head] = row


@lean_kernel
def advance(places: Places, shape: Shape, row: int, position: int, time: int, stream: int) -> bool:
    """Count the event in the partition, once however often it is asked; whether that began a slot."""
    if places.rows[row, LAST] == position:
        return False
    places.rows[row, LAST] = position
    places.rows[row, PLACE_RANK] += 1
    if shape.total:
        places.rows[row, PLACE_SLOT] += 1
        return True
    opens = places.rows[row, PLACE_SLOT] == NONE or places.rows[row, PLACE_TIME] != time
    if opens:
        for number in range(shape.streams):
            places.rows[row, _COUNTS + shape.streams + number] = places.rows[row, _COUNTS + number]
            places.rows[row, _COUNTS + number] = 0
        places.rows[row, PLACE_SLOT] += 1
        places.rows[row, PLACE_TIME] = time
    places.rows[row, PLACE_SEQ] = places.rows[row, _COUNTS + stream]
    places.rows[row, _COUNTS + stream] += 1
    return bool(opens)


@lean_kernel
def was_last(places: Places, shape: Shape, row: int, stream: int, seq: int) -> bool:
    """True if the event with that number was the last of its stream in the slot before the present one."""
    return bool(places.rows[row, _COUNTS + shape.streams + stream] == seq + 1)


@lean_kernel
def partition_key(tables: Ids, registers: Ids, key: Ids) -> bool:
    """Fill in the key of the partition that a solution belongs to; whether it belongs to one."""
    for number in range(key.shape[0]):
        key[number] = registers[tables[PARTITION_BY, number, 0]]
        if key[number] == UNBOUND:
            return False
    return True
