"""From complex events to matches: one match for each combination of solutions, with the values of the variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from arrays.columns import expand
from automata.cea.bit_vectors import COUNT, FIRST, POSITION, SUBSTREAM, SYMBOL, TIME
from automata.cea.core import CeaCore, ComplexEvents
from automata.matches import match_table as table
from automata.matches.match_table import MatchTable
from automata.plan.plan import Plan
from automata.values import UNBOUND, Ids

_WORDS_MAX = 1 << 10
"""Words whose binders are cached."""
Binders = dict[int, tuple[int, ...]]
"""variable → the steps that may bind it; the value of the last one that does counts."""


class MatchReader:
    """Reads the complex events of one core as matches."""

    def __init__(self, core: CeaCore, plan: Plan) -> None:
        self._core = core
        self._plan = plan
        self._binders = lru_cache(maxsize=_WORDS_MAX)(self._binders_of)

    def read(self, found: ComplexEvents) -> Iterator[MatchTable]:
        """The matches of some complex events, in no particular order."""
        for numbers in _by_length(found):
            entries = self._core.entries.take(numbers.ravel()).reshape(*numbers.shape, -1)
            symbols = entries[:, :, SYMBOL]
            if bool((symbols == symbols[0]).all()):
                yield self._matches(entries, tuple(symbols[0].tolist()))
                continue
            words, of = np.unique(symbols, axis=0, return_inverse=True)
            for number, word in enumerate(words.tolist()):
                yield self._matches(entries[of.ravel() == number], tuple(word))

    def _matches(self, entries: Ids, word: tuple[int, ...]) -> MatchTable:
        """The matches of complex events over one word of symbols; entries: int64[n, length, 7]."""
        entries, taken = self._combined(entries)
        solutions = [self._core.solutions.take(taken[:, step]) for step in range(len(word))]
        steps = np.empty((*entries.shape[:2], 3), dtype=np.int64)
        steps[:, :, table.SYMBOL], steps[:, :, table.POSITION] = entries[:, :, SYMBOL], entries[:, :, POSITION]
        for step, values in enumerate(solutions):
            steps[:, step, table.SOLUTION] = values[:, -1]
        ends, none = entries[:, [0, -1]], np.zeros((len(entries), 0), dtype=np.int64)
        facts = np.column_stack((ends[:, :, POSITION], ends[:, :, TIME], entries[:, 0, SUBSTREAM]))
        registers = self._registers(solutions, word)
        return MatchTable(facts, registers, none, steps.reshape(-1, 3), np.arange(1, len(steps) + 1) * len(word))

    @staticmethod
    def _combined(entries: Ids) -> tuple[Ids, Ids]:
        """The complex events, each as often as there are combinations of solutions, and int64[n, length]: those."""
        if bool((entries[:, :, COUNT] == 1).all()):
            return entries, entries[:, :, FIRST]
        which, within = expand(entries[:, :, COUNT].prod(axis=1))
        entries = entries[which]
        taken = np.empty(entries.shape[:2], dtype=np.int64)
        for step in range(entries.shape[1] - 1, -1, -1):
            count = entries[:, step, COUNT]
            taken[:, step] = entries[:, step, FIRST] + within % count
            within //= count
        return entries, taken

    def _registers(self, solutions: Sequence[Ids], word: tuple[int, ...]) -> Ids:
        registers = np.full((len(solutions[0]), self._plan.program.variables), UNBOUND, dtype=np.int64)
        for variable, steps in self._binders(word).items():
            for number, step in enumerate(sorted(steps)):
                new = self._core.layout.value(word[step], variable, solutions[step])
                registers[:, variable] = np.where(new == UNBOUND, registers[:, variable], new) if number else new
        return registers

    def _binders_of(self, word: tuple[int, ...]) -> Binders:
        """Follows the word through the automaton: a new iteration forgets the bindings of the one before."""
        binders: Binders = {}
        entered: dict[int, Binders] = {}
        for step, number in enumerate(self._core.configurations.path(word)):
            edge = self._plan.edges[number]
            for variable in edge.forgets:
                binders[variable] = entered[edge.loop].get(variable, ())
            for repetition in edge.enters:
                entered[repetition] = dict(binders)
            for variable in self._plan.positions[edge.target].scope:
                binders[variable] = (*binders.get(variable, ()), step)
        return binders


def _by_length(found: ComplexEvents) -> Iterator[Ids]:
    """int64[n, length]: the entries of complex events of one length, for each length."""
    if found.width:
        yield found.entries.reshape(-1, found.width)
        return
    for length in np.unique(found.lengths).tolist():
        begins = found.ends[found.lengths == length] - length
        yield found.entries[begins[:, np.newaxis] + np.arange(length)]
