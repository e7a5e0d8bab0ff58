"""The events of partitions in the slices that have come since the last look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from arrays.times import AFTER_ALL
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids


class PartitionEvents:
    """Events by partition: those with a solution of some step in it."""

    def __init__(self) -> None:
        self._came: list[tuple[Ids, Ids, Ids, Ids]] = []

    def add(self, tables: Iterable[StepTable]) -> int:
        """The solutions of the next slice; returns how many they are."""
        came = [(table.partitions, table.times, table.streams, table.low) for table in tables if len(table)]
        self._came += came
        return sum(len(low) for *_, low in came)

    def forget(self) -> None:
        """Everything so far."""
        self._came.clear()

    def following(self, partitions: Ids, times: Ids, streams: Ids, positions: Ids) -> tuple[Ids, Ids]:
        """Of each of these events of a partition position and time of the next one after it; AFTER_ALL: none yet."""
        if not self._came:
            none = np.full(len(partitions), AFTER_ALL, dtype=np.int64)
            return none, none
        own, own_times, own_streams, low = (np.concatenate(columns) for columns in zip(*self._came, strict=True))
        beside = next_of((own, own_times, own_streams, low), (partitions, times, streams, positions), 3)
        later = next_of((own, own_times, low), (partitions, times, np.full(len(times), AFTER_ALL)), 1)
        found = np.where(beside != NONE, beside, later)
        known = found != NONE
        return np.where(known, low[found], AFTER_ALL), np.where(known, own_times[found], AFTER_ALL)


def next_of(known: Sequence[Ids], asked: Sequence[Ids], same: int) -> Ids:
    """For each asked tuple of values the row of the next larger known one that agrees in the first `same` of them.

    Both are columns of values; NONE where there is no such row.
    """
    size = len(known[0])
    columns = [np.concatenate(pair) for pair in zip(known, asked, strict=True)]
    asks = np.arange(len(columns[0])) >= size
    order = np.lexsort((asks, *reversed(columns)))  # known rows that are equal come before
    places = np.where(asks[order], len(order), np.arange(len(order)))
    after = np.minimum.accumulate(places[::-1])[::-1]
    found = np.full(len(order), NONE, dtype=np.int64)
    there = np.flatnonzero(after < len(order))
    row = order[after[there]]
    agrees = np.ones(len(there), dtype=np.bool_)
    for column in columns[:same]:
        agrees &= column[row] == column[order[there]]
    found[order[there[agrees]]] = row[agrees]
    return found[size:]
