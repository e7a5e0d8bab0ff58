"""Reading whole matches off the rows of runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.chains.walk import visits
from automata.matches.match_table import MatchTable
from automata.values import NONE, Ids, Match

_FACTS = (col.FIRST, col.HIGH, col.FIRST_TIME, col.HIGH_TIME, col.PARTITION)
_STEP = (col.SYMBOL, col.POSITION, col.SOLUTION)


class Reader:
    """Turns rows into matches."""

    def __init__(self, chains: ChainStore) -> None:
        self._chains = chains

    def read(self, rows: Ids) -> list[Match]:
        """One match for each row that a match ends at."""
        return list(self.table(rows))

    def table(self, rows: Ids) -> MatchTable:
        """The same as columns."""
        runs = self._chains.runs
        which, entries = self._entries(rows)
        sizes = np.bincount(which, minlength=len(rows))
        facts = runs.table[rows[:, np.newaxis], _FACTS]
        return MatchTable(facts, runs.registers(rows), self._outputs(rows), entries, np.cumsum(sizes))

    def _outputs(self, rows: Ids) -> NDArray[np.int64]:
        references, iterations = self._chains.plan.program.outputs, self._chains.iterations
        if not references:
            return np.zeros((len(rows), 0), dtype=np.int64)
        columns = iterations.columns(references, iterations.arrived(rows))
        return np.column_stack([columns[reference] for reference in references])

    def _entries(self, rows: Ids) -> tuple[Ids, NDArray[np.int64]]:
        """Of every step of each run whose it is, by index, and its symbol, position and solution.

        By run, position and symbol; all chains are followed at once, step by step.
        """
        parts = [np.zeros((0, 4), dtype=np.int64)]
        for visit in visits(self._chains.runs, rows):
            here = self._chains.runs.table[visit.rows[:, np.newaxis], _STEP]
            taken = here[:, 0] != NONE
            parts.append(np.column_stack((visit.which, here))[taken])
        found = np.concatenate(parts)
        which, symbols, positions, solutions = found.T
        ordered = found[np.lexsort((solutions, symbols, positions, which))]
        return ordered[:, 0], ordered[:, 1:]
