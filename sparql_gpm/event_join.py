"""Joins of the solutions of two patterns, event by event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arrays.columns import in_ranges
from sparql_gpm.bounds import Exceeded, MatchBounds, check_size
from sparql_gpm.columns import UNBOUND, Mask, Solutions

Shared = Sequence[tuple[str, str]]
"""Pairs of variables, one of each side, that agree where the first one is bound."""


def projected(found: Solutions, names: Sequence[tuple[str, str]]) -> Solutions:
    """The distinct values of some variables in each event, under other names, where all of them are bound."""
    columns = [found.columns[name] for name, _ in names]
    bound: Mask = np.ones(len(found), dtype=np.bool_)
    for column in columns:
        bound &= column != UNBOUND
    every = [found.events[bound], *(column[bound] for column in columns)]
    order = np.lexsort(every[::-1])
    every = [column[order] for column in every]
    new: Mask = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for column in every:
        new[1:] |= column[1:] != column[:-1]
    events, *values = (column[new] for column in every)
    return Solutions(events, {name: column for (_, name), column in zip(names, values, strict=True)})


def joined(
    found: Solutions, given: Solutions, shared: Shared, bounds: MatchBounds
) -> tuple[Solutions, Sequence[Exceeded]]:
    """The pairs of solutions of one event that agree, and the events left out, which have too many pairs.

    A variable of `shared` that `found` leaves unbound stays so. Raises TooManyTogether, as matching does.
    """
    begins = np.searchsorted(given.events, found.events, "left")
    counts = np.searchsorted(given.events, found.events, "right") - begins
    exceeded: list[Exceeded] = []
    events, first = np.unique(found.events, return_index=True)
    if len(events):
        over = events[np.add.reduceat(counts, first) > bounds.solutions]
        exceeded = [Exceeded(event, bounds.too_many) for event in over.tolist()]
        if exceeded:
            counts = np.where(np.isin(found.events, over), 0, counts)
    check_size(int(counts.sum()), len(events))
    left, right = np.repeat(np.arange(len(found), dtype=np.int64), counts), in_ranges(begins, counts)
    agree: Mask = np.ones(len(left), dtype=np.bool_)
    for own, name in shared:
        values = found.columns[own][left]
        agree &= (values == UNBOUND) | (values == given.columns[name][right])
    if not agree.all():
        left, right = left[agree], right[agree]
    columns = {name: column[left] for name, column in found.columns.items()}
    return Solutions(found.events[left], columns | {n: column[right] for n, column in given.columns.items()}), exceeded
