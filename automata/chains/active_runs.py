"""Active runs, indexed by (position, join key): an event meets only runs it may extend (G Section 7.1).

Rows are appended as they come and become part of sorted indexes, one per outgoing edge, when enough
of them have gathered; a lookup searches the indexes and takes the few unsorted rows as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automata.chains.extend import Extender
from automata.chains.table import FIRST, Runs
from automata.plan.automaton import Automaton
from automata.plan.expression import Contiguity
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids, Mask

_UNSORTED_MAX = 512
"""Rows that may wait to be indexed, unless they are fewer than a quarter of the indexed ones."""
_SCAN_FACTOR = 4
"""With no more runs than this many times the events, looking at every run is the faster way."""


class ActiveRuns:
    """The runs at one position that an event may still extend."""

    def __init__(self, automaton: Automaton, position: int) -> None:
        self._edges = automaton.outgoing[position]
        self._automaton = automaton
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
            self.rows = self.rows[mask]
            self._forget()

    def replace(self, rows: Ids) -> None:
        """These runs and no others."""
        self.rows = rows
        self._forget()

    def renumber(self, numbers: Ids) -> None:
        """After a compaction: old row number → new."""
        self.rows = numbers[self.rows]
        self._forget()

    def lookup(self, runs: Runs, extender: Extender, tables: Mapping[int, StepTable]) -> Ids:
        """The runs that these events may extend, and perhaps some more."""
        reached = [
            (number, table)
            for number in self._edges
            if (table := tables.get(self._automaton.edges[number].target)) is not None and len(table)
        ]
        events = sum(len(table) for _, table in reached)
        if not reached or not len(self.rows):
            return self.rows[:0]
        if len(self.rows) <= max(_UNSORTED_MAX, _SCAN_FACTOR * events):
            return self.rows
        self._sort(runs, extender)
        found = [self.rows[self._indexed :]]
        for number, table in reached:
            found.append(self._search(number, extender, table))
        return np.unique(np.concatenate(found))

    def _search(self, number: int, extender: Extender, table: StepTable) -> Ids:
        if number not in self._indexes:
            return self.rows
        hashes, rows = self._indexes[number]
        keys = extender.index(number, table, True).keys
        begin, end = np.searchsorted(hashes, keys, "left"), np.searchsorted(hashes, keys, "right")
        return np.concatenate([rows[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)])

    def _sort(self, runs: Runs, extender: Extender) -> None:
        unsorted = len(self.rows) - self._indexed
        if unsorted <= max(_UNSORTED_MAX, self._indexed // 4):
            return
        fresh = runs.column(self.rows, FIRST) == NONE
        # Runs without an event have no partition and window to be found by: they stay unsorted, at the end.
        self.rows = np.concatenate((self.rows[~fresh], self.rows[fresh]))
        self._indexed = int((~fresh).sum())
        rows = self.rows[: self._indexed]
        for number in self._edges:
            edge = self._automaton.edges[number]
            if edge.operator is not Contiguity.STRICT:
                hashes = extender.hashes(runs, number, rows, True)
                order = np.argsort(hashes, kind="stable")
                self._indexes[number] = (hashes[order], rows[order])

    def _forget(self) -> None:
        self._indexed = 0
        self._indexes.clear()
