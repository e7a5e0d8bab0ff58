"""What an evaluator hands over when it is to go on elsewhere: plain values, and which of them are ids.

An id means something only beside the host that gave it out, so whoever stores a state replaces what is wrapped in
`Values` by what it stands for, and wraps the new ids when the state comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from automata.face import Evaluator
from automata.program import Ids
from automata.selection import AfterMatch


class Values:
    """An array of ids of any shape, UNBOUND among them. No dataclass: writers take those for mappings."""

    __match_args__ = ("ids",)
    __slots__ = ("ids",)

    def __init__(self, ids: Ids) -> None:
        self.ids = ids


State = None | bool | int | float | str | bytes | NDArray[Any] | Values | Sequence["State"] | Mapping[str, "State"]
"""Lists and mappings of plain values, arrays and `Values`; never an object with code."""


@runtime_checkable
class Restorable(Evaluator, Protocol):
    """An evaluator whose state can be taken out between two stretches, and put into a fresh one of the same program."""

    @property
    def state_kind(self) -> str:
        """What can read the state: the evaluators of this kind."""

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`; the evaluator may go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; nothing has been taken in before."""


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


def after_state(after: AfterMatch) -> dict[str, Any]:
    """What reported matches forbid."""
    triggers = [[partition, *pair] for partition, pair in after.triggers.items()]
    return {
        "firsts": [[partition, np.array(sorted(firsts), dtype=np.int64)] for partition, firsts in after.firsts.items()],
        "lasts": pairs(after.lasts),
        "triggers": np.array(triggers, dtype=np.int64).reshape(-1, 3),
    }


def restore_after(after: AfterMatch, state: Mapping[str, Any]) -> None:
    """Put it back."""
    after.firsts = {partition: set(firsts.tolist()) for partition, firsts in state["firsts"]}
    after.lasts = dict(state["lasts"].tolist())
    after.triggers = {partition: (before, latest) for partition, before, latest in state["triggers"].tolist()}
