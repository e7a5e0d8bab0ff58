"""The state of an evaluator as plain values, with ids marked as such.

An id belongs to a dictionary. Whoever stores a state replaces what is wrapped in `Values` by the terms, and wraps the
new ids when the state comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


class Unreadable(Exception):
    """A state cannot be read: the message says why, and who catches it adds the name of the query."""


class Layout:
    """A part of a state as it is written: its name, its fields, and what older versions of it become.

    older   the first makes version 2 of version 1, and so on

    Version 1 is what release 0.1.0 wrote, and has no number in the state.
    """

    def __init__(self, name: str, fields: str, *older: Callable[[Any], dict[str, Any]]) -> None:
        self.name, self.fields = name, frozenset(fields.split())
        self.version, self._older = 1 + len(older), older

    def written(self, **fields: Any) -> dict[str, Any]:
        """A part of this version."""
        assert fields.keys() == self.fields, (self.name, self.fields ^ fields.keys())
        return fields if self.version == 1 else {**fields, _VERSION: self.version}

    def read(self, part: Any) -> Mapping[str, Any]:
        """The fields of a part of this or an older version; raises Unreadable."""
        version = part.get(_VERSION, 1) if isinstance(part, Mapping) else 1
        if version > self.version:
            raise Unreadable(f"'{self.name}' is of version {version}, and this SPAseq reads up to {self.version}")
        try:
            for newer in self._older[version - 1 :]:
                part = newer(part)
            missing = self.fields - part.keys()
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise Unreadable(f"'{self.name}' is no part of version {version}") from error
        if missing:
            raise Unreadable(f"'{self.name}' of version {version} has no {', '.join(sorted(missing))}")
        return part  # type: ignore[no-any-return]


_VERSION = "version"
"""The field of a part that has the number of its version."""


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
