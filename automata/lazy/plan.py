"""The order in which the units of a match are searched: rarest first (K Sections 3 and 6).

A *chain* has one order for all partial matches, a *tree* one for each set of bound units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from automata.lazy.join import Bound

_GAIN_MIN = 2
"""An order is replaced by one that is so many times cheaper."""
_RELATED_GAIN = 4
"""Events related to what is bound, by a key or a condition, are taken to be so many times rarer than they are."""


Relations = Sequence[frozenset[int]]
"""For each unit those that a join key or a condition relates it to."""


class EvaluationOrder(ABC):
    """Chooses the unit that partial matches wait for next; any choice gives the same matches."""

    @abstractmethod
    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """The buffered events of each unit, and a flag: a window has passed since the flag was last set."""

    @abstractmethod
    def following(self, bound: Bound, current: int | None) -> int:
        """The unit to look for once these are bound; `current` is what partial matches wait for now."""

    def snapshot(self) -> list[int]:
        """The state that it keeps from one slice to the next: none unless it says so."""
        return []

    def restore(self, state: list[int]) -> None:
        """Go on from there."""
        assert not state, state


class ChainPlan(EvaluationOrder):
    """One order by frequency, kept within a window."""

    def __init__(self, related: Relations) -> None:
        self.order: list[int] = list(range(len(related)))
        self._related = related
        self._known = 0

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """Until a window has passed, an order made from half as many events is made anew."""
        if at_boundary or sum(counts) >= 2 * self._known:
            order = self._ascending(counts)
            if not self._known or _cost(self.order, counts, self._related) > _GAIN_MIN * _cost(
                order, counts, self._related
            ):
                self.order = order
        self._known = sum(counts) if at_boundary else max(self._known, sum(counts))

    def following(self, bound: Bound, current: int | None) -> int:
        return next(unit for unit in self.order if unit not in bound)

    def snapshot(self) -> list[int]:
        return [self._known, *self.order]

    def restore(self, state: list[int]) -> None:
        self._known, *self.order = state

    def _ascending(self, counts: Sequence[int]) -> list[int]:
        order: list[int] = []
        while len(order) < len(counts):
            order.append(_rarest(frozenset(order), counts, self._related))
        return order


class TreePlan(EvaluationOrder):
    """The rarest unit now, for each set of bound units."""

    def __init__(self, related: Relations) -> None:
        self._related = related
        self._counts: Sequence[int] = [0] * len(related)

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        self._counts = counts

    def following(self, bound: Bound, current: int | None) -> int:
        rarest = _rarest(bound, self._counts, self._related)
        if current is None:
            return rarest
        now, then = (_expected(unit, bound, self._counts, self._related) for unit in (current, rarest))
        return rarest if now > _GAIN_MIN * then else current


def _rarest(bound: Bound, counts: Sequence[int], related: Relations) -> int:
    left = [unit for unit in range(len(counts)) if unit not in bound]
    return min(left, key=lambda unit: (_expected(unit, bound, counts, related), unit))


def _expected(unit: int, bound: Bound, counts: Sequence[int], related: Relations) -> float:
    """The expected number of events of the unit that join a partial match."""
    return counts[unit] / (_RELATED_GAIN if related[unit] & bound else 1)


def _cost(order: Sequence[int], counts: Sequence[int], related: Relations) -> float:
    """The partial matches that an order makes in a window, its last step left out: that one every order has."""
    made, total = 1.0, 0.0
    for number, unit in enumerate(order[:-1]):
        made *= _expected(unit, frozenset(order[:number]), counts, related)
        total += made
    return total
