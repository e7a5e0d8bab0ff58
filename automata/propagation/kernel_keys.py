"""The solutions of a slice in order of events, with the slots of their keys: a hash table of keys."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_kernel, lean_part
from automata.propagation.kernel_arrays import SLOTS, Order, Slice
from automata.values import NONE, Ids

_PRIME = 0x9E3779B97F4A7C15


@lean_kernel
def put_in_order(slice_: Slice, order: Order) -> int:
    """Fills `ends`, which are 0, `rows` and `symbols`; returns the most solutions of one event."""
    events, ends = slice_.events, order.ends
    for row in range(events.shape[0]):
        ends[events[row]] += 1
    most, before = 0, 0
    for event in range(ends.shape[0]):
        count = ends[event]
        most = max(most, count)
        ends[event] = before
        before += count
    for symbol in range(slice_.begins.shape[0] - 1):
        for row in range(slice_.begins[symbol], slice_.begins[symbol + 1]):
            at = ends[events[row]]
            ends[events[row]] = at + 1
            order.rows[at], order.symbols[at] = row, symbol
    return most


@lean_kernel
def number_rows(table: Ids, keys: Ids, slice_: Slice, order: Order, state: Ids) -> bool:
    """Fills `slots`; False if there is no room for a new key. `table` and `keys`: see `kernel_arrays.Cells`."""
    for at in range(order.rows.shape[0]):
        slot = _slot(table, keys, slice_.keys, int(order.rows[at]), state)
        if slot == NONE:
            return False
        order.slots[at] = slot
    return True


@lean_part
def among(slots: Ids, slot: int, begin: int, end: int) -> bool:
    """True if a slot is among those of a range."""
    found = False
    for at in range(begin, end):
        found |= slots[at] == slot
    return found


@lean_part
def _slot(table: Ids, keys: Ids, given: Ids, row: int, state: Ids) -> int:
    """The slot of a solution's key, given out now if it is new; NONE if there is no room."""
    mask = table.shape[0] - 1
    at = _place(given, row, mask)
    while table[at]:
        slot = int(table[at]) - 1
        same = True
        for column in range(keys.shape[1]):
            same &= keys[slot, column] == given[row, column]
        if same:
            return slot
        at = (at + 1) & mask
    slot = int(state[SLOTS])
    if slot == keys.shape[0]:
        return NONE
    state[SLOTS] = slot + 1
    table[at] = slot + 1
    for column in range(keys.shape[1]):
        keys[slot, column] = given[row, column]
    return slot


@lean_kernel
def number_keys(table: Ids, keys: Ids, count: int) -> None:
    """Enters the keys of the first slots in the hash table, which is empty."""
    mask = table.shape[0] - 1
    for slot in range(count):
        at = _place(keys, slot, mask)
        while table[at]:
            at = (at + 1) & mask
        table[at] = slot + 1


@lean_part
def _place(keys: Ids, row: int, mask: int) -> np.int64:
    """The place in the hash table from which on a key is looked for."""
    hashed = np.uint64(0)
    for column in range(keys.shape[1]):
        hashed = (hashed ^ np.uint64(keys[row, column])) * np.uint64(_PRIME)
        hashed ^= hashed >> np.uint64(29)
    return np.int64(hashed & np.uint64(mask))
