"""Partial matches as rows of one int64 matrix: which units are bound to which buffered events, and the bindings.

The rows of one set of bound units wait together for the events of one further unit: they are the
instances at one state of a chain or tree automaton (K Sections 3, 4.1 and 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arrays.times import AFTER_ALL, BEFORE_ALL

Rows = NDArray[np.int64]
"""int64[n, PartialLayout.width]"""

TIME_MIN, TIME_MAX, RANK_MIN, RANK_MAX, WINDOW, PARTITION = range(6)
_FIXED = 6
_LEAST, _MOST = [TIME_MIN, RANK_MIN], [TIME_MAX, RANK_MAX]


@dataclass(frozen=True, slots=True)
class PartialLayout:
    """The columns of a partial match."""

    units: int
    variables: int

    def number(self, unit: int) -> int:
        """The number of the unit's event in its buffer."""
        return _FIXED + unit

    def floor(self, unit: int) -> int:
        """Only events of the unit from this position on are still to be joined."""
        return _FIXED + self.units + unit

    @property
    def registers(self) -> slice:
        """The values of the variables."""
        return slice(_FIXED + 2 * self.units, self.width)

    @property
    def width(self) -> int:
        """The number of columns."""
        return _FIXED + 2 * self.units + self.variables

    def root(self) -> Rows:
        """The one row that has bound nothing."""
        return self.unbounded(np.zeros((1, self.width), dtype=np.int64))

    def unbounded(self, rows: Rows) -> Rows:
        """Rows that have bound nothing, with bounds that any event narrows; old states have 2^62 and -2^62."""
        rows[:, _LEAST], rows[:, _MOST] = AFTER_ALL, BEFORE_ALL
        return rows


class Waiting:
    """The partial matches with one set of bound units; `unit` is what they wait for."""

    def __init__(self, width: int, unit: int) -> None:
        self.unit = unit
        self._rows: Rows = np.empty((0, width), dtype=np.int64)
        self._size = 0

    @property
    def rows(self) -> Rows:
        """All of them."""
        return self._rows[: self._size]

    def add(self, rows: Rows) -> None:
        """More of them."""
        needed = self._size + len(rows)
        if needed > len(self._rows):
            grown = np.empty((2 * needed, self._rows.shape[1]), dtype=np.int64)
            grown[: self._size] = self.rows
            self._rows = grown
        self._rows[self._size : needed] = rows
        self._size = needed

    def replace(self, rows: Rows) -> None:
        """These instead of all others."""
        self._rows, self._size = rows, len(rows)

    def await_instead(self, unit: int, position: int, layout: PartialLayout) -> Rows:
        """Waits for another unit; the rows, which have met every event of the old one before this position."""
        self.rows[:, layout.floor(self.unit)] = position
        self.unit = unit
        return self.rows.copy()

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drops the rows that the mask does not name."""
        if not mask.all():
            self.replace(self.rows[mask])
