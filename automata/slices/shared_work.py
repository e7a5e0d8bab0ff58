"""Results derived from arrays, computed once for all that use the same arrays.

Queries over one slice of events are given the same arrays: of times, of the events of a pattern's solutions, of the
values of a variable. Whatever is made of those alone is the same for each query, whatever its windows and its sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")


class SharedWork:
    """Lives as long as the slice. What it gives is shared: nobody changes it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[object, object]] = {}

    def of(self, make: Callable[..., Made], *given: Any) -> Made:
        """`make(*given)`, made once."""
        return self.once((make, *given), lambda: make(*given))

    def once(self, about: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """The result of `make`, called the first time; `about` is the key: numbers by value, all else by identity."""
        key = tuple([one if isinstance(one, int) else id(one) for one in about])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make(), about  # whatever is kept keeps its identity
        return known[0]  # type: ignore[return-value]
