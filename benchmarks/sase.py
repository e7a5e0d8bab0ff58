"""A SASE-like evaluator in plain Python, as a peer: every partial match is a tuple, and extending one copies it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

Run = tuple[int, ...]
"""The positions of the events taken so far."""
Admits = Callable[[Run, int], bool]
"""Whether a partial match may take the event at a position."""


class PlainRuns:
    """A sequence of types under skip-till-any.

    window      the largest distance of two positions of a match
    operations  partial and complete matches made
    """

    def __init__(self, steps: Sequence[int], window: int, admits: Admits | None = None) -> None:
        self._steps = steps
        self._window = window
        self._admits = admits
        self._waiting: list[deque[Run]] = [deque() for _ in steps]
        self.operations = 0

    @property
    def held(self) -> int:
        """Partial matches kept."""
        return sum(map(len, self._waiting))

    def take(self, position: int, kind: int) -> Iterator[Run]:
        """The matches that the next event completes."""
        for number in reversed(range(len(self._steps))):
            if self._steps[number] != kind:
                continue
            for run in self._runs(number, position):
                if self._admits is None or self._admits(run, position):
                    self.operations += 1
                    if number == len(self._steps) - 1:
                        yield (*run, position)
                    else:
                        self._waiting[number].append((*run, position))

    def _runs(self, number: int, position: int) -> list[Run]:
        """The partial matches of the first `number` steps that are still in the window."""
        if not number:
            return [()]
        kept = deque(run for run in self._waiting[number - 1] if position - run[0] <= self._window)
        self._waiting[number - 1] = kept
        return list(kept)
