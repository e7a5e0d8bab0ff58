"""Names of graphs that differ in a number only: a name becomes a string on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from arrays.columns import Ids


class NumberedNames(Sequence[str]):
    """The names `before`, a number, `after`; int64[n] numbers."""

    def __init__(self, before: str, numbers: Ids, after: str = "") -> None:
        self._before, self._numbers, self._after = before, numbers, after

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> NumberedNames: ...
    def __getitem__(self, index: int | slice) -> str | NumberedNames:
        if isinstance(index, slice):
            return NumberedNames(self._before, self._numbers[index], self._after)
        return f"{self._before}{self._numbers.item(index)}{self._after}"

    def __iter__(self) -> Iterator[str]:
        before, after = self._before, self._after
        return (f"{before}{number}{after}" for number in self._numbers.tolist())

    def take(self, places: Ids) -> NumberedNames:
        """The names at these places, in this order."""
        return NumberedNames(self._before, self._numbers[places], self._after)

    @staticmethod
    def joined(parts: Sequence[Sequence[str]]) -> NumberedNames | None:
        """All names of the parts in their order; None if they differ in more than a number."""
        numbered = [part for part in parts if isinstance(part, NumberedNames)]
        if len(numbered) < len(parts) or len({(part._before, part._after) for part in numbered}) != 1:
            return None
        numbers = np.concatenate([part._numbers for part in numbered])
        return NumberedNames(numbered[0]._before, numbers, numbered[0]._after)
