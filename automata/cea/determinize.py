"""I/O-determinisation on the fly (C Section 4.4): cells and moves get numbers when they are first needed."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from automata.cea.arrays import NOWHERE, START, UNKNOWN, Moves
from automata.cea.configurations import FINAL
from automata.cea.strategies import Strategy
from automata.values import Ids

MOVES_MAX = 1 << 18
"""(cell, letter) pairs remembered from one slice to the next, but for the cells that runs are in."""
_FIRST_CELLS, _FIRST_LETTERS, _FIRST_MOVES = 16, 8, 64


class Determinised:
    """The determinised automaton of a strategy, as far as it has been needed; `moves` are its arrays.

    Cell START and letter GAP are there from the beginning; `moves` is another object after each change.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._letters: list[int] = [0]
        self._letter_numbers: dict[int, int] = {0: 0}
        self._cells: list[Hashable] = [None]
        self._numbers: dict[Hashable, int] = {}
        self._used = 0
        self._moves_max = MOVES_MAX
        self.moves = _blank(_FIRST_CELLS, _FIRST_LETTERS)

    def letter(self, bits: int) -> int:
        """The number of the letter with these symbols."""
        if bits not in self._letter_numbers:
            self._letter_numbers[bits] = len(self._letters)
            self._letters.append(bits)
            if len(self._letters) > self.moves.first.shape[1]:
                self._widen(len(self.moves.alive), 2 * len(self._letters))
        return self._letter_numbers[bits]

    def determine(self, cell: int, letter: int) -> None:
        """Fills in the moves of a cell under a letter."""
        bits = self._letters[letter]
        skipped: Hashable | None = None
        if cell == START:
            marked = self._strategy.begin(bits)
        else:
            skipped, marked = self._strategy.step(self._cells[cell], bits)
        skip = NOWHERE if skipped is None else self._number(skipped)
        pairs = [(_rank(bits, symbol), self._number(target)) for symbol, target in marked.items()]
        first = self._write(pairs)
        moves = self.moves
        moves.skip[cell, letter], moves.first[cell, letter] = skip, first
        still = cell == START or skip == cell
        moves.effort[cell, letter] = 0 if still and not pairs else 1 + len(pairs)

    def crowded(self) -> bool:
        """Whether so much is remembered that what no run needs should go."""
        return len(self._cells) * len(self._letters) > self._moves_max

    def forget_all_but(self, wanted: Ids) -> Ids:
        """Forgets every move and letter, and every cell but these; returns cell → its new number, where it has one."""
        kept = [cell for cell in np.unique(wanted).tolist() if cell != START]
        numbers = np.full(len(self._cells), NOWHERE, dtype=np.int64)
        cells = [self._cells[cell] for cell in kept]
        self._cells, self._numbers, self._used = [None], {}, 0
        self._letters, self._letter_numbers = [0], {0: 0}
        self._moves_max = max(MOVES_MAX, 2 * len(cells))
        self.moves = _blank(max(_FIRST_CELLS, 2 * len(cells)), _FIRST_LETTERS)
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

    def _widen(self, cells: int, bit_vectors: int) -> None:
        old, new = self.moves, _blank(cells, bit_vectors)
        rows, columns = old.first.shape
        for name in ("skip", "first", "effort"):
            getattr(new, name)[:rows, :columns] = getattr(old, name)
        new.accepting[:rows], new.alive[:rows] = old.accepting, old.alive
        self.moves = new._replace(labels=old.labels, targets=old.targets)


def _rank(bits: int, symbol: int) -> int:
    """How many symbols of the letter come before this one."""
    return (bits & ((1 << symbol) - 1)).bit_count()


def _blank(cells: int, bit_vectors: int) -> Moves:
    columns = [np.zeros(_FIRST_MOVES, dtype=np.int64) for _ in range(2)]
    flags = [np.zeros(cells, dtype=np.int64) for _ in range(2)]
    skip, first = (np.full((cells, bit_vectors), value, dtype=np.int64) for value in (NOWHERE, UNKNOWN))
    return Moves(skip, first, np.zeros((cells, bit_vectors), dtype=np.int64), *columns, *flags)
