"""Complex events as matches in report order, piece by piece: those of a triggering event are held as labels only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from automata.cea.bit_vectors import COUNT, POSITION
from automata.cea.core import CeaCore, ComplexEvents
from automata.cea.matches import MatchReader
from automata.matches.match_table import MatchTable, in_order, report_keys
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
        rows = self._rows(whole)
        if rows.sum() <= ROWS_MAX:
            yield in_order(MatchTable.concatenate(list(self._reader.read(whole))))
            return
        order, new = self._divided(whole)
        number = (np.cumsum(rows[order])[new - 1] // ROWS_MAX).astype(np.int64)
        distinct = 0 < whole.width <= 1 + _PREFIX and len(new) + 1 == len(order) == rows.sum()
        for some in np.split(order, new[np.diff(number, prepend=0) > 0]):
            tables = list(self._reader.read(_taken(whole, some)))
            yield tables[0] if distinct and len(tables) == 1 else in_order(MatchTable.concatenate(tables))

    def _divided(self, whole: ComplexEvents) -> tuple[Ids, Ids]:
        """The order by triggering event and first events, and the places in it at which these change."""
        lasts, firsts = self._keys(whole)
        keys = report_keys(firsts, lasts)
        if keys is not None:
            order = np.argsort(keys, kind="stable")
            ordered = keys[order]
            return order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        columns = np.column_stack((lasts, firsts))
        order = np.lexsort(columns.T[::-1])
        columns = columns[order]
        return order, np.flatnonzero((columns[1:] != columns[:-1]).any(axis=1)) + 1

    def _keys(self, whole: ComplexEvents) -> tuple[Ids, Ids]:
        """The positions of the last events, and int64[n, _PREFIX]: of the first, -1 where there is no other."""
        lasts = self._positions(whole.entries[whole.ends - 1])
        if whole.width:
            return lasts, self._positions(whole.entries.reshape(-1, whole.width)[:, :_PREFIX])
        firsts = np.full((len(lasts), _PREFIX), -1, dtype=np.int64)
        for place in range(_PREFIX):
            longer: Mask = whole.lengths > place
            firsts[longer, place] = self._positions(whole.entries[(whole.ends - whole.lengths)[longer] + place])
        return lasts, firsts

    def _rows(self, whole: ComplexEvents) -> NDArray[np.float64]:
        """The number of matches of each complex event: one for each combination of solutions."""
        if bool((self._core.entries.rows[:, COUNT] == 1).all()):
            return np.ones(len(whole.ends))
        counts = self._core.entries.column(whole.entries, COUNT).astype(np.float64)
        return np.multiply.reduceat(counts, whole.ends - whole.lengths)

    def _positions(self, entries: Ids) -> Ids:
        return self._core.entries.column(entries, POSITION)


def _part(some: ComplexEvents, begin: int, end: int) -> ComplexEvents:
    """Complex events begin … end - 1."""
    first, last = (int(some.ends[number - 1]) if number else 0 for number in (begin, end))
    return ComplexEvents(some.entries[first:last], some.ends[begin:end] - first)


def _taken(whole: ComplexEvents, numbers: Ids) -> ComplexEvents:
    """Some complex events, in this order."""
    lengths = whole.lengths[numbers]
    ends = np.cumsum(lengths)
    if whole.width:
        return ComplexEvents(whole.entries.reshape(-1, whole.width)[numbers].ravel(), ends)
    places = np.repeat(whole.ends[numbers] - ends, lengths) + np.arange(ends[-1])
    return ComplexEvents(whole.entries[places], ends)


def _concatenated(parts: Sequence[ComplexEvents]) -> ComplexEvents:
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([part.lengths for part in parts])
    return ComplexEvents(np.concatenate([part.entries for part in parts]), np.cumsum(lengths))
