"""Matches that a trailing negation may still remove, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arrays.times import AFTER_ALL
from automata.values import Ids, Mask


def _none() -> Ids:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class PendingMatches:
    """rows        the last row of each match
    accepts     the accept at which it ended
    deadlines   the last time (or rank) in its window
    limits      the last time that its negations look at, for their limits; AFTER_ALL: they have none
    """

    rows: Ids = field(default_factory=_none)
    accepts: Ids = field(default_factory=_none)
    deadlines: Ids = field(default_factory=_none)
    limits: Ids = field(default_factory=_none)
    _earliest: int | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def earliest(self, after: int) -> int:
        """The first time at which a window, so long after its deadline, or a limit decides one; AFTER_ALL of none."""
        if self._earliest is None:
            self._earliest = int(self.decided(after).min(initial=AFTER_ALL))
        return self._earliest

    def decided(self, after: int) -> Ids:
        """The time at which each is decided: by its window, so long after its deadline, or sooner by its limit."""
        times: Ids = np.minimum(np.minimum(self.deadlines, AFTER_ALL - after) + after, self.limits)
        return times

    def add(self, rows: Ids, accept: int, deadlines: Ids, limits: Ids) -> None:
        """More matches that ended at one accept."""
        self._earliest = None
        self.rows = np.concatenate((self.rows, rows))
        self.accepts = np.concatenate((self.accepts, np.full_like(rows, accept)))
        self.deadlines = np.concatenate((self.deadlines, deadlines))
        self.limits = np.concatenate((self.limits, limits))

    def pop(self, over: Mask) -> PendingMatches:
        """Takes out those of the mask."""
        taken, left = self._take(over), self._take(~over)
        self.rows, self.accepts, self.deadlines, self.limits = left.rows, left.accepts, left.deadlines, left.limits
        self._earliest = None
        return taken

    def _take(self, which: Mask) -> PendingMatches:
        return PendingMatches(self.rows[which], self.accepts[which], self.deadlines[which], self.limits[which])
