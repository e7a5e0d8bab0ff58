"""`ClosedGraphs` for keys that are bytes in arrays, many at once; importing this imports numba."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from arrays.jit import free_kernel, part
from arrays.words import WORD, Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.graph_names import GraphNames
from sparql_gpm.interning.pages import zeros
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.interning.term_table_kernels import copy, hash_of, same_bytes

COUNT, FORGOTTEN = 0, 1
"""The state: the number of keys in the table, and of the oldest of them, which do not count any more."""
_KEYS_MIN, _BYTES_MIN = 1 << 10, 1 << 15
_NUMBER = (1 << 32) - 1
"""The bits of a slot that hold the number of a key; the others are those of its hash."""
_AT_ONCE = 32
"""Keys whose slots are read one after the other, before they are needed: memory is waited for once for all."""
_ROOM = 2
"""New arrays are so many times as long as their content."""


class ClosedGraphTable:
    """The keys of the graphs closed last, at most `size` of them."""

    def __init__(self, size: int, keys: Iterable[bytes]) -> None:
        self._size = size
        self._state: Ids = np.zeros(2, dtype=np.int64)
        self._make_arrays(_KEYS_MIN, _BYTES_MIN)
        fill(self._hashes, 0, self._slots)  # so that it is compiled now, and by `spaseq warm`, not when the table grows
        for key in keys:
            self.add(key)

    def __contains__(self, key: bytes) -> bool:
        return self._first_known(*_alone(key), remember=False) == 0

    def add(self, key: bytes) -> None:
        """Add a key; one that is there keeps its age."""
        self._reserve(1, len(key))
        self._first_known(*_alone(key), remember=True)

    def admit(self, text: Bytes, starts: Ids, stops: Ids) -> GraphNames:
        """Add keys in brackets of a text, up to the first that is there already; the names of those added.

        The columns are contiguous.
        """
        self._reserve(len(starts), int((stops - starts).sum()))
        begin = int(self._state[COUNT])
        end = begin + self._first_known(text, starts, stops, remember=True)
        ends = self._ends[begin : end + 1]
        return GraphNames(
            self._arena[ends[0] : ends[-1]].tobytes(), ends[:-1] - (ends[0] - 1), ends[1:] - (ends[0] + 1)
        )

    def _first_known(self, text: Bytes, starts: Ids, stops: Ids, remember: bool) -> int:
        table = self._arena, self._ends, self._hashes, self._slots, self._state
        return int(first_known(text, starts, stops, remember, self._size, *table))

    def _reserve(self, keys: int, size: int) -> None:
        """Make room for so many more keys and bytes, by dropping keys that do not count or by longer arrays."""
        count, forgotten = self._state.tolist()
        if self._fit(count + keys, int(self._ends[count]) + size):
            return
        begin, end = self._ends[[forgotten, count]].tolist()
        live = count - forgotten
        text, ends = self._arena[begin:end].copy(), self._ends[forgotten : count + 1] - begin
        hashes = self._hashes[forgotten:count].copy()
        needed = int(_ROOM * (live + keys)), int(_ROOM * (end - begin + size))
        if self._fit(*needed):
            self._slots[:] = 0
        else:
            self._make_arrays(*needed)
        self._arena[: end - begin], self._ends[: live + 1], self._hashes[:live] = text, ends, hashes
        self._state[:] = live, 0
        fill(self._hashes, live, self._slots)

    def _fit(self, keys: int, size: int) -> bool:
        """True if the arrays are long enough."""
        return keys < len(self._ends) and size + WORD <= len(self._arena)

    def _make_arrays(self, keys: int, size: int) -> None:
        self._arena: Bytes = zeros((max(size, _BYTES_MIN) + WORD,), np.uint8)
        self._ends: Ids = zeros((max(keys, _KEYS_MIN) + 1,), np.int64)
        self._hashes: Ids = zeros((len(self._ends),), np.int64)
        self._slots: Ids = zeros((1 << (2 * len(self._ends) - 1).bit_length(),), np.int64)


def _alone(key: bytes) -> tuple[Bytes, Ids, Ids]:
    return as_bytes(key), np.zeros(1, dtype=np.int64), np.array([len(key)], dtype=np.int64)


@free_kernel
def first_known(
    text: Bytes, starts: Ids, stops: Ids, remember: bool, size: int,
    arena: Bytes, ends: Ids, hashes: Ids, slots: Ids, state: Ids,
) -> int:  # fmt: skip
    """The index of the first key text[starts[i]:stops[i]] that is among the last `size` keys, else the number of keys.

    With `remember` the keys before it are added; there must be room for all.

    arena   bytes: the keys, one after the other, and at least a word more
    ends    int64[keys + 1]: 0, and the end of each key
    hashes  int64[keys]
    slots   int64, a power of two: by the hash of a key, its number, from 1 on, and bits of its hash, so that other keys
            are seldom looked at; 0 where there is none
    state   COUNT, FORGOTTEN
    """
    last = len(slots) - 1
    coming, touched = np.empty(_AT_ONCE, dtype=np.int64), np.empty(_AT_ONCE, dtype=np.int64)
    for index in range(len(starts)):
        start, stop = starts[index], stops[index]
        if index % _AT_ONCE == 0:
            for ahead in range(min(_AT_ONCE, len(starts) - index)):
                coming[ahead] = hash_of(text, starts[index + ahead], stops[index + ahead])
                touched[ahead] = slots[coming[ahead] & last]
        hash_ = coming[index % _AT_ONCE]
        slot = hash_ & last
        while slots[slot] != 0:
            number = slots[slot] & _NUMBER
            if (slots[slot] ^ hash_) & ~_NUMBER == 0 and number > state[FORGOTTEN]:
                begin = ends[number - 1]
                if ends[number] - begin == stop - start and same_bytes(arena, begin, text, start, stop - start):
                    return index
            slot = (slot + 1) & last
        if remember:
            hashes[state[COUNT]] = hash_
            _append(text, start, stop, arena, ends, state)
            slots[slot] = (hash_ & ~_NUMBER) | state[COUNT]
            state[FORGOTTEN] = max(state[FORGOTTEN], state[COUNT] - size)
    return len(starts)


@part
def _append(text: Bytes, start: int, stop: int, arena: Bytes, ends: Ids, state: Ids) -> None:
    count = state[COUNT]
    at = ends[count]
    copy(text, start, stop - start, arena, at)
    ends[count + 1] = at + stop - start
    state[COUNT] = count + 1


@free_kernel
def fill(hashes: Ids, count: int, slots: Ids) -> None:
    """Enter so many keys, no two of which are equal, into slots that are all 0."""
    last = len(slots) - 1
    for index in range(count):
        slot = hashes[index] & last
        while slots[slot] != 0:
            slot = (slot + 1) & last
        slots[slot] = (hashes[index] & ~_NUMBER) | (index + 1)
