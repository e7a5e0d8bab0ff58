"""WITHIN (specification 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from automata.plan.program import Window
from tests.reference.stream import Event

Deadline = tuple[int | Fraction, bool]
"""(value on the window's axis, whether an event exactly there still belongs to the window)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A window over an axis: times, or places in the (sub)stream.

    place   the place of an event in the order that counts; half places for events outside a partition
    """

    window: Window
    place: Callable[[Event], Fraction]

    def on_axis(self, event: Event) -> int | Fraction:
        """Where the event stands on the window's axis."""
        return self.place(event) if self.window.in_events else event.time

    def holds(self, events: Sequence[Event]) -> bool:
        """Whether all the events fall into one window."""
        values = [self.on_axis(event) for event in events]
        if not self.window.sliding:
            return len({self._block(value) for value in values}) <= 1 and all(
                self._block(v) is not None for v in values
            )
        if self.window.in_events:
            return max(values) - min(values) < self.window.size
        return max(values) - min(values) <= self.window.size

    def covers(self, match: Sequence[Event], event: Event) -> bool:
        """Whether an event is in the window of a complete match, as leading and trailing `!` ask."""
        value, places = self.on_axis(event), [self.on_axis(one) for one in match]
        first, last, size = min(places), max(places), self.window.size
        if not self.window.sliding:
            return self._block(value) == self._block(first)
        if self.window.in_events:
            return last - size < value < first + size
        return last - size <= value <= first + size

    def deadline(self, match: Sequence[Event]) -> Deadline:
        """The end of a match's window, and whether it is inclusive."""
        first = min(self.on_axis(event) for event in match)
        if self.window.sliding:
            return first + self.window.size, not self.window.in_events
        block = self._block(first)
        assert block is not None
        return self.window.start + (block + 1) * self.window.size, False

    def _block(self, value: int | Fraction) -> int | None:
        """k of [t + kω, t + (k+1)ω); None before STARTING AT."""
        block = (value - self.window.start) // self.window.size
        return None if self.window.anchored and block < 0 else int(block)
