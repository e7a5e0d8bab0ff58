"""Making a failing history shorter, while it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

REPLAYS_MAX = 600
"""Histories that are replayed to find a shorter one."""
T = TypeVar("T")
Fails = Callable[[Sequence[T]], bool]


class Reduction:
    """The search; a history that it has replayed is not replayed again.

    fails   replays a history
    """

    def __init__(self, fails: Fails[T]) -> None:
        self._fails = fails
        self._left = REPLAYS_MAX
        self._known: set[str] = set()

    def shortest(
        self, steps: Sequence[T], simpler: Callable[[T], Iterable[T]], alike: Callable[[T], Iterable[Hashable]]
    ) -> list[T]:
        """The steps without those that the failure does not need, each as simple as it may be.

        alike   what a step has in common with others, all of which are left out together first: that is soon done
        """
        found = list(steps)
        for trait in dict.fromkeys(trait for step in steps for trait in alike(step)):
            left = [step for step in found if trait not in alike(step)]
            found = left if len(left) < len(found) and self._still(left) else found
        found = self._fewer(found)
        number = len(found) - 1
        while number >= 0:
            number = self._simplified(found, number, simpler)
        return self._fewer(found)

    def _fewer(self, steps: list[T]) -> list[T]:
        """Leave out parts, half of the steps first, single ones last."""
        size = max(1, len(steps) // 2)
        while True:
            begin = len(steps)
            while begin > 0:
                shorter = steps[: max(0, begin - size)] + steps[begin:]
                if self._still(shorter):
                    steps = shorter
                begin -= size
            if size == 1:
                return steps
            size //= 2

    def _simplified(self, steps: list[T], number: int, simpler: Callable[[T], Iterable[T]]) -> int:
        """Put a simpler step in the place of one, as often as that is possible; returns the number of the next."""
        for step in simpler(steps[number]):
            if self._still([*steps[:number], step, *steps[number + 1 :]]):
                steps[number] = step
                return number
        return number - 1

    def _still(self, steps: Sequence[T]) -> bool:
        key = repr(steps)
        if self._left <= 0 or key in self._known:
            return False
        self._left -= 1
        self._known.add(key)
        return self._fails(steps)


def parts_left(events: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The events without a half of them, or without one where they are few."""
    size = len(events) // 2 if len(events) > 8 else 1
    for begin in range(0, len(events) if len(events) > 1 else 0, size):
        yield (*events[:begin], *events[begin + size :])
