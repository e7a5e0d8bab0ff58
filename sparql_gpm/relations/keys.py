"""Several id columns as one int64 key per row, for grouping, duplicate removal and joins.

Columns are the digits of a mixed radix. Where the next digit would overflow, the key so far is replaced by its rank, so
any number of columns of any size fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparql_gpm.columns import Ids, Mask

_KEY_MAX = 2**62
_ABSENT = -1
"""The key of a probe that equals no indexed row."""


def row_keys(columns: Sequence[Ids]) -> Ids:
    """One key per row, equal iff the rows are equal in all columns; at least one column, ids not negative."""
    return columns[0] if len(columns) == 1 else _Encoding.of(columns)[1]


class Groups(NamedTuple):
    """The classes of equal rows.

    first       the first row of each class, ascending
    of_row      the class of each row, as an index in `first`
    """

    first: Ids
    of_row: Ids


def groups(columns: Sequence[Ids]) -> Groups:
    """The classes of rows that are equal in all columns, in order of their first row."""
    _, first, of_row = np.unique(row_keys(columns), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int64)
    return Groups(first[order], rank[of_row])


def first_rows(columns: Sequence[Ids]) -> Ids:
    """The first row of every class of equal rows, ascending."""
    keys = row_keys(columns)
    if len(keys) < 2 or np.all(keys[1:] > keys[:-1]):
        return np.arange(len(keys), dtype=np.int64)
    return np.sort(np.unique(keys, return_index=True)[1])


@dataclass(frozen=True, slots=True)
class _Digit:
    """The place of one more column in a key.

    ranks       sorted values of the key so far, which is replaced by its rank among them; None: it is kept
    high_max    largest value of the key so far, before the digit
    radix       one more than the column's largest value
    first       the key so far is a column: no probe is absent yet
    """

    ranks: Ids | None
    high_max: int
    radix: int
    first: bool

    def append(self, high: Ids, low: Ids) -> Ids:
        """The keys of probes with this digit; _ABSENT for values that are not indexed."""
        present: Mask | None = None
        if self.ranks is not None:
            position = np.minimum(np.searchsorted(self.ranks, high), len(self.ranks) - 1)
            present = self.ranks[position] == high
            high = position
        outside = len(high) and (high.max() > self.high_max or low.max() >= self.radix)
        if outside or (len(high) and not self.first and high.min() < 0):
            fits = (high <= self.high_max) & (low < self.radix) & (high >= 0)
            present = fits if present is None else present & fits
        if present is None:
            return high * self.radix + low
        return np.where(present, np.where(present, high, 0) * self.radix + low, _ABSENT)


@dataclass(frozen=True, slots=True)
class _Encoding:
    """The digits fitted to the columns of one side of a join."""

    digits: tuple[_Digit, ...]

    @staticmethod
    def of(columns: Sequence[Ids]) -> tuple[_Encoding, Ids]:
        """The encoding fitted to the columns, and their keys."""
        keys = columns[0]
        digits: list[_Digit] = []
        for column in columns[1:]:
            if len(keys) == 0:
                digits.append(_Digit(None, 0, 1, not digits))
                continue
            radix, high_max, ranks = int(column.max()) + 1, int(keys.max()), None
            if (high_max + 1) * radix > _KEY_MAX:
                ranks, keys = np.unique(keys, return_inverse=True)
                high_max = len(ranks) - 1
                assert (high_max + 1) * radix <= _KEY_MAX, (high_max, radix)
            digits.append(_Digit(ranks, high_max, radix, not digits))
            keys = keys * radix + column
        return _Encoding(tuple(digits)), keys

    def keys(self, columns: Sequence[Ids]) -> Ids:
        """The keys of other rows under the same encoding."""
        keys = columns[0]
        for digit, column in zip(self.digits, columns[1:], strict=True):
            keys = digit.append(keys, column)
        return keys


@dataclass(frozen=True, slots=True)
class Index:
    """The rows of a relation sorted by a key.

    order       the rows in order of their keys, or None when they are sorted already
    unique      no two rows have one key
    """

    encoding: _Encoding
    keys: Ids
    order: Ids | None
    unique: bool

    @staticmethod
    def of(columns: Sequence[Ids]) -> Index:
        """The index over rows given by at least one column; O(n log n) unless they are sorted."""
        encoding, keys = _Encoding.of(columns)
        if len(keys) < 2 or np.all(keys[1:] > keys[:-1]):
            return Index(encoding, keys, None, unique=True)
        if np.all(keys[1:] >= keys[:-1]):
            return Index(encoding, keys, None, unique=False)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        return Index(encoding, keys, order, bool(np.all(keys[1:] > keys[:-1])))

    def find(self, columns: Sequence[Ids]) -> tuple[Ids, Ids]:
        """For each probe the first place in key order of the rows that equal it, and their number."""
        probes = self.encoding.keys(columns)
        if self.unique and len(probes) == len(self.keys) and np.array_equal(probes, self.keys):
            return np.arange(len(probes), dtype=np.int64), np.ones(len(probes), dtype=np.int64)
        starts = np.searchsorted(self.keys, probes)
        if len(self.keys) == 0:
            return starts, np.zeros(len(probes), dtype=np.int64)
        if self.unique:
            found = self.keys[np.minimum(starts, len(self.keys) - 1)] == probes
            return starts, found.astype(np.int64)
        return starts, np.searchsorted(self.keys, probes, side="right") - starts
