"""Columns of ids and masks, the numbers in many ranges, and hashes of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
UNBOUND = 0
"""The id of a variable without a value."""
NONE = -1
"""The absence of a row, position or number."""

_ROOM_MAX = 8
"""Numbers are looked up in a table that has at most so many times their number of places."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def expand(counts: Ids) -> tuple[Ids, Ids]:
    """For each i, counts[i] times: (i, 0), (i, 1), … as two columns."""
    which = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return which, in_ranges(0, counts)


def in_ranges(begins: Ids | int, counts: Ids) -> Ids:
    """begins[i], begins[i] + 1 and so on, counts[i] of them, for each i in turn: rows of CSR and of sorted columns."""
    ends = np.cumsum(counts)
    size = int(ends[-1]) if len(ends) else 0
    return np.repeat(begins - ends + counts, counts) + np.arange(size, dtype=np.int64)


def numbers_within(ascending: Ids) -> Ids:
    """0, 1, 2 and so on for the rows of each value."""
    new = ascending[1:] != ascending[:-1]
    if new.all():
        return np.zeros(len(ascending), dtype=np.int64)
    rows = np.arange(len(ascending), dtype=np.int64)
    rows[1:] -= np.maximum.accumulate(np.where(new, rows[1:], 0))
    return rows


def distinct(columns: Sequence[Ids]) -> Ids:
    """The numbers in any of these columns, ascending, each once."""
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *columns]))


def offsets_of(counts: Ids) -> Ids:
    """The offsets of a CSR column: 0, and where each range of so many rows ends."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def hash_columns(columns: Sequence[Ids], rows: int) -> Ids:
    """One 64-bit hash a row."""
    hashed = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        hashed = (hashed ^ column.astype(np.uint64)) * _PRIME
        hashed ^= hashed >> _SHIFT
    return hashed.view(np.int64)


def renumbered(columns: tuple[Ids, ...]) -> tuple[Ids, list[Ids]]:
    """The distinct ids but UNBOUND, ascending, and the columns with the place of each id in them, from 1."""
    seen = np.zeros(1 + max((int(column.max()) for column in columns if len(column)), default=0), dtype=np.bool_)
    for column in columns:
        seen[column] = True
    seen[UNBOUND] = False
    distinct = np.flatnonzero(seen)
    places = np.zeros(len(seen), dtype=np.int64)
    places[distinct] = np.arange(1, len(distinct) + 1)
    return distinct, [places[column] for column in columns]


def places_of(numbers: Ids) -> tuple[Ids, Ids]:
    """The distinct numbers, ascending, and the place of each number in them; sorted only where they lie far apart."""
    if not len(numbers):
        return numbers, numbers
    new = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    if 2 * (len(new) + 1) <= len(numbers):
        begins = np.concatenate(([0], new))
        distinct, places = places_of(numbers[begins])
        return distinct, np.repeat(places, np.diff(begins, append=len(numbers)))
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > _ROOM_MAX * len(numbers):
        return np.unique(numbers, return_inverse=True)
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[numbers - low] = True
    distinct = np.flatnonzero(seen)
    places = np.zeros(len(seen), dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct + low, places[numbers - low]


def compatible(new: Ids, old: Ids) -> Mask:
    """A mask of the rows in which two columns of one variable agree or one of them is unbound."""
    same: Mask = new == old
    return same if same.all() else same | (new == UNBOUND) | (old == UNBOUND)


def merged(new: Ids, old: Ids) -> Ids:
    """The value that either of two compatible columns has; the new one before the old."""
    return np.where(new == UNBOUND, old, new)
