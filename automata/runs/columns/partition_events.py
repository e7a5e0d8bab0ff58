"""The events of partitions in the slices that have come since the last look, by position."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from automata.slices.step_table import StepTable
from automata.values import Ids

NEVER = int(np.iinfo(np.int64).max)
"""After all positions."""


class PartitionEvents:
    """Positions of events by partition: those of the solutions in it, of every step."""

    def __init__(self) -> None:
        self._came: list[tuple[Ids, Ids]] = []

    def add(self, tables: Iterable[StepTable]) -> int:
        """The solutions of the next slice; returns how many they are."""
        came = [(table.partitions, table.low) for table in tables if len(table)]
        self._came += came
        return sum(len(low) for _, low in came)

    def forget(self) -> None:
        """Everything so far."""
        self._came.clear()

    def following(self, partitions: Ids, positions: Ids) -> Ids:
        """Of each of these events of a partition the position of the next one in it; NEVER where it has not come."""
        if not self._came:
            return np.full(len(partitions), NEVER, dtype=np.int64)
        own, low = (np.concatenate(columns) for columns in zip(*self._came, strict=True))
        known = len(own)
        partitions, positions = np.concatenate((own, partitions)), np.concatenate((low, positions))
        asks = np.arange(len(partitions)) >= known
        order = np.lexsort((asks, positions, partitions))
        # In this order the answer of an event that asks is the first one after it that is known.
        after = np.where(asks[order], len(order), np.arange(len(order)))
        after = np.minimum.accumulate(after[::-1])[::-1]
        found = np.full(len(order), NEVER, dtype=np.int64)
        there = np.flatnonzero(after < len(order))
        next_one = order[after[there]]
        same = partitions[next_one] == partitions[order[there]]
        found[order[there[same]]] = positions[next_one[same]]
        return found[known:]
