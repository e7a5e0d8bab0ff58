"""Runs sorted by a number of each, such as the hash of a join key or the last time of a window.

They are kept in segments, each more than twice as long as the one after it: adding runs costs their logarithm, and
a lookup searches each segment. What is done with the runs elsewhere is not seen here; see `SortedRuns.keep`.
"""

from __future__ import annotations

import numpy as np

from arrays.columns import in_ranges
from automata.values import NONE, Ids, Mask

_Segment = tuple[Ids, Ids]
"""Numbers, ascending, and the runs that have them."""


class SortedRuns:
    """An index of runs."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self._segments)

    def add(self, numbers: Ids, rows: Ids) -> None:
        """More runs, each with its number."""
        if not len(rows):
            return
        while self._segments and len(self._segments[-1][1]) <= 2 * len(rows):
            longer = self._segments.pop()
            numbers, rows = np.concatenate((longer[0], numbers)), np.concatenate((longer[1], rows))
        order = np.argsort(numbers, kind="stable")
        self._segments.append((numbers[order], rows[order]))

    def equal(self, wanted: Ids) -> Ids:
        """The runs that have one of these numbers, which are distinct."""
        found = [np.zeros(0, dtype=np.int64)]
        for numbers, rows in self._segments:
            begin = np.searchsorted(numbers, wanted, "left")
            counts = np.searchsorted(numbers, wanted, "right") - begin
            found.append(rows[in_ranges(begin, counts)])
        return np.concatenate(found)

    def at_least(self, number: int) -> Ids:
        """The runs that have this number or a greater one."""
        parts = [rows[np.searchsorted(numbers, number) :] for numbers, rows in self._segments]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def pop_below(self, number: int) -> Ids:
        """Takes out the runs that have a smaller number."""
        taken, left = [np.zeros(0, dtype=np.int64)], []
        for numbers, rows in self._segments:
            end = int(np.searchsorted(numbers, number))
            taken.append(rows[:end])
            left.append((numbers[end:], rows[end:]))
        self._segments = [segment for segment in left if len(segment[1])]
        return np.concatenate(taken)

    def keep(self, standing: Mask) -> None:
        """Drops the runs that the mask, by row, does not name."""
        kept = [(standing[rows], segment) for segment in self._segments for rows in segment[1:]]
        segments = [(numbers[mask], rows[mask]) for mask, (numbers, rows) in kept]
        self._segments = [segment for segment in segments if len(segment[1])]

    def renumber(self, renumbered: Ids) -> None:
        """Rows have other numbers: old → new, NONE for one that is gone."""
        moved = [(numbers, renumbered[rows]) for numbers, rows in self._segments]
        kept = [(numbers[rows != NONE], rows[rows != NONE]) for numbers, rows in moved]
        self._segments = [segment for segment in kept if len(segment[1])]
