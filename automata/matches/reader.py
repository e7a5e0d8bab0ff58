"""Reading whole matches off the rows of runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.chains.table import Runs
from automata.chains.walk import visits
from automata.matches.match_table import MatchTable
from automata.values import NONE, Ids

_FACTS = (col.FIRST, col.HIGH, col.FIRST_TIME, col.HIGH_TIME, col.PARTITION)
_STEP = (col.SYMBOL, col.POSITION, col.SOLUTION)


def read_matches(chains: ChainStore, rows: Ids) -> MatchTable:
    """One match for each row that a match ends at."""
    runs = chains.runs
    which, entries = _entries(runs, rows)
    sizes = np.bincount(which, minlength=len(rows))
    facts = runs.table[rows[:, np.newaxis], _FACTS]
    return MatchTable(facts, runs.registers(rows), _outputs(chains, rows), entries, np.cumsum(sizes))


def read_entries(runs: Runs, rows: Ids) -> list[tuple[tuple[int, int, int], ...]]:
    """The steps of each run, as `Match.entries`."""
    which, entries = _entries(runs, rows)
    ends = np.cumsum(np.bincount(which, minlength=len(rows))).tolist()
    found = [(symbol, position, solution) for symbol, position, solution in entries.tolist()]
    return [tuple(found[begin:end]) for begin, end in pairwise([0, *ends])]


def _outputs(chains: ChainStore, rows: Ids) -> NDArray[np.int64]:
    references, iterations = chains.plan.program.outputs, chains.iterations
    if not references:
        return np.zeros((len(rows), 0), dtype=np.int64)
    columns = iterations.columns(references, iterations.arrived(rows))
    return np.column_stack([columns[reference] for reference in references])


def _entries(runs: Runs, rows: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """Of every step of each run whose it is, by index, and its symbol, position and solution.

    By run, position and symbol; all chains are followed at once, step by step.
    """
    parts = [np.zeros((0, 4), dtype=np.int64)]
    for visit in visits(runs, rows):
        here = runs.table[visit.rows[:, np.newaxis], _STEP]
        taken = here[:, 0] != NONE
        parts.append(np.column_stack((visit.which, here))[taken])
    found = np.concatenate(parts)
    which, symbols, positions, solutions = found.T
    ordered = found[np.lexsort((solutions, symbols, positions, which))]
    return ordered[:, 0], ordered[:, 1:]
