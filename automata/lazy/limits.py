"""Limits as bounds of the times between units: for joins, and for how long events and partial matches are kept.

The bounds are necessary, not sufficient: earlier iterations of repeated steps are no units. Replay checks every limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arrays.times import AFTER_ALL, ENDLESS_NS
from automata.lazy.path import Item, Path, Step
from automata.lazy.units import Units
from automata.plan.plan import Plan
from automata.values import NONE


class TimeBounds:
    """The bounds of one path.

    most    int64[units, units]: [u, v] is the most that v's event can come after u's; AFTER_ALL: anything
    reach   so long after any event that a unit may take, no event of the same match comes; AFTER_ALL: nothing is
            known. One for all units: what is buffered of each tells its rate
    """

    def __init__(self, plan: Plan, path: Path, units: Units) -> None:
        self._plan = plan
        self._units = units
        self._units_of = {step.edge: units.of_step(number) for number, step in enumerate(units.steps)}
        self.most: NDArray[np.int64] = np.full((len(units), len(units)), AFTER_ALL, dtype=np.int64)
        np.fill_diagonal(self.most, 0)
        self.most[units.before.T | units.together] = 0
        if plan.limits:
            self._follow(path.items, (), None)
            self._limit_steps()
            self._close()
        self.reach = max(self._reach(unit) for unit in range(len(units))) if plan.limits else AFTER_ALL

    def between(self, unit: int, other: int) -> tuple[int, int]:
        """The most that an event of the unit can come before, and after, that of another one."""
        before, after = int(self.most[unit, other]), int(self.most[other, unit])
        return before if before < AFTER_ALL else ENDLESS_NS, after if after < AFTER_ALL else ENDLESS_NS

    def _follow(self, items: Sequence[Item], before: tuple[int, ...], entry: int | None) -> None:
        """Bounds by the limits of operators.

        before  the units of the step before, if that is one step
        entry   the limit of the operator before the ALL that these are a member of
        """
        for item in items:
            limit = self._plan.edges[item.edge].limit if entry is None else entry
            if isinstance(item, Step):
                units = self._units_of[item.edge]
                if limit is not None and item.loop == NONE:
                    self._bound(before, units, limit)
                before = units
            else:
                for member in item.members:
                    self._follow(member, before, limit)
                before = ()
            entry = None

    def _limit_steps(self) -> None:
        """Bounds by the limits of steps; on one path each of these is taken once."""
        for clock in self._plan.clocks:
            inside = [n for n, unit in enumerate(self._units.units) if self._position(n) in clock.positions]
            if clock.limit != NONE:
                self._bound(inside, inside, clock.limit)

    def _bound(self, earlier: Sequence[int], later: Sequence[int], limit: int) -> None:
        for u in earlier:
            for v in later:
                self.most[u, v] = min(self.most[u, v], limit)

    def _close(self) -> None:
        """The shortest way from each unit to each other (Floyd and Warshall), saturated."""
        for middle in range(len(self._units)):
            first, second = self.most[:, middle, np.newaxis], self.most[np.newaxis, middle]
            self.most = np.minimum(self.most, np.minimum(first, AFTER_ALL - second) + second)

    def _reach(self, unit: int) -> int:
        own = int(self.most[unit].max())
        if not self._units.units[unit].repeated:
            return own
        limits = [c.limit for c in self._plan.clocks if c.limit != NONE and self._position(unit) in c.positions]
        since = [min(limit + own, AFTER_ALL) for limit in limits]
        since += [int(self.most[other].max()) for other in np.flatnonzero(self._units.before[:, unit]).tolist()]
        return max(own, min(since, default=AFTER_ALL))

    def _position(self, unit: int) -> int:
        return self._units.steps[self._units.units[unit].step].position
