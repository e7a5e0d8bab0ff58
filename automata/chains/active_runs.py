"""Active runs, indexed by (position, join key): an event meets only runs it may extend (G Section 7.1).

Rows are appended as they come and become part of sorted indexes, one per outgoing edge, when enough
of them have gathered; a lookup searches the indexes and takes the few unsorted rows as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automata.chains import columns as col
from automata.chains.extend import Extender
from automata.chains.table import Runs
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids, Mask

_UNSORTED_MAX = 512
"""Rows that may wait to be indexed, unless they are fewer than a quarter of the indexed ones."""
_SCAN_FACTOR = 4
"""With no more runs than this many times the events, looking at every run is the faster way."""


class ActiveRuns:
    """The runs at one position that an event may still extend."""

    def __init__(self, plan: Plan, position: int, runs: Runs, extender: Extender) -> None:
        self._edges = [(number, plan.edges[number]) for number in plan.positions[position].onward]
        self._runs = runs
        self._extender = extender
        self.rows: Ids = np.zeros(0, dtype=np.int64)
        self._indexed = 0
        self._indexes: dict[int, tuple[Ids, Ids]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Ids) -> None:
        """More runs."""
        self.rows = np.concatenate((self.rows, rows))

    def keep(self, mask: Mask) -> None:
        """Drops the runs that the mask does not name."""
        if not mask.all():
            self.replace(self.rows[mask])

    def replace(self, rows: Ids) -> None:
        """These runs and no others."""
        self.rows = rows
        self._indexed = 0
        self._indexes.clear()

    def lookup(self, tables: Mapping[int, StepTable]) -> Ids:
        """The runs that these events may extend, and perhaps some more."""
        reached = [
            (number, table)
            for number, edge in self._edges
            if (table := tables.get(edge.target)) is not None and len(table)
        ]
        events = sum(len(table) for _, table in reached)
        if not reached or not len(self.rows):
            return self.rows[:0]
        if len(self.rows) <= max(_UNSORTED_MAX, _SCAN_FACTOR * events):
            return self.rows
        self._sort()
        found = [self._search(number, table) for number, table in reached]
        return np.unique(np.concatenate((self.rows[self._indexed :], *found)))

    def _search(self, number: int, table: StepTable) -> Ids:
        if number not in self._indexes:
            return self.rows
        hashes, rows = self._indexes[number]
        keys = self._extender.index(number, table, True).keys
        begin, end = np.searchsorted(hashes, keys, "left"), np.searchsorted(hashes, keys, "right")
        return np.concatenate([rows[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)])

    def _sort(self) -> None:
        unsorted = len(self.rows) - self._indexed
        if unsorted <= max(_UNSORTED_MAX, self._indexed // 4):
            return
        fresh = self._runs.column(self.rows, col.FIRST) == NONE
        # Runs without an event have no partition and window to be found by: they stay unsorted, at the end.
        self.rows = np.concatenate((self.rows[~fresh], self.rows[fresh]))
        self._indexed = int((~fresh).sum())
        rows = self.rows[: self._indexed]
        for number, edge in self._edges:
            if edge.operator is not Contiguity.STRICT:
                hashes = self._extender.hashes(self._runs, number, rows, True)
                order = np.argsort(hashes, kind="stable")
                self._indexes[number] = (hashes[order], rows[order])
