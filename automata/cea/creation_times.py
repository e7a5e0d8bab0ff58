"""The moments at which tECS nodes were created: nodes older than the window are given up (C Section 4.4)."""

from __future__ import annotations

import numpy as np

from automata.cea.machine import BitVectors
from automata.cea.tecs import HEAD, TAIL, Arena
from automata.values import Ids

_STRIDE = 64
"""Bit vectors of a finished slice of which only the last one is remembered."""


class CreationTimes:
    """The starts of bit vectors, which never fall, and the number of the next node after each."""

    def __init__(self) -> None:
        self._starts: Ids = np.zeros(0, dtype=np.int64)
        self._heads: Ids = self._starts

    def note(self, vectors: BitVectors) -> None:
        """Adds the bit vectors of a slice, all consumed."""
        last = len(vectors.starts) - 1
        some = np.append(np.arange(_STRIDE - 1, last, _STRIDE), last)
        self._starts = np.concatenate((self._starts, vectors.starts[some]))
        self._heads = np.concatenate((self._heads, vectors.heads[some]))

    def give_up(self, arena: Arena, low: int) -> None:
        """Gives up the nodes created before `low`, as far as finished slices tell."""
        count = int(np.searchsorted(self._starts, low))
        if count:
            arena.marks[TAIL] = self._heads[count - 1]
            self._starts, self._heads = self._starts[count:], self._heads[count:]

    def make_room(self, arena: Arena, vectors: BitVectors, consumed: int) -> bool:
        """Gives up the nodes out of the window of bit vector `consumed`; returns whether half of the arena is free.

        vectors     of a slice that is consumed up to there
        """
        low = int(vectors.lows[consumed])
        self.give_up(arena, low)
        count = int(np.searchsorted(vectors.starts[:consumed], low))
        if count:
            arena.marks[TAIL] = vectors.heads[count - 1]
        return bool(2 * (arena.marks[HEAD] - arena.marks[TAIL]) <= len(arena.nodes))
