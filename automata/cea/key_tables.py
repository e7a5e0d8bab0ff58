"""One table of Algorithm 1 per key, all over one arena; keys without an event in the window are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arrays.times import BEFORE_ALL
from automata.cea.machine import Scratch, Substreams, Tables
from automata.values import Ids, Mask

Key = tuple[int, ...]
"""Values of the variables of a key."""
_SLOTS_FIRST, _CELLS_FIRST, _NODES_FIRST = 4, 8, 8


class KeyTables:
    """key → slot in `tables`, and its leading `partition` values → row of `substreams`."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._slots: dict[Key, int] = {}
        self._parts: dict[Key, int] = {}
        self._free: list[int] = list(range(_SLOTS_FIRST))
        self._free_parts: list[int] = list(range(_SLOTS_FIRST))
        self._moments = np.full(_SLOTS_FIRST, BEFORE_ALL, dtype=np.int64)
        self.tables = _tables(_SLOTS_FIRST, _CELLS_FIRST, _NODES_FIRST)
        self.substreams = _substreams(_SLOTS_FIRST)
        self.scratch = _scratch(_CELLS_FIRST, 1)

    def slots(self, keys: Sequence[Key], low: int) -> Ids:
        """The slots of the keys; when all are taken, keys without an event since `low` are dropped."""
        missing = [key for key in keys if key not in self._slots]
        if len(missing) > len(self._free):
            self._forget(low, set(keys))
        while len(missing) > len(self._free):
            self._grow()
        for key in missing:
            self._slots[key] = slot = self._free.pop()
            self.tables.counts[slot] = 0
            self.tables.touched[slot] = -1
            self.tables.substreams[slot] = self._part(key[: self._partition])
        return np.array([self._slots[key] for key in keys], dtype=np.int64)

    def touch(self, slots: Ids, moments: Ids) -> None:
        """Sets the moment of the last event of each key, from events in order."""
        self._moments[slots] = moments

    def live_ids(self) -> Ids:
        """The ids in all keys."""
        return np.array([value for key in (*self._slots, *self._parts) for value in key], dtype=np.int64)

    def parts(self) -> list[tuple[Key, int, int]]:
        """Each partition: its values, its substream, and the place of the last event that consumed in it."""
        return [(key, part, int(self.substreams.consumed[part])) for key, part in self._parts.items()]

    def restore(self, parts: Sequence[tuple[Key, int, int]]) -> None:
        """Sets the partitions, under the same numbers, where there is none."""
        while len(self.substreams.consumed) <= max((part for _, part, _ in parts), default=-1):
            self._grow()
        for key, part, consumed in parts:
            self._parts[key] = part
            self._free_parts.remove(part)
            self.substreams.ranks[part] = 0
            self.substreams.places[part], self.substreams.consumed[part] = -1, consumed

    def make_room(self) -> None:
        """Doubles the cells of each key and makes union-lists half again as long."""
        slots, cells = self.tables.cells.shape
        nodes = self.tables.lists.shape[1]
        self._resize(slots, 2 * cells, nodes + max(nodes // 2, 1))

    def fit(self, cells: int) -> None:
        """Makes room for cells with numbers below `cells`."""
        if len(self.scratch.at) < cells:
            self.scratch = self.scratch._replace(at=np.zeros(2 * cells, dtype=np.int64))

    def cells(self) -> Ids:
        """The active cells of all keys."""
        return self.tables.cells[self._active()]

    def renumber(self, numbers: Ids) -> None:
        """Gives the active cells their new numbers."""
        active = self._active()
        self.tables.cells[active] = numbers[self.tables.cells[active]]

    def _active(self) -> Mask:
        active: Mask = np.arange(self.tables.cells.shape[1]) < self.tables.counts[:, np.newaxis]
        return active

    def _part(self, key: Key) -> int:
        if key not in self._parts:
            self._parts[key] = part = self._free_parts.pop()
            self.substreams.ranks[part] = 0
            self.substreams.places[part] = self.substreams.consumed[part] = -1
        return self._parts[key]

    def _forget(self, low: int, wanted: set[Key]) -> None:
        old = [key for key, slot in self._slots.items() if self._moments[slot] < low and key not in wanted]
        for key in old:
            self._free.append(self._slots.pop(key))
        parts = {key[: self._partition] for key in self._slots} | {key[: self._partition] for key in wanted}
        for key in [key for key in self._parts if key not in parts]:
            self._free_parts.append(self._parts.pop(key))

    def _grow(self) -> None:
        slots, cells = self.tables.cells.shape
        self._resize(2 * slots, cells, self.tables.lists.shape[1])
        self._free += range(slots, 2 * slots)
        self._free_parts += range(slots, 2 * slots)
        self._moments = np.concatenate((self._moments, np.full(slots, BEFORE_ALL, dtype=np.int64)))
        old, self.substreams = self.substreams, _substreams(2 * slots)
        for before, after in zip(old, self.substreams, strict=True):
            after[:slots] = before

    def _resize(self, slots: int, cells: int, nodes: int) -> None:
        old, self.tables = self.tables, _tables(slots, cells, nodes)
        for before, after in zip(old, self.tables, strict=True):
            if before is not old.lists:
                after[tuple(slice(size) for size in before.shape)] = before
        shape = (*old.cells.shape, old.lists.shape[1])
        self.tables.lists.reshape(slots, cells, nodes)[: shape[0], : shape[1], : shape[2]] = old.lists.reshape(shape)
        self.scratch = _scratch(cells, len(self.scratch.at))


def _tables(slots: int, cells: int, nodes: int) -> Tables:
    shapes = ((slots,), *3 * ((slots, cells),), (slots * cells, nodes), *3 * ((slots,),))
    tables = Tables(*(np.zeros(shape, dtype=np.int64) for shape in shapes))
    tables.places[:] = np.arange(cells)
    return tables


def _substreams(parts: int) -> Substreams:
    return Substreams(*(np.full(parts, value, dtype=np.int64) for value in (0, -1, -1)))


def _scratch(cells: int, known: int) -> Scratch:
    return Scratch(*(np.zeros(size, dtype=np.int64) for size in (3, cells, cells, known, cells)))
