"""When tECS nodes were made, so that those made before the window began can be given up (C Section 4.4)."""

from __future__ import annotations

import numpy as np

from automata.cea.arrays import Letters
from automata.cea.tecs import HEAD, TAIL, Arena
from automata.program import Ids

_STRIDE = 64
"""Letters of a finished stretch of which only the last one is remembered."""


class Passing:
    """The starts of letters, which never fall, and up to which number nodes had been made after each."""

    def __init__(self) -> None:
        self._starts: Ids = np.zeros(0, dtype=np.int64)
        self._heads: Ids = self._starts

    def note(self, letters: Letters) -> None:
        """A stretch has been worked off."""
        last = len(letters.starts) - 1
        some = np.append(np.arange(_STRIDE - 1, last, _STRIDE), last)
        self._starts = np.concatenate((self._starts, letters.starts[some]))
        self._heads = np.concatenate((self._heads, letters.heads[some]))

    def give_up(self, arena: Arena, low: int) -> None:
        """Gives up the nodes that were made before `low`, as far as is known from finished stretches."""
        count = int(np.searchsorted(self._starts, low))
        if count:
            arena.marks[TAIL] = self._heads[count - 1]
            self._starts, self._heads = self._starts[count:], self._heads[count:]

    def make_room(self, arena: Arena, letters: Letters, worked_off: int) -> bool:
        """Gives up what is out of the window of letter `worked_off`; whether that is at least half of the arena.

        letters     of a stretch that has been worked off up to there
        """
        low = int(letters.lows[worked_off])
        self.give_up(arena, low)
        count = int(np.searchsorted(letters.starts[:worked_off], low))
        if count:
            arena.marks[TAIL] = letters.heads[count - 1]
        return bool(2 * (arena.marks[HEAD] - arena.marks[TAIL]) <= len(arena.nodes))
