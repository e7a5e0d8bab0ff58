"""Runs that have just taken an edge, before they are rows: most of them go on or are done for in the same slice.

They are looked at as rows are (`RunView`), by their place among those that took the edge together; a column is made
when it is asked for, from the step and from the row that took it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from automata.chains.table import (
    CLOSED,
    FIRST,
    FIRST_RANK,
    FIRST_TIME,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    LOW,
    LOW_STREAM,
    LOW_TIME,
    PARTITION,
    RANK,
    SEQ,
    SLOT,
    TAIL,
    WINDOW,
    Runs,
)  # fmt: skip
from automata.plan.automaton import START, Crossing, Edge
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import Ids

STEP_COLUMNS = {
    LOW_TIME: "times", HIGH_TIME: "times", LOW_STREAM: "streams", HIGH_STREAM: "streams", LOW: "low", HIGH: "high",
    SLOT: "slots", SEQ: "seq_high", TAIL: "tails", RANK: "rank_high",
}  # fmt: skip
"""Columns of runs that a step sets, and where its table has them."""
FIRST_COLUMNS = {
    FIRST_TIME: "times", FIRST: "low", FIRST_RANK: "rank_low", WINDOW: "windows", PARTITION: "partitions",
}  # fmt: skip
"""Those that the first step of a run sets."""


class RunView(Protocol):
    """Runs that an event may extend, by number."""

    @property
    def written(self) -> Runs:
        """The rows that theirs point at."""

    @property
    def begun(self) -> StepTable | None:
        """The table whose rows have begun one of them each, in this order; None: that is not so."""

    def column(self, rows: Ids, column: int) -> Ids:
        """One column of these."""

    def registers(self, rows: Ids) -> NDArray[np.int64]:
        """int64[rows, variables]."""

    def register(self, rows: Ids, variable: int) -> Ids:
        """One column of `registers`."""

    def close(self, rows: Ids, bit: int) -> None:
        """An edge has been taken under skip-till-next."""


class Merging(Protocol):
    """What becomes of the values of variables as runs take edges; see `automata.chains.bindings.Bindings`."""

    def registers(self, runs: RunView, number: int, table: StepTable, pairs: Pairs) -> NDArray[np.int64]:
        """int64[pairs, variables]: the values once the edge has been taken."""

    def register(self, runs: RunView, number: int, table: StepTable, pairs: Pairs, variable: int) -> Ids:
        """One column of `registers`."""


class DeferredRuns:
    """The runs of `pairs`, which took the same edge; those that they extend are rows, and begun but at START."""

    def __init__(self, runs: Runs, number: int, edge: Edge, pairs: Pairs, table: StepTable, merging: Merging) -> None:
        self.number = number
        self.pairs = pairs
        self.table = table
        self.closed: Ids = np.zeros(len(pairs), dtype=np.int64)
        self.written = runs
        self._merging = merging
        self._crossed = crossed(edge, runs, pairs.rows)
        self._begins = edge.source == START
        # START has one run, which takes no row of a table twice
        self.begun = table if edge.source == START and len(pairs) == len(table) else None

    def __len__(self) -> int:
        return len(self.pairs)

    def column(self, rows: Ids, column: int) -> Ids:
        """See `RunView`."""
        steps = self.pairs.steps[rows]
        if column == CLOSED:
            return self.closed[rows]
        if column in STEP_COLUMNS:
            own: Ids = getattr(self.table, STEP_COLUMNS[column])[steps]
            return own
        if self._begins and column in FIRST_COLUMNS:
            first: Ids = getattr(self.table, FIRST_COLUMNS[column])[steps]
            return first
        if column in self._crossed:
            return self._crossed[column][rows]
        return self.written.column(self.pairs.rows[rows], column)

    def registers(self, rows: Ids) -> NDArray[np.int64]:
        """See `RunView`."""
        return self._merging.registers(self.written, self.number, self.table, self.pairs.take(rows))

    def register(self, rows: Ids, variable: int) -> Ids:
        """See `RunView`."""
        return self._merging.register(self.written, self.number, self.table, self.pairs.take(rows), variable)

    def close(self, rows: Ids, bit: int) -> None:
        """See `RunView`."""
        self.closed[rows] |= bit


def crossed(edge: Edge, runs: Runs, sources: Ids) -> dict[int, Ids]:
    """The columns of repetitions that rows change as they take an edge, and their values."""
    columns: dict[int, Ids] = {}
    layout = runs.layout

    def now(column: int) -> Ids:
        return columns[column] if column in columns else runs.column(sources, column)

    for action in edge.actions:
        if action.crossing is Crossing.LOOP:
            columns[layout.count(action.repetition)] = now(layout.count(action.repetition)) + 1
    for repetition, begun in edge.entries():
        columns[layout.count(repetition)] = np.ones(len(sources), dtype=np.int64)
        columns[layout.entry(repetition)] = sources if begun is None else now(layout.entry(begun))
    return columns
