"""When tECS nodes were made, so that those made before the window began can be given up (C Section 4.4)."""

from __future__ import annotations

import numpy as np

from automata.cea.arrays import BitVectors
from automata.cea.tecs import HEAD, TAIL, Arena
from automata.values import Ids

_STRIDE = 64
"""Letters of a finished slice of which only the last one is remembered."""


class CreationTimes:
    """The starts of letters, which never fall, and up to which number nodes had been made after each."""

    def __init__(self) -> None:
        self._starts: Ids = np.zeros(0, dtype=np.int64)
        self._heads: Ids = self._starts

    def note(self, bit_vectors: BitVectors) -> None:
        """A slice has been worked off."""
        last = len(bit_vectors.starts) - 1
        some = np.append(np.arange(_STRIDE - 1, last, _STRIDE), last)
        self._starts = np.concatenate((self._starts, bit_vectors.starts[some]))
        self._heads = np.concatenate((self._heads, bit_vectors.heads[some]))

    def give_up(self, arena: Arena, low: int) -> None:
        """Gives up the nodes that were made before `low`, as far as is known from finished slices."""
        count = int(np.searchsorted(self._starts, low))
        if count:
            arena.marks[TAIL] = self._heads[count - 1]
            self._starts, self._heads = self._starts[count:], self._heads[count:]

    def make_room(self, arena: Arena, bit_vectors: BitVectors, worked_off: int) -> bool:
        """Gives up what is out of the window of letter `worked_off`; whether that is at least half of the arena.

        letters     of a slice that has been worked off up to there
        """
        low = int(bit_vectors.lows[worked_off])
        self.give_up(arena, low)
        count = int(np.searchsorted(bit_vectors.starts[:worked_off], low))
        if count:
            arena.marks[TAIL] = bit_vectors.heads[count - 1]
        return bool(2 * (arena.marks[HEAD] - arena.marks[TAIL]) <= len(arena.nodes))
