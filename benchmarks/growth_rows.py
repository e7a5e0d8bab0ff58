"""The rows of `growth.py`: a quantity, the sizes at which it is measured, and how it may grow.

To add a row, write one function in a module `growth_*.py` of this folder that `growth.MODULES` names:

    @row("push beside other queries", "queries", "µs", sizes=(1, 100, 10_000), exponent=0.1, bound=200, quick="visits")
    def beside_others(queries: int, quick: bool) -> Iterator[float]:
        engine = …                                      # the set-up, which is not measured
        yield …                                         # one figure a repetition; the row takes the median

With `quick` it yields counts of operations, which do not depend on the machine, at the `quick_sizes`; leave `quick` out
of the row where there is nothing to count. Times are processor seconds: `processor_us` measures them.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Measure = Callable[[int, bool], Iterator[float]]
_COUNT_SLACK = 1.05
"""Counts of operations may differ by so much from one size to the next where the exponent is 0."""


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """One quantity.

    size            what grows; `sizes` are its values, `quick_sizes` those with which operations are counted
    exponent        the greatest e for which the figure may grow as size^e between the first and the last size
    bound           the greatest figure at the last size; None: only its growth matters
    everywhere      the bound is one for every size
    quick           the operations that are counted; "": none
    quick_bound     the greatest count at the last of the quick sizes
    """

    name: str
    size: str
    unit: str
    sizes: Sequence[int]
    exponent: float
    bound: float | None
    measure: Measure
    quick: str = ""
    quick_sizes: Sequence[int] = ()
    quick_bound: float | None = None
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Grown:
    """The figures of one row by size, medians, and the exponent measured."""

    row: str
    size: str
    unit: str
    figures: dict[int, float]
    exponent: float
    exponent_max: float
    bound: float | None
    holds: bool


ROWS: list[GrowthRow] = []
"""Every row, in the order in which they were added."""


def row(
    name: str,
    size: str,
    unit: str,
    *,
    sizes: Sequence[int],
    exponent: float,
    bound: float | None = None,
    quick: str = "",
    quick_sizes: Sequence[int] = (10, 100),
    quick_bound: float | None = None,
    everywhere: bool = False,
) -> Callable[[Measure], Measure]:
    """Adds a row, which the function measures."""

    def add(measure: Measure) -> Measure:
        each = GrowthRow(name, size, unit, sizes, exponent, bound, measure, quick, quick_sizes, quick_bound, everywhere)
        ROWS.append(each)
        return measure

    return add


def grown(each: GrowthRow, quick: bool, largest: int | None = None) -> Grown:
    """The row measured, at sizes up to the largest; quick: with operations counted."""
    sizes = [size for size in (each.quick_sizes if quick else each.sizes) if largest is None or size <= largest]
    figures = {size: statistics.median(each.measure(size, quick)) for size in sizes}
    exponent, bound = exponent_of(figures), each.quick_bound if quick else each.bound
    slack = math.log(_COUNT_SLACK) / math.log(max(sizes) / min(sizes)) if quick and len(sizes) > 1 else 0.0
    bounded = figures.values() if each.everywhere else [figures[sizes[-1]]]
    holds = exponent <= each.exponent + slack and (bound is None or max(bounded) <= bound)
    unit = each.quick if quick else each.unit
    return Grown(each.name, each.size, unit, figures, exponent, each.exponent, bound, holds)


def exponent_of(figures: dict[int, float]) -> float:
    """The e for which figures grow as size^e from the first size to the last; 0 of one size, or where all are 0."""
    (first, small), (last, large) = min(figures.items()), max(figures.items())
    if first == last or large <= 0:
        return 0.0
    return math.log(large / small) / math.log(last / first) if small > 0 else math.inf


def processor_us(work: Callable[[], object], times: int) -> float:
    """The microseconds of the processor that each of so many pieces of work takes, all done in one call."""
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1000 / times
