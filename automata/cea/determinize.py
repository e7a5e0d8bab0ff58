"""I/O-determinisation on the fly (C Section 4.4): cells and moves get numbers when they are first needed."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from automata.cea.configurations import FINAL
from automata.cea.machine import NOWHERE, START, UNKNOWN, Moves
from automata.cea.strategies import Strategy
from automata.values import Ids

MOVES_MAX = 1 << 18
"""(cell, bit vector) pairs remembered from one slice to the next, besides the cells that runs are in."""
_FIRST_CELLS, _FIRST_VECTORS, _FIRST_MOVES = 16, 8, 64


class Determinised:
    """The determinised automaton of a strategy, as far as it has been needed; `moves` are its arrays.

    Cell START and bit vector GAP always exist; `moves` is replaced when it grows.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._vectors: list[int] = [0]
        self._vector_numbers: dict[int, int] = {0: 0}
        self._cells: list[Hashable] = [None]
        self._numbers: dict[Hashable, int] = {}
        self._used = 0
        self._moves_max = MOVES_MAX
        self.moves = _blank(_FIRST_CELLS, _FIRST_VECTORS)

    def number_of(self, bits: int) -> int:
        """The number of the bit vector with these symbols."""
        if bits not in self._vector_numbers:
            self._vector_numbers[bits] = len(self._vectors)
            self._vectors.append(bits)
            if len(self._vectors) > self.moves.first.shape[1]:
                self._widen(len(self.moves.alive), 2 * len(self._vectors))
        return self._vector_numbers[bits]

    def determine(self, cell: int, vector: int) -> None:
        """Fills in the moves of a cell under a bit vector, both by number."""
        bits = self._vectors[vector]
        skipped: Hashable | None = None
        if cell == START:
            marked = self._strategy.begin(bits)
        else:
            skipped, marked = self._strategy.step(self._cells[cell], bits)
        skip = NOWHERE if skipped is None else self._number(skipped)
        pairs = [((bits & ((1 << symbol) - 1)).bit_count(), self._number(target)) for symbol, target in marked.items()]
        first = self._write(pairs)
        moves = self.moves
        moves.skip[cell, vector], moves.first[cell, vector] = skip, first
        still = cell == START or skip == cell
        moves.effort[cell, vector] = 0 if still and not pairs else 1 + len(pairs)

    def crowded(self) -> bool:
        """True if more moves are remembered than should be kept."""
        return len(self._cells) * len(self._vectors) > self._moves_max

    def forget_all_but(self, wanted: Ids) -> Ids:
        """Drops every move and bit vector, and every cell but these; returns cell → its new number, NOWHERE: none."""
        kept = [cell for cell in np.unique(wanted).tolist() if cell != START]
        numbers = np.full(len(self._cells), NOWHERE, dtype=np.int64)
        cells = [self._cells[cell] for cell in kept]
        self._cells, self._numbers, self._used = [None], {}, 0
        self._vectors, self._vector_numbers = [0], {0: 0}
        self._moves_max = max(MOVES_MAX, 2 * len(cells))
        self.moves = _blank(max(_FIRST_CELLS, 2 * len(cells)), _FIRST_VECTORS)
        for old, cell in zip(kept, cells, strict=True):
            numbers[old] = self._number(cell)
        return numbers

    def _number(self, cell: Hashable) -> int:
        if cell not in self._numbers:
            number = self._numbers[cell] = len(self._cells)
            self._cells.append(cell)
            if number == len(self.moves.alive):
                self._widen(2 * number, self.moves.first.shape[1])
            states = self._strategy.states(cell)
            self.moves.accepting[number] = FINAL in states
            self.moves.alive[number] = bool(states - {FINAL})
        return self._numbers[cell]

    def _write(self, pairs: list[tuple[int, int]]) -> int:
        """Appends marking moves; returns where they begin."""
        first, last = self._used, self._used + len(pairs)
        if last >= len(self.moves.labels):
            room = np.zeros(len(self.moves.labels) + len(pairs) + 1, dtype=np.int64)
            labels, targets = (np.concatenate((column, room)) for column in (self.moves.labels, self.moves.targets))
            self.moves = self.moves._replace(labels=labels, targets=targets)
        for number, (label, target) in enumerate(sorted(pairs), first):
            self.moves.labels[number], self.moves.targets[number] = label, target
        self.moves.labels[last] = -1
        self._used = last + 1
        return first

    def _widen(self, cells: int, vectors: int) -> None:
        old, new = self.moves, _blank(cells, vectors)
        rows, columns = old.first.shape
        for name in ("skip", "first", "effort"):
            getattr(new, name)[:rows, :columns] = getattr(old, name)
        new.accepting[:rows], new.alive[:rows] = old.accepting, old.alive
        self.moves = new._replace(labels=old.labels, targets=old.targets)


def _blank(cells: int, vectors: int) -> Moves:
    columns = [np.zeros(_FIRST_MOVES, dtype=np.int64) for _ in range(2)]
    flags = [np.zeros(cells, dtype=np.int64) for _ in range(2)]
    skip, first = (np.full((cells, vectors), value, dtype=np.int64) for value in (NOWHERE, UNKNOWN))
    return Moves(skip, first, np.zeros((cells, vectors), dtype=np.int64), *columns, *flags)
