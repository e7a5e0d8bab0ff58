"""Solutions of a slice as the kernel reads them; what it cannot take is left to exact values, one event at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from automata.propagation import kernel_arrays as arrays
from automata.propagation.layout import Layout
from automata.propagation.limbs import shifted
from automata.propagation.measures import Values
from automata.slices.events import Events, SymbolSolutions
from automata.values import UNBOUND, Ids, Mask

_MARGIN = 31
"""Bits by which binary numbers may be finer than those seen first."""
_LIMBS_MAX = 8
"""Limbs of one addend; finer and larger numbers together are left to exact values."""


class Unsuited(Exception):
    """The kernel cannot take the values of a variable."""

    def __init__(self, variable: int) -> None:
        super().__init__(variable)
        self.variable = variable


@dataclass(slots=True)
class Scale:
    """The representation of a variable's numbers in open cells: integers of one over a power of the base.

    exponent    the least power of the base; None: no number has been seen
    """

    flags: int = 0
    binary: bool = False
    exponent: int | None = None


@dataclass(slots=True)
class Reader:
    """Makes slices for the kernel.

    scales      variable → the representation of its numbers in open cells
    seen        variable → ids of extremes in open cells
    """

    key: tuple[int, ...]
    symbols: int
    layout: Layout
    values: Values
    scales: dict[int, Scale] = field(default_factory=dict)
    seen: dict[int, Ids] = field(default_factory=dict)

    def forget(self) -> None:
        """No cell is open: any representation will do."""
        self.scales.clear()
        self.seen.clear()

    def live_ids(self) -> list[Ids]:
        """The ids of extremes in open cells."""
        return list(self.seen.values())

    def read(
        self, events: Events, solutions: Mapping[int, SymbolSolutions], used: frozenset[int], position: int
    ) -> arrays.Slice:
        """The slice; Unsuited if the kernel cannot take it, with what is known of open cells as it was."""
        tables = self._tables(solutions, used)
        counts = [0 if table is None else len(table.events) for table in tables]
        begins = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        rows = int(begins[-1])
        keys = self._matrix(tables, self.key, rows)
        addends, signs = self._addends(tables, rows)
        values, ids = self._extremes(tables, rows)
        there = [table.events for table in tables if table is not None]
        return arrays.Slice(
            events.times,
            position,
            begins,
            np.concatenate(there) if there else np.zeros(0, dtype=np.int64),
            keys,
            addends,
            signs,
            np.array([self.layout.addends.index((one.variable, one.counts)) for one in self.layout.linear], np.int64),
            values,
            ids,
        )

    def columns(self, solutions: Mapping[int, SymbolSolutions], used: frozenset[int], variables: Sequence[int]) -> Ids:
        """int64[solutions of the slice, variables]: the ids of variables, UNBOUND where a step does not bind one."""
        tables = self._tables(solutions, used)
        return self._matrix(tables, variables, sum(len(table.events) for table in tables if table is not None))

    def _tables(self, solutions: Mapping[int, SymbolSolutions], used: frozenset[int]) -> list[SymbolSolutions | None]:
        return [self._keyed(solutions[s]) if s in used and s in solutions else None for s in range(self.symbols)]

    def _keyed(self, table: SymbolSolutions) -> SymbolSolutions:
        """The solutions that bind the whole key: no other one is in a match."""
        columns = [table.values[variable] for variable in self.key]
        if all(column.all() for column in columns):
            return table
        rows = np.flatnonzero(np.logical_and.reduce([column != UNBOUND for column in columns]))
        return SymbolSolutions(table.events[rows], {v: column[rows] for v, column in table.values.items()})

    def _matrix(self, tables: Sequence[SymbolSolutions | None], variables: Sequence[int], rows: int) -> Ids:
        found = np.empty((rows, len(variables)), dtype=np.int64)
        for number, variable in enumerate(variables):
            found[:, number] = _column(tables, variable)
        return found

    def _addends(self, tables: Sequence[SymbolSolutions | None], rows: int) -> tuple[Ids, Ids]:
        columns = []
        for variable, counts in self.layout.addends:
            ids = _column(tables, variable)
            columns.append((ids != UNBOUND).astype(np.int64)[:, np.newaxis] if counts else self._scaled(variable, ids))
        width = max((column.shape[1] for column in columns), default=1)
        limbs = np.zeros((rows, len(columns), width), dtype=np.int64)
        signs = np.ones((rows, len(columns)), dtype=np.int64)
        for number, column in enumerate(columns):
            np.abs(column, out=limbs[:, number, : column.shape[1]])
            if column.min(initial=0) < 0:
                signs[:, number] = np.where((column < 0).any(axis=1), -1, 1)
        return limbs, signs

    def _scaled(self, variable: int, ids: Ids) -> NDArray[np.int64]:
        """int64[n, limbs]: limbs of the numbers in the variable's representation, negative ones where they are."""
        bound = np.flatnonzero(ids != UNBOUND)
        if not len(bound):
            return np.zeros((len(ids), 1), dtype=np.int64)
        scaled = self.values.scaled(ids[bound])
        scale = self.scales.get(variable)
        if scaled is None or (scale is not None and (scaled.flags, scaled.binary) != (scale.flags, scale.binary)):
            raise Unsuited(variable)
        least = int(scaled.exponents.min())
        if scale is None:
            scale = Scale(scaled.flags, scaled.binary, least - _MARGIN if scaled.binary else least)
        assert scale.exponent is not None
        if least < scale.exponent:
            raise Unsuited(variable)
        up = scaled.exponents - scale.exponent
        magnitudes, width = np.abs(scaled.mantissas), 2
        if scaled.binary:
            width = int(up.max() + 63) // arrays.LIMB + 1
        elif up.any():
            if int(up.max()) > 18 or float(magnitudes.max()) * 10.0 ** int(up.max()) > 2.0**61:
                raise Unsuited(variable)
            magnitudes, up = magnitudes * 10**up, np.zeros_like(up)
        if width > _LIMBS_MAX:
            raise Unsuited(variable)
        self.scales[variable] = scale
        if not scaled.binary and int(magnitudes.max()) >> arrays.LIMB == 0:
            small = np.zeros((len(ids), 1), dtype=np.int64)
            small[bound, 0] = magnitudes * np.sign(scaled.mantissas)
            return small
        limbs = np.zeros((len(ids), max(width, 3)), dtype=np.int64)
        limbs[bound] = shifted(magnitudes, up, limbs.shape[1]) * np.sign(scaled.mantissas)[:, np.newaxis]
        while limbs.shape[1] > 1 and not limbs[:, -1].any():
            limbs = limbs[:, :-1]
        return limbs

    def _extremes(self, tables: Sequence[SymbolSolutions | None], rows: int) -> tuple[NDArray[np.float64], Ids]:
        variables = [one.variable for one in self.layout.extreme]
        ids = self._matrix(tables, variables, rows)
        if not variables:
            return np.zeros((rows, 0)), ids
        numbers = self.values.numbers(ids)
        for variable in dict.fromkeys(variables):
            number = variables.index(variable)
            self._see(variable, ids[:, number], numbers[:, number])
        numbers[ids == UNBOUND] = np.nan
        return numbers, ids

    def _see(self, variable: int, ids: Ids, numbers: NDArray[np.float64]) -> None:
        """Remembers the ids of extremes: of equal numbers the texts would decide."""
        bound = ids != UNBOUND
        if np.isnan(numbers[bound]).any():
            raise Unsuited(variable)
        known = self.seen.get(variable, ids[:0])
        new = ids[bound]
        new = new[~_among(new, known)]
        if len(new):
            seen = np.union1d(known, new)
            if len(np.unique(self.values.numbers(seen))) < len(seen):
                raise Unsuited(variable)
            self.seen[variable] = seen


def _among(ids: Ids, known: Ids) -> Mask:
    """A mask of the ids that are among known ones, which ascend."""
    if not len(known):
        return np.zeros(len(ids), dtype=np.bool_)
    return known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids  # type: ignore[no-any-return]


def _column(tables: Sequence[SymbolSolutions | None], variable: int) -> Ids:
    """The variable in all solutions, UNBOUND where a step does not bind it."""
    columns = [
        table.values.get(variable, np.zeros(len(table.events), dtype=np.int64)) for table in tables if table is not None
    ]
    return np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
