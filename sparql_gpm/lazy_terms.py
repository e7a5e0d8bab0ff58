"""Columns of terms that get ids when somebody asks for them: of most cells of a table nobody does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arrays.columns import UNBOUND, Ids, Mask

NULL = -1
"""The code of a cell that is empty."""


class Coded(Protocol):
    """The cells of a column as codes of its distinct values."""

    def codes(self) -> Ids:
        """int64[n]: the code of each cell, from 0 on, or NULL."""

    @property
    def full(self) -> bool:
        """No cell is empty."""

    def values(self) -> int:
        """The number of distinct values."""

    def intern(self, codes: Ids) -> Ids:
        """The ids of the terms of some distinct values, assigned now."""


class LazyTerms(Protocol):
    """n terms, some of which may be missing.

    Ids that have been asked for hold as long as `live` says that somebody needs them.
    """

    def __len__(self) -> int: ...

    def ids(self, places: Ids) -> Ids:
        """The ids at some places, UNBOUND for none."""

    def distinct(self) -> Ids:
        """The ids of all terms, each once."""

    def stated(self) -> Mask | None:
        """The places with a term; None: all."""

    def equal(self, identifier: int) -> Mask:
        """The places with the term that has this id."""

    def between(self, begin: int, end: int) -> LazyTerms:
        """The terms at the places begin … end - 1."""

    def take(self, places: Ids) -> LazyTerms:
        """The terms at these places, in this order."""

    def live(self) -> list[Ids]:
        """Columns of the ids that have been assigned."""


class Same:
    """The same term everywhere."""

    def __init__(self, identifier: int, count: int) -> None:
        self._identifier, self._count = identifier, count

    def __len__(self) -> int:
        return self._count

    def ids(self, places: Ids) -> Ids:
        """See `LazyTerms`."""
        return np.full(len(places), self._identifier, dtype=np.int64)

    def distinct(self) -> Ids:
        """See `LazyTerms`."""
        return np.full(min(1, self._count), self._identifier, dtype=np.int64)

    def stated(self) -> Mask | None:
        """All."""
        return None

    def equal(self, identifier: int) -> Mask:
        """See `LazyTerms`."""
        return np.full(self._count, identifier == self._identifier)

    def between(self, begin: int, end: int) -> Same:
        """See `LazyTerms`."""
        return Same(self._identifier, end - begin)

    def take(self, places: Ids) -> Same:
        """See `LazyTerms`."""
        return Same(self._identifier, len(places))

    def live(self) -> list[Ids]:
        """See `LazyTerms`."""
        return [np.array([self._identifier], dtype=np.int64)]


class Interned:
    """The distinct values of a column, with the ids of those that have one; shared by all parts of the column."""

    def __init__(self, coded: Coded) -> None:
        self._coded = coded
        self._table: Ids | None = None
        self._whole = False

    def codes(self) -> Ids:
        """See `Coded`."""
        return self._coded.codes()

    @property
    def full(self) -> bool:
        """See `Coded`."""
        return self._coded.full

    def occurring(self, codes: Ids) -> Ids:
        """Those of the codes that are of a value, each once."""
        mask = np.zeros(self._coded.values() + 1, dtype=np.bool_)
        mask[codes] = True
        return np.flatnonzero(mask[:-1])

    def ids(self, codes: Ids) -> Ids:
        """The ids of codes, UNBOUND for NULL."""
        table = self._ids()
        found = table[codes]
        if self._whole or len(missing := self.occurring(codes[found == UNBOUND])) == 0:
            return found
        table[missing] = self._coded.intern(missing)
        return table[codes]

    def all(self) -> Ids:
        """The ids of all distinct values, by code."""
        if not self._whole:
            self.ids(np.arange(self._coded.values(), dtype=np.int64))
            self._whole = True
        return self._ids()[:-1]

    def live(self) -> Ids:
        """The ids that are assigned."""
        return np.zeros(0, dtype=np.int64) if self._table is None else self._table[self._table != UNBOUND]

    def _ids(self) -> Ids:
        """By code, the id or UNBOUND; the last place is that of NULL."""
        if self._table is None:
            self._table = np.full(self._coded.values() + 1, UNBOUND, dtype=np.int64)
        return self._table


class ColumnTerms:
    """The terms of a part of a column: at `places`, or at begin … end - 1."""

    def __init__(self, values: Interned, places: slice | Ids) -> None:
        self._values, self._places = values, places

    @staticmethod
    def of(coded: Coded, count: int) -> ColumnTerms:
        """All terms of a column of so many cells."""
        return ColumnTerms(Interned(coded), slice(0, count))

    def __len__(self) -> int:
        if isinstance(self._places, slice):
            return int(self._places.stop - self._places.start)
        return len(self._places)

    def ids(self, places: Ids) -> Ids:
        """See `LazyTerms`."""
        return self._values.ids(self._codes()[places])

    def distinct(self) -> Ids:
        """See `LazyTerms`."""
        codes = self._codes()
        if isinstance(self._places, slice) and len(codes) == len(self._values.codes()):
            return np.unique(self._values.all())  # several values may give one term
        return np.unique(self._values.ids(self._values.occurring(codes)))

    def stated(self) -> Mask | None:
        """See `LazyTerms`."""
        if self._values.full:
            return None
        stated: Mask = self._codes() != NULL
        return None if stated.all() else stated

    def equal(self, identifier: int) -> Mask:
        """See `LazyTerms`."""
        (found,) = np.nonzero(self._values.all() == identifier)
        equal: Mask = np.zeros(len(self), dtype=np.bool_)
        for code in found.tolist():  # several values may give one term
            equal |= self._codes() == code
        return equal

    def between(self, begin: int, end: int) -> ColumnTerms:
        """See `LazyTerms`."""
        if isinstance(self._places, slice):
            return ColumnTerms(self._values, slice(self._places.start + begin, self._places.start + end))
        return ColumnTerms(self._values, self._places[begin:end])

    def take(self, places: Ids) -> ColumnTerms:
        """See `LazyTerms`."""
        own = places + self._places.start if isinstance(self._places, slice) else self._places[places]
        return ColumnTerms(self._values, own)

    def live(self) -> list[Ids]:
        """See `LazyTerms`."""
        return [self._values.live()]

    def _codes(self) -> Ids:
        return self._values.codes()[self._places]


class Joined:
    """The terms of several parts, one after the other."""

    def __init__(self, parts: Sequence[LazyTerms]) -> None:
        self._parts: list[LazyTerms] = []
        for part in parts:
            self._parts += part._parts if isinstance(part, Joined) else [part]
        self._begins = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._begins[-1])

    def ids(self, places: Ids) -> Ids:
        """See `LazyTerms`."""
        found = np.zeros(len(places), dtype=np.int64)
        for part, begin, end in self._bounded():
            mine = (places >= begin) & (places < end)
            found[mine] = part.ids(places[mine] - begin)
        return found

    def distinct(self) -> Ids:
        """See `LazyTerms`."""
        return np.unique(np.concatenate([part.distinct() for part in self._parts]))

    def stated(self) -> Mask | None:
        """See `LazyTerms`."""
        found = [part.stated() for part in self._parts]
        if all(each is None for each in found):
            return None
        pairs = zip(found, self._parts, strict=True)
        return np.concatenate([np.ones(len(part), dtype=np.bool_) if each is None else each for each, part in pairs])

    def equal(self, identifier: int) -> Mask:
        """See `LazyTerms`."""
        return np.concatenate([part.equal(identifier) for part in self._parts])

    def between(self, begin: int, end: int) -> LazyTerms:
        """See `LazyTerms`."""
        cut = [
            part.between(max(begin, first) - first, min(end, last) - first)
            for part, first, last in self._bounded()
            if first < end and last > begin
        ]
        if not cut:
            return Same(UNBOUND, 0)
        return cut[0] if len(cut) == 1 else Joined(cut)

    def take(self, places: Ids) -> LazyTerms:
        """See `LazyTerms`."""
        return Picked(self, places)

    def live(self) -> list[Ids]:
        """See `LazyTerms`."""
        return [ids for part in self._parts for ids in part.live()]

    def _bounded(self) -> list[tuple[LazyTerms, int, int]]:
        return list(zip(self._parts, self._begins[:-1].tolist(), self._begins[1:].tolist(), strict=True))


class Picked:
    """Some of the terms of others."""

    def __init__(self, of: LazyTerms, places: Ids) -> None:
        self._of, self._places = of, places

    def __len__(self) -> int:
        return len(self._places)

    def ids(self, places: Ids) -> Ids:
        """See `LazyTerms`."""
        return self._of.ids(self._places[places])

    def distinct(self) -> Ids:
        """See `LazyTerms`."""
        found: Ids = np.unique(self._of.ids(self._places))
        bound: Ids = found[found != UNBOUND]
        return bound

    def stated(self) -> Mask | None:
        """See `LazyTerms`."""
        stated = self._of.stated()
        found: Mask | None = None if stated is None else stated[self._places]
        return found

    def equal(self, identifier: int) -> Mask:
        """See `LazyTerms`."""
        found: Mask = self._of.equal(identifier)[self._places]
        return found

    def between(self, begin: int, end: int) -> Picked:
        """See `LazyTerms`."""
        return Picked(self._of, self._places[begin:end])

    def take(self, places: Ids) -> Picked:
        """See `LazyTerms`."""
        return Picked(self._of, self._places[places])

    def live(self) -> list[Ids]:
        """See `LazyTerms`."""
        return self._of.live()
