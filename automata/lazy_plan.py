"""In which order the units of a match are looked for: rarest first (K Sections 3 and 6).

A *chain* has one order for all partial matches, made from measured frequencies and made anew when a
window has passed. A *tree* has all orders; which branch a set of partial matches takes is decided
for each set of bound units, stretch by stretch, as the frequencies shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from automata.lazy_join import Bound

_GAIN_MIN = 2
"""An order that is in force is given up for one that begins with a unit so many times rarer."""


class Plan(Protocol):
    """Chooses the unit that partial matches wait for next; any choice gives the same matches."""

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """How many events of each unit are buffered now; whether a window has passed since last time it said so."""

    def following(self, bound: Bound, current: int | None) -> int:
        """The unit to look for once these are bound; `current` is what partial matches wait for now."""


class ChainPlan:
    """One order by frequency, kept within a window."""

    def __init__(self, units: int) -> None:
        self.order: list[int] = list(range(units))
        self._known = 0

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """See `Plan`. Until a window has passed, an order made from half as many events is made anew."""
        if (at_boundary or sum(counts) >= 2 * self._known) and self._outdated(counts):
            self.order.sort(key=lambda unit: (counts[unit], unit))
        self._known = sum(counts) if at_boundary else max(self._known, sum(counts))

    def following(self, bound: Bound, current: int | None) -> int:
        """See `Plan`."""
        return next(unit for unit in self.order if unit not in bound)

    def _outdated(self, counts: Sequence[int]) -> bool:
        pairs = zip(self.order, self.order[1:], strict=False)
        return any(counts[later] * _GAIN_MIN <= counts[earlier] for earlier, later in pairs) or not self._known


class TreePlan:
    """The rarest unit now, for each set of bound units."""

    def __init__(self, units: int) -> None:
        self._counts: Sequence[int] = [0] * units

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """See `Plan`."""
        self._counts = counts

    def following(self, bound: Bound, current: int | None) -> int:
        """See `Plan`."""
        left = [unit for unit in range(len(self._counts)) if unit not in bound]
        rarest = min(left, key=lambda unit: (self._counts[unit], unit))
        if current is None or self._counts[rarest] * _GAIN_MIN < self._counts[current]:
            return rarest
        return current
