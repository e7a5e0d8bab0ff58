"""Matches that a trailing negation may still remove, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automata.values import Ids, Mask


def _none() -> Ids:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class PendingMatches:
    """rows        the last row of each match
    accepts     the accept at which it ended
    deadlines   the last time (or rank) at which it may be removed
    """

    rows: Ids = field(default_factory=_none)
    accepts: Ids = field(default_factory=_none)
    deadlines: Ids = field(default_factory=_none)
    _earliest: int | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def earliest(self) -> int | None:
        """The first deadline, if there is one."""
        if self._earliest is None and len(self):
            self._earliest = int(self.deadlines.min())
        return self._earliest

    def add(self, rows: Ids, accept: int, deadlines: Ids) -> None:
        """More matches that ended at one accept."""
        self._earliest = None
        self.rows = np.concatenate((self.rows, rows))
        self.accepts = np.concatenate((self.accepts, np.full_like(rows, accept)))
        self.deadlines = np.concatenate((self.deadlines, deadlines))

    def pop(self, over: Mask) -> PendingMatches:
        """Takes out those of the mask."""
        taken = PendingMatches(self.rows[over], self.accepts[over], self.deadlines[over])
        self.rows, self.accepts, self.deadlines = self.rows[~over], self.accepts[~over], self.deadlines[~over]
        self._earliest = None
        return taken
