"""A batch of events as the graphs that patterns are matched against, with what scans of it share.

A runtime that matches several patterns against one batch makes the view once and hands it to each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.relation_keys import first_rows


class Nodes(NamedTuple):
    """The distinct terms that are subject or object of a triple, graph by graph."""

    events: Ids
    terms: Ids


class BatchView:
    """The graphs of a batch; row numbers are places in its triple columns.

    Everything is computed when first asked for and kept: a view must not outlive its batch's ids.
    """

    def __init__(self, batch: EventBatch) -> None:
        self.batch = batch
        self._events: Ids | None = None
        self._rows: dict[int, Ids] = {}
        self._nodes: Nodes | None = None
        self._distinct: BatchView | None = None

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def events(self) -> Ids:
        """The event of each triple."""
        if self._events is None:
            self._events = self.batch.event_of_triple()
        return self._events

    def rows(self, predicate: int) -> Ids:
        """The triples with this predicate, in order."""
        if predicate not in self._rows:
            self._rows[predicate] = np.flatnonzero(self.batch.predicates == predicate)
        return self._rows[predicate]

    def nodes(self, live: Mask | None) -> Nodes:
        """The nodes of all graphs, or of the live ones."""
        if self._nodes is None:
            events = np.concatenate((self.events, self.events))
            terms = np.concatenate((self.batch.subjects, self.batch.objects))
            first = first_rows([events, terms])
            self._nodes = Nodes(events[first], terms[first])
        if live is None:
            return self._nodes
        kept = live[self._nodes.events]
        return Nodes(self._nodes.events[kept], self._nodes.terms[kept])

    def distinct(self) -> BatchView:
        """The same graphs with every triple once, for patterns that count solutions."""
        if self._distinct is None:
            batch = self.batch
            first = first_rows([self.events, batch.subjects, batch.predicates, batch.objects])
            if len(first) == len(batch.subjects):
                self._distinct = self
            else:
                sizes = np.bincount(self.events[first], minlength=len(batch))
                offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
                columns = (batch.subjects[first], batch.predicates[first], batch.objects[first])
                self._distinct = BatchView(EventBatch(batch.times, batch.streams, batch.names, offsets, *columns))
        return self._distinct
