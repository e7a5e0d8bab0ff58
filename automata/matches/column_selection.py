"""Selection among the matches of a slice in columns (specification 3.4.1; B Section 4).

It is as `automata.matches.selection` selects, without a value for each match: those of a partition with one last
position are a group, and a match is the ascending row of its positions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from automata.matches.match_table import LAST, PARTITION, MatchTable
from automata.plan.program import Selector
from automata.values import Ids, Mask

_END = np.iinfo(np.int64).max
"""Behind the last position of a match: NEXT prefers the one that goes on."""


def selected(table: MatchTable, selector: Selector, ranks: Ids | None = None) -> MatchTable | None:
    """Those of the matches that the selector keeps; None where their positions are no ascending rows.

    Every match of the groups is in the table.

    ranks   for STRICT the number of events of its substream from the first to the last of each match
    """
    if selector is Selector.ALL or not len(table):
        return table
    positions = table.positions()
    if positions is None:
        return None
    if selector is Selector.STRICT:
        assert ranks is not None
        return table.take(np.flatnonzero(ranks == table.sizes))
    order, begins = _groups(table)
    positions, kept = positions[order], np.ones(len(table), dtype=np.bool_)
    match selector:
        case Selector.NEXT:
            kept = _best(np.where(positions < 0, _END, positions), begins, last=False)
        case Selector.LAST:
            kept = _best(_from_last(positions), begins, last=True)
        case Selector.MAX:
            kept = _largest(positions, table.sizes[order], begins)
    return table.take(np.sort(order[kept]))


def _groups(table: MatchTable) -> tuple[Ids, Mask]:
    """The matches by group, and a mask of those that are the first of theirs."""
    keys = table.facts[:, (PARTITION, LAST)]
    order = np.lexsort(keys.T)
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    return order, begins


def _from_last(positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of each match, descending, -1 after the first."""
    return np.sort(positions, axis=1)[:, ::-1]


def _best(positions: NDArray[np.int64], begins: Mask, last: bool) -> Mask:
    """A mask of the rows that are the least of their group, or the greatest: `last`."""
    kept, numbers = np.ones(len(positions), dtype=np.bool_), np.flatnonzero(begins)
    lengths = np.diff(np.append(numbers, len(positions)))
    reduced = np.maximum if last else np.minimum
    for column in positions.T:
        worst = -1 if last else _END
        best = reduced.reduceat(np.where(kept, column, worst), numbers)
        kept &= column == np.repeat(best, lengths)
    return kept


def _largest(positions: NDArray[np.int64], sizes: Ids, begins: Mask) -> Mask:
    """A mask of the rows whose positions are no proper part of those of another one of their group."""
    kept = np.ones(len(positions), dtype=np.bool_)
    numbers = np.flatnonzero(begins)
    uneven = np.maximum.reduceat(sizes, numbers) > np.minimum.reduceat(sizes, numbers)
    ends = np.append(numbers[1:], len(positions))
    for begin, end in zip(numbers[uneven].tolist(), ends[uneven].tolist(), strict=True):
        kept[begin:end] = _maximal(positions[begin:end], sizes[begin:end])
    return kept


def _maximal(positions: NDArray[np.int64], sizes: Ids) -> Mask:
    """The same within one group; its sets of positions are bits, and are compared with those kept of larger ones."""
    places, inverse = np.unique(positions, return_inverse=True)
    rows, of = np.unique(inverse.reshape(positions.shape), axis=0, return_inverse=True)
    none = -1 if places[0] >= 0 else 0
    sets = [sum(1 << place for place in row if place != none) for row in rows.tolist()]
    larger: list[int] = []
    kept = np.zeros(len(rows), dtype=np.bool_)
    by_size = sorted(range(len(rows)), key=lambda row: -sets[row].bit_count())
    borders = [n for n, (a, b) in enumerate(pairwise(by_size), 1) if sets[a].bit_count() != sets[b].bit_count()]
    for begin, end in pairwise([0, *borders, len(by_size)]):
        found = [row for row in by_size[begin:end] if not any(sets[row] & other == sets[row] for other in larger)]
        kept[found] = True
        larger += [sets[row] for row in found]
    result: Mask = kept[of.ravel()]
    return result
