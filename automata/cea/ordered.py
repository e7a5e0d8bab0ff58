"""Complex events as matches in report order, piece by piece: those of a triggering event are held as labels only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from automata.cea.bit_vectors import COUNT, POSITION
from automata.cea.core import CeaCore, ComplexEvents
from automata.cea.matches import MatchReader
from automata.matches.match_table import MatchTable, in_order
from automata.values import Ids, Mask

ROWS_MAX = 1 << 13
"""Matches in a piece, unless more than that begin with the same events."""
_PREFIX = 4
"""The first events by which the complex events of a triggering event are divided into pieces."""


class OrderedMatches:
    """The matches of one core, in report order, values aside.

    check   is told how many complex events are held, and raises if they are too many
    """

    def __init__(self, core: CeaCore, reader: MatchReader, check: Callable[[int], None]) -> None:
        self._core = core
        self._reader = reader
        self._check = check

    def pieces(self, found: Iterable[ComplexEvents]) -> Iterator[MatchTable]:
        """The matches of complex events that come by triggering event, in pieces that none of these lies across.

        A triggering event has more than one piece if it has more than ROWS_MAX matches.
        """
        held: list[ComplexEvents] = []
        latest = -1
        for some in found:
            triggers = self._positions(some.entries[some.ends - 1])
            complete = int(np.searchsorted(triggers, triggers[-1]))
            if sum(len(each.ends) for each in held) + complete >= ROWS_MAX and (complete or triggers[-1] != latest):
                yield from self._read([*held, _part(some, 0, complete)])
                held, some = [], _part(some, complete, len(triggers))
            held.append(ComplexEvents(some.entries.copy(), some.ends.copy()))
            latest = int(triggers[-1])
            self._check(sum(len(each.ends) for each in held))
        if held:
            yield from self._read(held)

    def _read(self, held: Sequence[ComplexEvents]) -> Iterator[MatchTable]:
        """The matches of complex events, of which no other one has the same triggering event."""
        whole = _concatenated(held)
        if self._rows(whole).sum() <= ROWS_MAX:
            yield self._in_order(whole)
            return
        order, cuts = self._divided(whole)
        for some in np.split(order, cuts):
            yield self._in_order(_taken(whole, some))

    def _divided(self, whole: ComplexEvents) -> tuple[Ids, Ids]:
        """The order by triggering event and first events, and where it is cut: between those that differ in these."""
        keys = self._keys(whole)
        order = np.lexsort(keys.T[::-1])
        keys = keys[order]
        new = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
        number = (np.cumsum(self._rows(whole)[order])[new - 1] // ROWS_MAX).astype(np.int64)
        return order, new[np.diff(number, prepend=0) > 0]

    def _keys(self, whole: ComplexEvents) -> Ids:
        """int64[n, 1 + _PREFIX]: the positions of the last and of the first events, -1 where there is no other."""
        lengths = np.diff(whole.ends, prepend=0)
        keys = np.full((len(lengths), 1 + _PREFIX), -1, dtype=np.int64)
        keys[:, 0] = self._positions(whole.entries[whole.ends - 1])
        for place in range(_PREFIX):
            longer: Mask = lengths > place
            keys[longer, 1 + place] = self._positions(whole.entries[(whole.ends - lengths)[longer] + place])
        return keys

    def _rows(self, whole: ComplexEvents) -> NDArray[np.float64]:
        """The number of matches of each complex event: one for each combination of solutions."""
        counts = self._core.entries.column(whole.entries, COUNT).astype(np.float64)
        return np.multiply.reduceat(counts, whole.ends - np.diff(whole.ends, prepend=0))

    def _in_order(self, some: ComplexEvents) -> MatchTable:
        return in_order(MatchTable.concatenate(list(self._reader.read(some))))

    def _positions(self, entries: Ids) -> Ids:
        return self._core.entries.column(entries, POSITION)


def _part(some: ComplexEvents, begin: int, end: int) -> ComplexEvents:
    """Complex events begin … end - 1."""
    first, last = (int(some.ends[number - 1]) if number else 0 for number in (begin, end))
    return ComplexEvents(some.entries[first:last], some.ends[begin:end] - first)


def _taken(whole: ComplexEvents, numbers: Ids) -> ComplexEvents:
    """Some complex events, in this order."""
    lengths = np.diff(whole.ends, prepend=0)[numbers]
    ends = np.cumsum(lengths)
    places = np.repeat(whole.ends[numbers] - ends, lengths) + np.arange(ends[-1])
    return ComplexEvents(whole.entries[places], ends)


def _concatenated(parts: Sequence[ComplexEvents]) -> ComplexEvents:
    lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
    return ComplexEvents(np.concatenate([part.entries for part in parts]), np.cumsum(lengths))
