"""Walking back over whole matches: the chains of many runs at once, one row of each at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arrays.wanted import check_wanted
from automata.chains import columns as col
from automata.chains.table import Runs
from automata.values import NONE, Ids


@dataclass(frozen=True, slots=True)
class Visit:
    """Rows that some of the runs have gone through; a run inside an ALL may be in several places at once.

    which       whose they are, by index
    rows        the rows
    closing     on a row that opened an ALL: the row of that ALL; else NONE
    """

    which: Ids
    rows: Ids
    closing: Ids


def visits(runs: Runs, rows: Ids, stop: Ids | None = None) -> Iterator[Visit]:
    """Every row of the runs that stand at `rows`, those of the members of an ALL included; newest first.

    stop    for each run the row to stop before; None: its beginning
    """
    nothing = np.full(len(rows), NONE, dtype=np.int64)
    stop = nothing if stop is None else stop
    if not runs.layout.members:
        yield from _along_chains(runs, rows, stop)
        return
    which, row, closing = np.arange(len(rows), dtype=np.int64), rows, nothing
    members = [runs.layout.member(member) for member in range(runs.layout.members)]
    while len(row):
        check_wanted()
        yield Visit(which, row, closing)
        here = runs.table[row]
        inner = here[:, members]
        joins = (inner != NONE).any(axis=1)
        parts = [(which, here[:, col.PARENT], stop, np.where(joins, row, NONE))]
        parts += [(which[joins], column[joins], here[joins, col.PARENT], nothing[: joins.sum()]) for column in inner.T]
        which, row, stop, closing = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        keep = (row != NONE) & (row != stop)
        which, row, stop, closing = which[keep], row[keep], stop[keep], closing[keep]


def _along_chains(runs: Runs, rows: Ids, stop: Ids) -> Iterator[Visit]:
    """`visits` of runs that have no ALL: each is in one place."""
    which, row = np.arange(len(rows), dtype=np.int64), rows
    while len(row):
        check_wanted()
        yield Visit(which, row, np.full(len(row), NONE, dtype=np.int64))
        row = runs.column(row, col.PARENT)
        keep = (row != NONE) & (row != stop)
        if not keep.all():
            which, row, stop = which[keep], row[keep], stop[keep]
