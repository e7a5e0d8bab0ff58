"""A batch of events as graphs to match patterns against, with the indexes that their scans share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arrays.columns import in_ranges
from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.matching.term_parts import KnownParts
from sparql_gpm.relations.keys import first_rows

_Key = tuple[int, int | None, int | None]
"""Predicate, subject and object; None: any."""


class Nodes(NamedTuple):
    """The distinct terms that are subject or object of a triple, graph by graph."""

    events: Ids
    terms: Ids


Some = slice | Mask
ALL: Some = slice(None)


class Found(NamedTuple):
    """Triples, by the numbers of their events, ascending; subjects and objects of some of them are looked up."""

    events: Ids
    subjects: Callable[[Some], Ids]
    objects: Callable[[Some], Ids]


Grouped = Callable[[int, int | None, int | None], Ids | None]
"""The triples with a predicate, and a subject or an object, ascending; None: they are not grouped."""


class BatchView:
    """The graphs of a batch; row numbers are places in its triple columns.

    grouped     looks triples up that are grouped already
    parts       of the triple terms that patterns take apart

    Everything is computed on first use and kept: a view must not outlive its batch's ids.
    """

    def __init__(self, batch: EventBatch, grouped: Grouped | None = None) -> None:
        self.batch = batch
        self.parts = KnownParts()
        self._grouped = grouped
        self._events: Ids | None = None
        self._rows: dict[_Key, Ids] = {}
        self._events_of: dict[_Key, Ids] = {}
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

    def rows(
        self, predicate: int, subject: int | None = None, object: int | None = None, among: Ids | None = None
    ) -> Ids:
        """The triples with this predicate, subject and object, None: with any; in order.

        among   only those in these events, which are distinct and ascending
        """
        key = (predicate, subject, object)
        if key not in self._rows:
            known = None if self._grouped is None else self._grouped(predicate, subject, object)
            self._rows[key] = self._found(predicate, subject, object) if known is None else known
        rows = self._rows[key]
        if among is None:
            return rows
        if key not in self._events_of:
            self._events_of[key] = self.events[rows]
        begins, ends = (np.searchsorted(self._events_of[key], among, side) for side in ("left", "right"))
        return rows[in_ranges(begins, ends - begins)]

    def triples(
        self, predicate: int, subject: int | None = None, object: int | None = None, among: Ids | None = None
    ) -> Found:
        """The triples of `rows`."""
        rows, batch = self.rows(predicate, subject, object, among), self.batch
        return Found(self.events[rows], lambda some: batch.subjects[rows[some]], lambda some: batch.objects[rows[some]])

    def count(self, predicate: int, subject: int | None = None, object: int | None = None) -> int:
        """The number of `rows`."""
        return len(self.rows(predicate, subject, object))

    def _found(self, predicate: int, subject: int | None, object: int | None) -> Ids:
        if subject is None and object is None:
            return np.flatnonzero(self.batch.predicates == predicate)
        rows = self.rows(predicate, None, object if subject is not None else None)
        column, term = (self.batch.objects, object) if subject is None else (self.batch.subjects, subject)
        found: Ids = rows[column[rows] == term]
        return found

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
            batch = self.batch.distinct()
            self._distinct = self if batch is self.batch else BatchView(batch)
        return self._distinct
