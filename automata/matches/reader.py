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
    sizes, entries = _entries(runs, rows)
    facts = runs.table[rows[:, np.newaxis], _FACTS]
    return MatchTable(facts, runs.registers(rows), _outputs(chains, rows), entries, np.cumsum(sizes))


def read_entries(runs: Runs, rows: Ids) -> list[tuple[tuple[int, int, int], ...]]:
    """The steps of each run, as `Match.entries`."""
    sizes, entries = _entries(runs, rows)
    ends = np.cumsum(sizes).tolist()
    found = [(symbol, position, solution) for symbol, position, solution in entries.tolist()]
    return [tuple(found[begin:end]) for begin, end in pairwise([0, *ends])]


def _outputs(chains: ChainStore, rows: Ids) -> NDArray[np.int64]:
    references, iterations = chains.plan.program.outputs, chains.iterations
    if not references:
        return np.zeros((len(rows), 0), dtype=np.int64)
    columns = iterations.columns(references, iterations.arrived(rows))
    return np.column_stack([columns[reference] for reference in references])


def _entries(runs: Runs, rows: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """The number of steps of each run, and of every step its symbol, position and solution.

    By run, position and symbol; all chains are followed at once, step by step, newest first.
    """
    parts = [(np.zeros(0, dtype=np.int64), np.zeros((0, len(_STEP)), dtype=np.int64))]
    for visit in visits(runs, rows):
        here = runs.table[visit.rows[:, np.newaxis], _STEP]
        taken = here[:, 0] != NONE
        parts.append((visit.which, here) if taken.all() else (visit.which[taken], here[taken]))
    sizes = np.bincount(np.concatenate([which for which, _ in parts]), minlength=len(rows))
    if not runs.layout.members:
        found = _put_backwards(parts, sizes)
        if _ascend(found[:, 1], np.cumsum(sizes)):
            return sizes, found
    found = np.concatenate([step for _, step in parts])
    which = np.concatenate([which for which, _ in parts])
    symbols, positions, solutions = found.T
    return sizes, found[np.lexsort((solutions, symbols, positions, which))]


def _put_backwards(parts: list[tuple[Ids, NDArray[np.int64]]], sizes: Ids) -> NDArray[np.int64]:
    """The steps of each run together, the last parts first; a part has one step of a run at most."""
    found = np.empty((int(sizes.sum()), len(_STEP)), dtype=np.int64)
    at = np.cumsum(sizes)
    for which, step in parts:
        at[which] -= 1
        found[at[which]] = step
    return found


def _ascend(positions: Ids, ends: Ids) -> bool:
    """True if positions ascend up to each of the ends."""
    later = positions[1:] > positions[:-1]
    later[ends[:-1] - 1] = True
    return bool(later.all())
