"""Search in an input buffer: by join key, and within a key by time order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automata.slices.step_index import clipped
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class BufferIndex:
    """A slice of a buffer, events first … end - 1, grouped by hashed key.

    keys        distinct hashes, ascending
    composite   (group, number) of the events as one ascending column
    """

    first: int
    end: int
    keys: Ids
    composite: Ids

    def ranges(self, hashes: Ids, begin: Ids, end: Ids) -> tuple[Ids, Ids]:
        """For each hash: the range of places with that key and begin <= number < end."""
        groups = np.minimum(self.keys.searchsorted(hashes), len(self.keys) - 1)
        base = groups * (self.end - self.first + 1) - self.first
        low = self.composite.searchsorted(base + clipped(begin, self.first, self.end))
        high = self.composite.searchsorted(base + clipped(end, self.first, self.end))
        return low, np.where(self.keys[groups] == hashes, np.maximum(low, high), low)

    def numbers(self, places: Ids) -> Ids:
        """The numbers of the events at these places, which are by key, then by number."""
        return self.composite[places] % (self.end - self.first + 1) + self.first


def buffer_index(hashes: Ids, first: int) -> BufferIndex:
    """The index of a non-empty slice whose first event has this number."""
    order = np.argsort(hashes, kind="stable")
    keys, starts = np.unique(hashes[order], return_index=True)
    counts = np.diff(np.append(starts, len(order)))
    groups = np.repeat(np.arange(len(keys), dtype=np.int64), counts)
    return BufferIndex(first, first + len(hashes), keys, groups * (len(hashes) + 1) + order)
