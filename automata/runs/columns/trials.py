"""The causes for which solutions that runs have tried do not extend them, told for many of both at once."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from arrays.columns import expand
from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.clocks import deadlines
from automata.chains.store import ChainStore
from automata.plan.automaton import START
from automata.plan.expression import Contiguity
from automata.slices.pairs import Pairs, follows
from automata.slices.step_table import StepTable, blocks
from automata.slices.timeline import deadline
from automata.values import NONE, Ids, Mask


class Cause(IntEnum):
    """The causes, in the order in which they are looked for; END: nothing was tried before the streams ended."""

    JOIN = 0
    CONDITION = 1
    LIMIT = 2
    WINDOW = 3
    CONTIGUITY = 4
    ITERATIONS = 5
    END = 6


class Trials:
    """The trials of the runs of one plan at its edges.

    counts  by edge, how many runs it has lost by each cause
    """

    def __init__(self, chains: ChainStore) -> None:
        self._chains, self._plan = chains, chains.plan
        self.counts = [[0] * len(Cause) for _ in self._plan.edges]

    def outside(self, number: int, rows: Ids, table: StepTable) -> Ids:
        """Of each run the first row of a table that its window or limit keeps out; as many as there are: none."""
        places = table.rank_low if self._plan.program.window.in_events else table.times
        first = np.searchsorted(places, self._window_end(rows), "right")
        limit = deadlines(self._chains.runs, self._plan.edges[number], rows)
        if limit is not None:
            first = np.minimum(first, np.searchsorted(table.times, limit, "right"))
        return first

    def count(self, number: int, rows: Ids, table: StepTable, begin: Ids, end: Ids) -> Ids:
        """Counts runs by the last solution that is tried of a range for each; returns the runs that try none."""
        found = np.zeros(len(rows), dtype=np.bool_)
        counts = np.maximum(end - begin, 0)
        for block in blocks(counts):
            which, within = expand(counts[block])
            which += block.start
            pairs = Pairs(rows[which], begin[which] + within)
            tries = self._is_tried(number, table, pairs)
            found[which[tries]] = True
            self._count_last(number, table, pairs.take(tries))
        return rows[~found]

    def count_at_start(self, number: int, row: int, table: StepTable) -> None:
        """Counts the run without an event, which tries everything."""
        pairs = Pairs(np.full(len(table), row, dtype=np.int64), np.arange(len(table), dtype=np.int64))
        self._count_last(number, table, pairs)

    def _window_end(self, rows: Ids) -> Ids:
        """The last time, or rank, in the windows of runs."""
        columns = (self._chains.runs.column(rows, column) for column in (col.FIRST_TIME, col.FIRST_RANK, col.WINDOW))
        last: Ids = deadline(self._plan.program.window, *columns)
        return last

    def _is_tried(self, number: int, table: StepTable, pairs: Pairs) -> Mask:
        """A mask of the pairs whose solution comes after the run; under `,` right after it."""
        columns = (self._chains.runs.column(pairs.rows, c) for c in (col.HIGH_TIME, col.HIGH_STREAM, col.HIGH))
        tries = follows(table, pairs.steps, *columns)
        if self._plan.edges[number].operator is Contiguity.STRICT:
            tries &= self._chains.extender.adjacent(self._chains.runs, number, table, pairs)
            tries &= table.partitions[pairs.steps] == self._chains.runs.column(pairs.rows, col.PARTITION)
        return tries

    def _count_last(self, number: int, table: StepTable, pairs: Pairs) -> None:
        """Counts runs by the causes of their last events; of several solutions of one by that of the furthest."""
        rows, which = np.unique(pairs.rows, return_inverse=True)
        low, which = table.low[pairs.steps], which.ravel()
        last = np.full(len(rows), NONE, dtype=np.int64)
        np.maximum.at(last, which, low)
        is_last = low == last[which]
        furthest = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(furthest, which[is_last], self._causes(number, table, pairs.take(is_last)))
        for cause, count in enumerate(np.bincount(furthest, minlength=len(Cause)).tolist()):
            self.counts[number][cause] += count

    def _causes(self, number: int, table: StepTable, pairs: Pairs) -> Ids:
        """The cause of each pair."""
        runs, edge = self._chains.runs, self._plan.edges[number]
        causes = np.full(len(pairs), Cause.JOIN, dtype=np.int64)
        fitting = bindings.fits(runs, edge, table, pairs)
        if edge.source != START:
            fitting &= table.partitions[pairs.steps] == runs.column(pairs.rows, col.PARTITION)
        left = np.flatnonzero(fitting)
        causes[left] = Cause.CONDITION
        left = left[self._chains.conditions.admitted(number, table, pairs.take(left))]
        causes[left] = Cause.CONTIGUITY
        if edge.source != START:
            causes[left] = self._bounds(number, table, pairs.take(left))
        return causes

    def _bounds(self, number: int, table: StepTable, pairs: Pairs) -> Ids:
        """The causes of pairs for which all conditions hold."""
        causes = np.full(len(pairs), Cause.CONTIGUITY, dtype=np.int64)
        places = table.rank_low if self._plan.program.window.in_events else table.times
        causes[places[pairs.steps] > self._window_end(pairs.rows)] = Cause.WINDOW
        limit = deadlines(self._chains.runs, self._plan.edges[number], pairs.rows)
        if limit is not None:
            causes[table.times[pairs.steps] > limit] = Cause.LIMIT
        return causes
