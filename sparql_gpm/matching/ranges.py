"""Ranges of numbers that patterns ask for, and an index of them: the patterns in whose range a number is."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching import operators
from sparql_gpm.matching.bgp import Scan
from sparql_gpm.matching.pattern_expression import Operator
from sparql_gpm.pattern import Call, Constant, Expression, Variable

_LOWER, _UPPER = frozenset(("<", "<=", "=")), frozenset((">", ">=", "="))
"""The comparisons in which the greater side bounds the smaller one, and the other way round."""


class Range(NamedTuple):
    """The numbers from `low` to `high`, both included; infinite where there is no bound."""

    low: float = -math.inf
    high: float = math.inf

    def meet(self, other: Range) -> Range:
        """The numbers of both."""
        return Range(max(self.low, other.low), min(self.high, other.high))


_Sorted = TypeVar("_Sorted", tuple[float, int], tuple[float, float, int])
Ranges = Mapping[int, Range]
"""Predicate → at least the numbers that objects of its triples have in a solution, where those are bounded."""


def ranges_of(operator: Operator, dictionary: Dictionary) -> Ranges:
    """The ranges of a compiled pattern, from the filters that decide about one triple pattern alone."""
    match operator:
        case operators.Join(scans):
            predicates = Counter(scan.predicate for scan in scans if isinstance(scan, Scan))
            known = {s.predicate: _of_scan(s, dictionary) for s in scans if isinstance(s, Scan)}
            return {p: r for p, r in known.items() if isinstance(p, int) and predicates[p] == 1 and r != Range()}
        case operators.LeftJoin(left) | operators.Minus(left):
            return ranges_of(left, dictionary)
        case operators.Filter() | operators.Extend() | operators.Order():
            return ranges_of(operator.inner, dictionary)
        case operators.Project() | operators.Distinct() | operators.Slice():
            return ranges_of(operator.inner, dictionary)
    return {}


def _of_scan(scan: Scan, dictionary: Dictionary) -> Range:
    found = Range()
    for condition in scan.conditions:
        found = found.meet(_of_condition(condition.expression, scan.object, dictionary))
    return found


def _of_condition(expression: Expression, variable: object, dictionary: Dictionary) -> Range:
    match expression:
        case Call(name, (Variable(compared), Constant(term))) if compared == variable:
            smaller, greater = name in _LOWER, name in _UPPER
        case Call(name, (Constant(term), Variable(compared))) if compared == variable:
            smaller, greater = name in _UPPER, name in _LOWER
        case _:
            return Range()
    bound = dictionary.number(dictionary.pin(term))
    if math.isnan(bound):
        return Range()
    return Range(bound if greater else -math.inf, bound if smaller else math.inf)


class RangeIndex:
    """Numbered ranges. Those with one bound are found in logarithmic time, of the others those that begin below."""

    def __init__(self) -> None:
        self._from: list[tuple[float, int]] = []
        self._to: list[tuple[float, int]] = []
        self._between: list[tuple[float, float, int]] = []
        self._columns: NDArray[np.float64] | None = None

    def add(self, bounds: Range, number: int) -> None:
        """One more range."""
        if bounds.high == math.inf:
            insort(self._from, (bounds.low, number))
        elif bounds.low == -math.inf:
            insort(self._to, (bounds.high, number))
        else:
            insort(self._between, (bounds.low, bounds.high, number))
            self._columns = None

    def remove(self, bounds: Range, number: int) -> bool:
        """Takes a range out; returns whether it was there."""
        if bounds.high == math.inf:
            return _removed(self._from, (bounds.low, number))
        if bounds.low == -math.inf:
            return _removed(self._to, (bounds.high, number))
        self._columns = None
        return _removed(self._between, (bounds.low, bounds.high, number))

    def __len__(self) -> int:
        return len(self._from) + len(self._to) + len(self._between)

    def over(self, value: float) -> Iterator[int]:
        """The ranges that a number is in; all for NaN, a number that is not known exactly."""
        if math.isnan(value):
            value_from, value_to = math.inf, -math.inf
        else:
            value_from = value_to = value
        yield from (number for _, number in self._from[: bisect_right(self._from, (value_from, math.inf))])
        yield from (number for _, number in self._to[bisect_left(self._to, (value_to, -math.inf)) :])
        if self._between:
            begun = bisect_right(self._between, (value_from, math.inf, math.inf))
            for place in np.flatnonzero(self._highs[:begun] >= value_to).tolist():
                yield self._between[place][2]

    def over_some(self, values: NDArray[np.float64]) -> Iterator[int]:
        """The ranges that some of many numbers are in."""
        known = np.sort(values[~np.isnan(values)])
        if len(known) < len(values):
            yield from self.over(math.nan)
            return
        if not len(known):
            return
        yield from (number for _, number in self._from[: bisect_right(self._from, (float(known[-1]), math.inf))])
        yield from (number for _, number in self._to[bisect_left(self._to, (float(known[0]), -math.inf)) :])
        if self._between:
            lows = np.array([low for low, _, _ in self._between])
            some: Mask = np.searchsorted(known, lows, "left") < np.searchsorted(known, self._highs, "right")
            yield from (self._between[place][2] for place in np.flatnonzero(some).tolist())

    @property
    def _highs(self) -> NDArray[np.float64]:
        """The upper bounds of the ranges with two."""
        if self._columns is None:
            self._columns = np.array([high for _, high, _ in self._between])
        return self._columns


def _removed(ascending: list[_Sorted], one: _Sorted) -> bool:
    """Takes a value out of a sorted list; returns whether it was there."""
    place = bisect_left(ascending, one)
    if place == len(ascending) or ascending[place] != one:
        return False
    del ascending[place]
    return True
