"""What has been worked out from some arrays, once for all who ask about the very same ones.

Queries over one stretch of events are given the same arrays: of times, of the events of a pattern's solutions, of the
values of a variable. Whatever is made of those alone is the same for each query, whatever its windows and its sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")


class Memo:
    """Lives as long as the stretch. What it gives is shared: nobody changes it."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[object, object]] = {}

    def of(self, make: Callable[..., Made], *given: Any) -> Made:
        """`make(*given)`: numbers, and tuples of them, are told apart by value, everything else by identity."""
        key = (make, *(one if isinstance(one, int | tuple) else id(one) for one in given))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make(*given), given  # what is kept keeps its identity
        return known[0]  # type: ignore[return-value]
