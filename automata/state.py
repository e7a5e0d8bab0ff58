"""The state of an evaluator as plain values, with ids marked as such.

An id belongs to a dictionary. Whoever stores a state replaces what is wrapped in `Values` by the terms, and wraps the
new ids when the state comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.values import Ids


class Values:
    """An array of ids of any shape, UNBOUND among them. No dataclass: writers take those for mappings."""

    __match_args__ = ("ids",)
    __slots__ = ("ids",)

    def __init__(self, ids: Ids) -> None:
        self.ids = ids


State = None | bool | int | float | str | bytes | NDArray[Any] | Values | Sequence["State"] | Mapping[str, "State"]
"""Lists and mappings of plain values, arrays and `Values`; never an object with code."""


def pairs(numbers: Mapping[int, int]) -> Ids:
    """A mapping of numbers as int64[n, 2]."""
    return np.array(list(numbers.items()), dtype=np.int64).reshape(-1, 2)


def columns_of(rows: Ids) -> list[Ids]:
    """The columns of a matrix, each by itself: most take few bytes a value."""
    return list(rows.T)


def rows_of(columns: Sequence[Ids], count: int) -> Ids:
    """The matrix with these columns, which may be none, and so many rows."""
    rows = np.empty((count, len(columns)), dtype=np.int64)
    for number, column in enumerate(columns):
        rows[:, number] = column
    return rows
