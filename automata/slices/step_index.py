"""An index over a step table: rows grouped by join key, each group in merged order.

A run asks for a range: its key's group, from the first row after its own last event on. Keys are
hashed to 64 bits; whoever uses the range compares the values themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arrays.columns import hash_columns
from automata.slices.step_table import StepTable
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class StepIndex:
    """order        table rows by (key, low)
    keys            distinct hashes, ascending; group g is order[starts[g]:starts[g + 1]]
    by_low, by_slot composite ascending columns (group, low) and (group, slot), for binary search
    slot_ends       for each place in `order` the first one after it with another group or slot
    """

    order: Ids
    keys: Ids
    starts: Ids
    by_low: Ids
    by_slot: Ids
    slot_ends: Ids
    low_first: int
    low_span: int
    slot_first: int
    slot_span: int

    def ranges(self, hashes: Ids, after: Ids) -> tuple[Ids, Ids, Ids]:
        """For each run: its group, and the range of `order` with that key and `low` > after."""
        groups, found = self.groups(hashes)
        begin = self.from_low(groups, after + 1)
        end = np.where(found, self.starts[groups + 1], begin)
        return groups, np.minimum(begin, end), end

    def groups(self, hashes: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """For each hash: its group, and whether there is one (else the group is some other)."""
        groups = np.minimum(self.keys.searchsorted(hashes), len(self.keys) - 1)
        return groups, self.keys[groups] == hashes

    def from_low(self, groups: Ids, lows: Ids) -> Ids:
        """The first place in `order` of each group with a low of at least this."""
        low = clipped(lows - self.low_first, 0, self.low_span - 1)
        return self.by_low.searchsorted(groups * self.low_span + low)

    def from_slot(self, groups: Ids, slots: Ids) -> Ids:
        """The first place in `order` of each group with a slot of at least this."""
        slot = clipped(slots - self.slot_first, 0, self.slot_span - 1)
        return self.by_slot.searchsorted(groups * self.slot_span + slot)


def step_index(table: StepTable, variables: tuple[int, ...], in_context: bool) -> StepIndex:
    """The index of a non-empty table by these variables and, `in_context`, by partition and window; made once."""
    context = [table.partitions, table.windows] if in_context else []
    return table.shared.of(_build, table.low, table.slots, *context, *map(table.value, variables))


def clipped(values: Ids, least: Ids | int, most: Ids | int) -> Ids:
    """The values within bounds; for few of them in a fraction of the time that np.clip takes."""
    return np.minimum(np.maximum(values, least), most)


def _build(lows: Ids, slots: Ids, *columns: Ids) -> StepIndex:
    hashes = hash_columns(columns, len(lows))
    order = np.argsort(hashes, kind="stable")
    keys, first = np.unique(hashes[order], return_index=True)
    starts = np.append(first, len(order)).astype(np.int64)
    groups = np.repeat(np.arange(len(keys), dtype=np.int64), starts[1:] - starts[:-1])
    low_first, slot_first = int(lows.min()), int(slots.min())
    low_span = int(lows.max()) - low_first + 2
    slot_span = int(slots.max()) - slot_first + 2
    by_slot = groups * slot_span + (slots[order] - slot_first)
    borders = np.flatnonzero(np.concatenate(([True], by_slot[1:] != by_slot[:-1], [True])))
    return StepIndex(
        order,
        keys,
        starts,
        groups * low_span + (lows[order] - low_first),
        by_slot,
        np.repeat(borders[1:], borders[1:] - borders[:-1]),
        low_first,
        low_span,
        slot_first,
        slot_span,
    )
