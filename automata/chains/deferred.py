"""Runs that have just taken an edge, before they are rows: most of them go on or are done for in the same slice.

They are seen as rows are (`RunView`), by their place among those that took the edge together; a column is made when it
is read, from the step and from the row that took it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.clocks import set_clocks
from automata.chains.table import Runs
from automata.plan.automaton import START
from automata.plan.plan import PlannedEdge
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids


class DeferredRuns:
    """The runs of `pairs`, which took the same edge; those that they extend are rows, and begun but at START."""

    def __init__(self, runs: Runs, number: int, edge: PlannedEdge, pairs: Pairs, table: StepTable) -> None:
        self.number = number
        self.pairs = pairs
        self.table = table
        self.closed = {column: np.zeros(len(pairs), dtype=np.int64) for column in runs.layout.closed}
        self.written = runs
        self._edge = edge
        self._crossed = crossed(edge, runs, pairs.rows)
        self._crossed |= set_clocks(runs, edge, pairs.rows, table.times[pairs.steps])
        # START has one run, which takes no row of a table twice
        self.begun = table if edge.source == START and len(pairs) == len(table) else None

    def __len__(self) -> int:
        return len(self.pairs)

    def column(self, rows: Ids, column: int) -> Ids:
        """See `RunView`."""
        steps = self.pairs.steps[rows]
        if column in self.closed:
            return self.closed[column][rows]
        if column in col.STEP_COLUMNS:
            own: Ids = getattr(self.table, col.STEP_COLUMNS[column])[steps]
            return own
        if self._edge.source == START and column in col.FIRST_COLUMNS:
            first: Ids = getattr(self.table, col.FIRST_COLUMNS[column])[steps]
            return first
        if column in self._crossed:
            return self._crossed[column][rows]
        return self.written.column(self.pairs.rows[rows], column)

    def registers(self, rows: Ids) -> NDArray[np.int64]:
        """See `RunView`."""
        return bindings.bound(self.written, self._edge, self.table, self.pairs.take(rows))

    def register(self, rows: Ids, variable: int) -> Ids:
        """See `RunView`."""
        return bindings.bound_variable(self.written, self._edge, self.table, self.pairs.take(rows), variable)

    def close(self, rows: Ids, place: int) -> None:
        """See `RunView`."""
        column, bit = self.written.layout.closed_at(place)
        self.closed[column][rows] |= bit


def crossed(edge: PlannedEdge, runs: Runs, sources: Ids) -> dict[int, Ids]:
    """The columns of repetitions that rows change as they take an edge, and their values."""
    columns: dict[int, Ids] = {}
    layout, entries = runs.layout, sources
    if edge.loop != NONE:
        count = layout.count(edge.loop)
        columns[count] = runs.column(sources, count) + 1
        entries = runs.column(sources, layout.entry(edge.loop))
        if edge.loop in layout.possessive:
            columns[layout.begun(edge.loop)] = sources
    for repetition in edge.enters:
        columns[layout.count(repetition)] = np.ones(len(sources), dtype=np.int64)
        columns[layout.entry(repetition)] = entries
        if repetition in layout.possessive:
            columns[layout.begun(repetition)] = np.full(len(sources), NONE, dtype=np.int64)
    return columns
