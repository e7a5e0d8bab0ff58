"""Groups of matches as the columns that the kernel writes; exact values are made of a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import overload

import numpy as np
from numpy.typing import NDArray

from automata.propagation.cells import Vector
from automata.propagation.columns import Scale
from automata.propagation.layout import Extreme, Layout, Linear
from automata.propagation.limbs import wholes
from automata.propagation.measures import NOTHING, Best, Kind, Measured, Sum, Value, Values
from automata.propagation.windows import Found
from automata.values import UNBOUND, Ids


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of n sets of matches.

    counts      int64[n, limbs]; sums: int64[n, linear measures, limbs]
    best        float64[n, extreme measures], NaN: none; ids alike
    first, last int64[n]
    """

    counts: Ids
    sums: Ids
    best: NDArray[np.float64]
    ids: Ids
    first: Ids
    last: Ids

    def at(self, rows: Ids) -> Vectors:
        """A copy of those rows."""
        return Vectors(
            self.counts[rows], self.sums[rows], self.best[rows], self.ids[rows], self.first[rows], self.last[rows]
        )


@dataclass(frozen=True, slots=True)
class VectorReader:
    """Makes exact vectors, as `automata.propagation.measures` has their values.

    scales      variable → the representation of its numbers
    """

    measured: Sequence[Measured]
    layout: Layout
    values: Values
    scales: Mapping[int, Scale]

    def read(self, vectors: Vectors) -> Iterator[Vector]:
        """The vector of each set."""
        matches = wholes(vectors.counts)
        columns = [self._column(each, matches, vectors) for each in self.measured]
        values = zip(*columns, strict=True) if columns else repeat((), len(matches))
        return zip(matches, vectors.first.tolist(), vectors.last.tolist(), values, strict=True)

    def _column(self, measured: Measured, matches: Sequence[int], vectors: Vectors) -> Sequence[Value]:
        """The values of one measure."""
        variable, inner = measured.variable, measured.inner
        if measured.kind in (Kind.MIN, Kind.MAX):
            place = self.layout.extreme.index(Extreme(variable, measured.kind is Kind.MAX, inner is not None))
            return self._extremes(vectors.best[:, place], vectors.ids[:, place], inner is not None)
        counted = self._linear(vectors, variable, True, inner is not None)
        if measured.kind is Kind.COUNT or inner is Kind.COUNT:
            return counted
        totals = self._linear(vectors, variable, False, inner is not None)
        return self._sums(variable, counted if inner is None else matches, counted, totals)

    def _linear(self, vectors: Vectors, variable: int, counts: bool, every: bool) -> list[int]:
        return wholes(vectors.sums[:, self.layout.linear.index(Linear(variable, counts, every))])

    def _sums(self, variable: int, matches: Sequence[int], added: Sequence[int], totals: Sequence[int]) -> list[Sum]:
        """Sums over so many matches, with a number of values that have been added."""
        scale = self.scales.get(variable)
        if scale is None or scale.exponent is None:
            return [Sum(count, 0, 0, 0) for count in matches]
        base, exponent = 2 if scale.binary else 10, scale.exponent
        numbers = [_scaled(total, base, exponent) for total in totals] if exponent else totals
        flags = [scale.flags if count else 0 for count in added]
        if scale.binary:
            return [Sum(count, 0, number, flag) for count, number, flag in zip(matches, numbers, flags, strict=True)]
        return [Sum(count, number, 0, flag) for count, number, flag in zip(matches, numbers, flags, strict=True)]

    def _extremes(self, best: NDArray[np.float64], ids: Ids, iterated: bool) -> list[Best]:
        bound = ~np.isnan(best)
        places = {each: self.values.place(each) for each in np.unique(ids[bound]).tolist()}
        none: Best = {NOTHING: (0, UNBOUND)} if iterated else {}
        found: list[Best] = []
        for there, identifier in zip(bound.tolist(), ids.tolist(), strict=True):
            if there:
                kind, order = places[identifier]
                found.append({kind: (order, identifier)})
            else:
                found.append(none)
        return found


@dataclass(frozen=True, slots=True)
class Block:
    """Groups that were closed together: units int64[n], keys int64[n, GROUP BY], and what is known of each."""

    units: Ids
    keys: Ids
    vectors: Vectors
    reader: VectorReader

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[Found]:
        keys = map(tuple, self.keys.tolist())
        return map(Found, self.units.tolist(), keys, self.reader.read(self.vectors))


class FoundColumns(Sequence[Found]):
    """Groups of matches, of which no object is made before it is asked for."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[Found]:
        for block in self.blocks:
            yield from block

    @overload
    def __getitem__(self, at: int) -> Found: ...
    @overload
    def __getitem__(self, at: slice) -> list[Found]: ...
    def __getitem__(self, at: int | slice) -> Found | list[Found]:
        return list(self)[at]


def _scaled(total: int, base: int, exponent: int) -> int | Fraction:
    if exponent >= 0 or not total:
        return int(total * base ** max(exponent, 0))
    return Fraction(total, int(base**-exponent))
