"""Step tables: the sets of events of a slice that one step can take.

A row is a set of events at one time (a single one unless the step is a conjunction) with the merged
values of their solutions. Rows are sorted by `low`, the first position of the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from arrays.columns import compatible, expand
from arrays.wanted import check_wanted
from automata.slices.shared_work import SharedWork
from automata.values import UNBOUND, Ids, Mask

_PAIRS_MAX = 1 << 20
"""Candidate pairs looked at in one go."""
SEVERAL = -2
"""The stream of a set whose events are on different streams."""


@dataclass(frozen=True, slots=True)
class Part:
    """One member of the set: for each row its position and the number of its solution in the event."""

    symbol: int
    positions: Ids
    numbers: Ids


@dataclass(frozen=True, slots=True)
class StepTable:
    """n rows.

    low, high               first and last position of the set
    times, streams          of the set; SEVERAL where it spans streams
    slots, seq_low, seq_high, tails, rank_low, rank_high, windows, partitions   see automata.slices.timeline
    values                  variable → int64[n], UNBOUND where the solutions leave it so; not of those never bound
    shared                  results derived from these columns, common to all tables of the same events
    """

    low: Ids
    high: Ids
    times: Ids
    streams: Ids
    slots: Ids
    seq_low: Ids
    seq_high: Ids
    tails: Mask
    rank_low: Ids
    rank_high: Ids
    windows: Ids
    partitions: Ids
    values: Mapping[int, Ids]
    parts: tuple[Part, ...]
    shared: SharedWork = field(default_factory=SharedWork, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.low)

    def value(self, variable: int) -> Ids:
        """The values of a variable in the rows."""
        return self.values[variable] if variable in self.values else np.zeros(len(self), dtype=np.int64)

    def matrix(self, variables: Iterable[int]) -> Ids:
        """int64[n, variables]: the same for some variables."""
        columns = [self.value(variable) for variable in variables]
        return np.column_stack(columns) if columns else np.zeros((len(self), 0), dtype=np.int64)

    def take(self, rows: Ids | Mask) -> StepTable:
        """These rows, in this order."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in PLAIN_COLUMNS}
        values = {variable: column[rows] for variable, column in self.values.items()}
        parts = tuple(Part(p.symbol, p.positions[rows], p.numbers[rows]) for p in self.parts)
        return StepTable(parts=parts, values=values, **columns)

    @staticmethod
    def concatenate(tables: Sequence[StepTable]) -> StepTable:
        """The rows of tables of the same step, one table after the other; at least one table."""
        if len(tables) == 1:
            return tables[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(table, name) for table in tables]) for name in PLAIN_COLUMNS
        }
        variables = dict.fromkeys(variable for table in tables for variable in table.values)
        values = {v: np.concatenate([table.value(v) for table in tables]) for v in variables}
        parts = tuple(
            Part(
                part.symbol,
                np.concatenate([table.parts[number].positions for table in tables]),
                np.concatenate([table.parts[number].numbers for table in tables]),
            )
            for number, part in enumerate(tables[0].parts)
        )
        return StepTable(parts=parts, values=values, **columns)


PLAIN_COLUMNS = tuple(f.name for f in fields(StepTable) if f.name not in ("values", "parts", "shared"))
"""The columns that every step table has."""


def conjunction(tables: Sequence[StepTable]) -> StepTable:
    """All combinations of rows at one time, in one partition and window, with compatible values (G Definition 8).

    The smallest tables are joined first, and the first join that is empty is the last (G Section 7.3).
    """
    if len(tables) == 1:
        return tables[0]
    order = sorted(range(len(tables)), key=lambda number: len(tables[number]))
    result = tables[order[0]]
    for number in order[1:]:
        if not len(result):
            break
        result = _pair(result, tables[number])
    if not len(result):
        return tables[0].take(np.zeros(0, dtype=np.int64))
    as_written = tuple(result.parts[order.index(number)] for number in range(len(tables)))
    return replace(result, parts=as_written).take(np.argsort(result.low, kind="stable"))


def _pair(left: StepTable, right: StepTable) -> StepTable:
    order = np.argsort(right.times, kind="stable")
    times = right.times[order]
    lows, highs = np.searchsorted(times, left.times, "left"), np.searchsorted(times, left.times, "right")
    which_left, within = expand(highs - lows)
    which_right = order[lows[which_left] + within]
    keep: Mask = np.ones(len(which_left), dtype=np.bool_)
    for variable in left.values.keys() & right.values.keys():
        a, b = left.values[variable][which_left], right.values[variable][which_right]
        keep &= compatible(a, b)
    keep &= left.partitions[which_left] == right.partitions[which_right]
    keep &= left.windows[which_left] == right.windows[which_right]
    return side_by_side(left.take(which_left[keep]), right.take(which_right[keep]))


def side_by_side(x: StepTable, y: StepTable) -> StepTable:
    """Each row of one table with the same row of the other, as one set; they are at one time and compatible."""
    same = (x.streams == y.streams) & (x.streams != SEVERAL)
    return StepTable(
        np.minimum(x.low, y.low),
        np.maximum(x.high, y.high),
        x.times,
        np.where(same, x.streams, SEVERAL),
        x.slots,
        np.minimum(x.seq_low, y.seq_low),
        np.maximum(x.seq_high, y.seq_high),
        np.where(x.seq_high >= y.seq_high, x.tails, y.tails),
        np.minimum(x.rank_low, y.rank_low),
        np.maximum(x.rank_high, y.rank_high),
        x.windows,
        x.partitions,
        {**x.values, **y.values, **{v: _either(x.values[v], y.values[v]) for v in x.values.keys() & y.values.keys()}},
        x.parts + y.parts,
    )


def _either(a: Ids, b: Ids) -> Ids:
    """The values of a variable on which both agree where both bind it."""
    return np.where(a != UNBOUND, a, b)


def blocks(counts: Ids) -> Iterator[slice]:
    """Slices of the counts that add up to about _PAIRS_MAX each, as long as they are wanted; none if there is nothing
    to expand.
    """
    total = np.cumsum(counts)
    if not len(total) or total[-1] == 0:
        return
    if total[-1] <= _PAIRS_MAX:
        check_wanted()
        yield slice(0, len(counts))
        return
    cuts = np.searchsorted(total, np.arange(_PAIRS_MAX, total[-1], _PAIRS_MAX), "left") + 1
    borders = np.unique(np.concatenate(([0], cuts, [len(counts)])))
    for begin, end in pairwise(borders.tolist()):
        check_wanted()
        yield slice(begin, end)
