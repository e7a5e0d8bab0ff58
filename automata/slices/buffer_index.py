"""Search in an input buffer: by join key, and within a key by time order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automata.values import Ids


@dataclass(frozen=True, slots=True)
class BufferIndex:
    """A slice of a buffer, events first … end - 1, grouped by hashed key.

    order       their numbers by (key, number)
    keys        distinct hashes, ascending
    composite   (group, number) as one ascending column
    """

    first: int
    end: int
    order: Ids
    keys: Ids
    composite: Ids

    def ranges(self, hashes: Ids, begin: Ids, end: Ids) -> tuple[Ids, Ids]:
        """For each hash: the range of `order` with that key and begin <= number < end."""
        groups = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        base = groups * (self.end - self.first + 1)
        low = np.searchsorted(self.composite, base + np.clip(begin, self.first, self.end) - self.first, "left")
        high = np.searchsorted(self.composite, base + np.clip(end, self.first, self.end) - self.first, "left")
        return low, np.where(self.keys[groups] == hashes, np.maximum(low, high), low)


def buffer_index(hashes: Ids, first: int) -> BufferIndex:
    """The index of a non-empty slice whose first event has this number."""
    order = np.argsort(hashes, kind="stable")
    keys, starts = np.unique(hashes[order], return_index=True)
    counts = np.diff(np.append(starts, len(order)))
    groups = np.repeat(np.arange(len(keys), dtype=np.int64), counts)
    return BufferIndex(first, first + len(hashes), order + first, keys, groups * (len(hashes) + 1) + order)
