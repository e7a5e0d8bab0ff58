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


class Values:
    """An array of ids of any shape, UNBOUND among them. No dataclass: writers take those for mappings."""

    __match_args__ = ("ids",)
    __slots__ = ("ids",)

    def __init__(self, ids: Ids) -> None:
        self.ids = ids


State = None | bool | int | str | bytes | NDArray[Any] | Values | Sequence["State"] | Mapping[str, "State"]
"""Lists and mappings of plain values, arrays and `Values`; never an object with code."""


@runtime_checkable
class Restorable(Evaluator, Protocol):
    """An evaluator whose state can be taken out between two stretches, and put into a fresh one of the same program."""

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`; the evaluator may go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; nothing has been taken in before."""


def pairs(numbers: Mapping[int, int]) -> Ids:
    """A mapping of numbers as int64[n, 2]."""
    return np.array(list(numbers.items()), dtype=np.int64).reshape(-1, 2)
