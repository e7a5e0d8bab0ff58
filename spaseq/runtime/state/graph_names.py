"""Graph names of the events that a match may contain, by position in the merged order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import pairwise, takewhile

import numpy as np

from arrays.columns import places_of
from automata.matches.match_table import POSITION, MatchTable
from sparql_gpm.columns import Ids
from sparql_gpm.slice_events import NamedEvents
from spaseq.outputs.row_table import Objects

_DROPPED_MIN = 64
"""Forgotten slices below which the lists are not cut."""


class GraphNames:
    """The graph names of one query's events, slice by slice; those of a slice are shared between queries."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._slices: list[NamedEvents] = []
        self._dropped = 0
        self._rows: dict[int, str] = {}

    def add_one(self, position: int, name: str) -> None:
        """Adds an event that is evaluated row at a time."""
        self._rows[position] = name

    def add(self, first: int, taken: NamedEvents) -> None:
        """Adds events of the next slice, whose first event has this position."""
        if taken.events:
            self._firsts.append(first)
            self._slices.append(taken)

    def forget(self, before: int) -> None:
        """Drops the slices whose events all lie before a position."""
        for position in list(takewhile(lambda position: position < before, self._rows)):
            del self._rows[position]
        dropped = self._dropped
        while dropped < len(self._firsts) and self._firsts[dropped] + self._slices[dropped].events[-1] < before:
            dropped += 1
        if dropped >= _DROPPED_MIN and 2 * dropped > len(self._firsts):
            del self._firsts[:dropped], self._slices[:dropped]
            dropped = 0
        self._dropped = dropped

    def since(self, position: int) -> list[tuple[int, str]]:
        """Position and name of the events from a position on, in order; `forget(position)` keeps at least these."""
        found: list[tuple[int, str]] = []
        for first, taken in zip(self._firsts[self._dropped :], self._slices[self._dropped :], strict=True):
            begin = bisect_left(taken.events, position - first)
            found += zip((first + event for event in taken.events[begin:]), taken.names[begin:], strict=True)
        return list(merge(found, [(at, name) for at, name in self._rows.items() if at >= position]))

    def restore(self, names: Iterable[tuple[int, str]]) -> None:
        """Continues from the result of `since`."""
        found = dict(names)
        self.add(0, NamedEvents(list(found), list(found.values())))

    def of(self, positions: Sequence[int]) -> list[str]:
        """The names at a few positions; KeyError where there is none."""
        rows = self._rows
        return [rows[position] if position in rows else self._in_slice(position) for position in positions]

    def at(self, positions: Ids) -> list[str]:
        """The names at many positions, ascending; KeyError where there is none."""
        if self._rows:
            return self.of(positions.tolist())
        firsts = self._firsts[self._dropped :]
        cuts = np.searchsorted(positions, np.array(firsts, dtype=np.int64)).tolist()
        found = self.of(positions[: cuts[0] if cuts else None].tolist())
        for number, (begin, end) in enumerate(pairwise([*cuts, len(positions)])):
            if end > begin:
                found += self._slices[self._dropped + number].at(positions[begin:end] - firsts[number])
        return found

    def of_entries(self, matches: MatchTable) -> tuple[Objects, Ids]:
        """The graph names of the events in the matches, and the place in them of each entry's."""
        distinct, places = places_of(matches.entries[:, POSITION])
        found = np.empty(len(distinct), dtype=np.object_)
        found[:] = self.at(distinct)
        return found, places

    def _in_slice(self, position: int) -> str:
        number = bisect_right(self._firsts, position, self._dropped) - 1
        if number < self._dropped:
            raise KeyError(position)
        return self._slices[number].name(position - self._firsts[number])
