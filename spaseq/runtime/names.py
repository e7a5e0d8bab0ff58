"""Graph names of events that some step may have taken, by position in the merged order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from automata.matches.match_table import POSITION, MatchTable
from sparql_gpm.columns import Ids
from sparql_gpm.shared import NamedEvents

_GONE_MIN = 64
"""Forgotten slices below which the lists are not cut."""


class Names(Mapping[int, str]):
    """The names of one query's events, slice by slice; what is known of a slice is shared between queries."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._stretches: list[NamedEvents] = []
        self._gone = 0
        self._alone: dict[int, str] = {}

    def add_one(self, position: int, name: str) -> None:
        """Remembers an event that came alone."""
        self._alone[position] = name

    def add(self, first: int, taken: NamedEvents) -> None:
        """Remembers the events taken from the next slice, whose first event has this position."""
        if taken.events:
            self._firsts.append(first)
            self._stretches.append(taken)

    def forget(self, before: int) -> None:
        """Drops slices whose events all lie before a position."""
        for position in list(takewhile(lambda position: position < before, self._alone)):
            del self._alone[position]
        gone = self._gone
        while gone < len(self._firsts) and self._firsts[gone] + self._stretches[gone].events[-1] < before:
            gone += 1
        if gone >= _GONE_MIN and 2 * gone > len(self._firsts):
            del self._firsts[:gone], self._stretches[:gone]
            gone = 0
        self._gone = gone

    def since(self, position: int) -> list[tuple[int, str]]:
        """The items from a position on, in order: what `forget(position)` must leave."""
        found: list[tuple[int, str]] = []
        for first, taken in zip(self._firsts[self._gone :], self._stretches[self._gone :], strict=True):
            begin = bisect_left(taken.events, position - first)
            found += zip((first + event for event in taken.events[begin:]), taken.names[begin:], strict=True)
        return list(merge(found, [(at, name) for at, name in self._alone.items() if at >= position]))

    def restore(self, names: Iterable[tuple[int, str]]) -> None:
        """Goes on from the items of another, in order of position."""
        found = dict(names)
        self.add(0, NamedEvents(list(found), list(found.values())))

    def of(self, positions: Sequence[int]) -> list[str]:
        """The names at a few positions."""
        alone = self._alone
        return [alone[position] if position in alone else self[position] for position in positions]

    def __getitem__(self, position: int) -> str:
        if position in self._alone:
            return self._alone[position]
        number = bisect_right(self._firsts, position, self._gone) - 1
        if number < self._gone:
            raise KeyError(position)
        return self._stretches[number].name(position - self._firsts[number])

    def at(self, positions: Ids) -> list[str]:
        """The names at ascending positions, as `[]` gives them one by one."""
        if self._alone:
            return self.of(positions.tolist())
        firsts = self._firsts[self._gone :]
        cuts = np.searchsorted(positions, np.array(firsts, dtype=np.int64)).tolist()
        found: list[str] = [self[position] for position in positions[: cuts[0] if cuts else None].tolist()]
        for number, (begin, end) in enumerate(pairwise([*cuts, len(positions)])):
            if end > begin:
                found += self._stretches[self._gone + number].at(positions[begin:end] - firsts[number])
        return found

    def __len__(self) -> int:
        return len(self._alone) + sum(len(taken.events) for taken in self._stretches[self._gone :])

    def __iter__(self) -> Iterator[int]:
        stretches = zip(self._firsts[self._gone :], self._stretches[self._gone :], strict=True)
        yield from merge(self._alone, (first + event for first, taken in stretches for event in taken.events))


def graphs_of(matches: MatchTable, names: Names) -> NDArray[np.object_]:
    """The graph name of each entry of the matches."""
    distinct, inverse = np.unique(matches.entries[:, POSITION], return_inverse=True)
    found = np.empty(len(distinct), dtype=np.object_)
    found[:] = names.at(distinct)
    return found[inverse]
