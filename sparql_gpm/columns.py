"""Events and solutions as columns of term ids.

An id is meaningful only with its dictionary; 0 is "unbound" and no term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from arrays.columns import UNBOUND, Ids, Mask, hash_columns, in_ranges, offsets_of
from sparql_gpm.graph_names import joined
from sparql_gpm.graph_names import take as take_names

_FEW = 64
"""Python finds equal rows among so few sooner than numpy."""
__all__ = ["UNBOUND", "EventBatch", "Ids", "Mask", "RowEvent", "Solutions", "as_ids"]


def as_ids(values: Sequence[int] | NDArray[np.int64]) -> Ids:
    """A contiguous int64 column, as kernels need it."""
    return np.ascontiguousarray(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """n events with m triples in all, in CSR form.

    times       int64[n], nanoseconds since the epoch, UTC
    streams     int64[n], the number of each event's stream
    names       n graph names, as IRI text without brackets
    offsets     int64[n+1]; event i has the triples offsets[i]:offsets[i+1]
    subjects, predicates, objects   int64[m] term ids
    """

    times: Ids
    streams: Ids
    names: Sequence[str]
    offsets: Ids
    subjects: Ids
    predicates: Ids
    objects: Ids

    def __len__(self) -> int:
        return len(self.times)

    @property
    def triples_max(self) -> int:
        """The number of triples, at most; none is made for it."""
        return len(self.subjects)

    def event_of_triple(self) -> Ids:
        """int64[m]: the index of the event that each triple belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def take(self, events: Ids) -> EventBatch:
        """The batch of these events, in this order; O(triples taken)."""
        counts = np.diff(self.offsets)[events]
        rows = in_ranges(self.offsets[:-1][events], counts)
        names, terms = take_names(self.names, events), (column[rows] for column in self.terms)
        return EventBatch(self.times[events], self.streams[events], names, offsets_of(counts), *terms)

    def between(self, begin: int, end: int) -> EventBatch:
        """Events begin … end - 1; columns are views."""
        if begin == 0 and end == len(self):
            return self
        offsets = self.offsets[begin : end + 1]
        triples = slice(int(offsets[0]), int(offsets[-1]))
        terms = (column[triples] for column in self.terms)
        names = self.names[begin:end]
        return EventBatch(self.times[begin:end], self.streams[begin:end], names, offsets - offsets[0], *terms)

    def distinct(self) -> EventBatch:
        """The same events, each triple once: a graph is a set. O(m) when nothing is repeated, as is usual."""
        columns = self.terms if len(self) == 1 else (self.event_of_triple(), *self.terms)
        rows = len(self.subjects)
        if rows <= _FEW and len(set(zip(*(column.tolist() for column in columns), strict=True))) == rows:
            return self
        hashes = np.sort(hash_columns(columns, rows))
        if not (hashes[1:] == hashes[:-1]).any():
            return self
        order = np.lexsort(columns[::-1])
        repeated = np.ones(rows, dtype=np.bool_)
        repeated[:1] = False
        for column in columns:
            repeated[1:] &= column[order][1:] == column[order][:-1]
        return self.keep(np.sort(order[~repeated]))

    def keep(self, triples: Ids) -> EventBatch:
        """The same events with these of their triples, by ascending number."""
        offsets, terms = np.searchsorted(triples, self.offsets), (column[triples] for column in self.terms)
        return EventBatch(self.times, self.streams, self.names, offsets, *terms)

    @property
    def terms(self) -> tuple[Ids, Ids, Ids]:
        """The three columns of term ids."""
        return self.subjects, self.predicates, self.objects

    @property
    def live_ids(self) -> Sequence[Ids]:
        """Columns of all ids that must hold as long as somebody needs the events."""
        return self.terms

    @property
    def with_triples(self) -> int:
        """The number of events that have a triple."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    def on_stream(self, number: int) -> EventBatch:
        """The same events on the stream with this number."""
        streams = np.full(len(self), number, dtype=np.int64)
        return EventBatch(self.times, streams, self.names, self.offsets, *self.terms)

    def followed_by(self, others: Sequence[EventBatch]) -> EventBatch | None:
        """The events of this batch and of others without their triples being made; None if they are made already."""
        return None

    @staticmethod
    def concatenate(batches: Sequence[EventBatch]) -> EventBatch:
        """All events of the batches, one batch after the other; at least one batch."""
        if len(batches) == 1:
            return batches[0]
        if (lazy := batches[0].followed_by(batches[1:])) is not None:
            return lazy
        counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
        times = np.concatenate([batch.times for batch in batches])
        streams = np.concatenate([batch.streams for batch in batches])
        terms = (np.concatenate(columns) for columns in zip(*(batch.terms for batch in batches), strict=True))
        return EventBatch(times, streams, joined([batch.names for batch in batches]), offsets_of(counts), *terms)

    @staticmethod
    def empty() -> EventBatch:
        """No event."""
        none = np.zeros(0, dtype=np.int64)
        return EventBatch(none, none, [], np.zeros(1, dtype=np.int64), none, none, none)

    @staticmethod
    def of_graph(name: str, subjects: Ids, predicates: Ids, objects: Ids, time: int = 0, stream: int = 0) -> EventBatch:
        """One event with these triples, which must be distinct."""
        offsets = as_ids([0, len(subjects)])
        return EventBatch(as_ids([time]), as_ids([stream]), [name], offsets, subjects, predicates, objects)


@dataclass(slots=True, eq=False)
class RowEvent:
    """One event in plain Python; columns are made of it on demand.

    time, stream, name  as in EventBatch
    triples             distinct, as ids
    """

    time: int
    stream: int
    name: str
    triples: Sequence[tuple[int, int, int]]
    _batch: EventBatch | None = field(default=None, init=False, repr=False)

    @property
    def batch(self) -> EventBatch:
        """The same as a batch."""
        if self._batch is None:
            subjects, predicates, objects = map(as_ids, np.array(self.triples, dtype=np.int64).reshape(-1, 3).T)
            self._batch = EventBatch.of_graph(self.name, subjects, predicates, objects, self.time, self.stream)
        return self._batch

    @staticmethod
    def each_of(batch: EventBatch) -> list[RowEvent]:
        """The events of a batch, one by one."""
        triples = list(zip(*(column.tolist() for column in batch.terms), strict=True))
        ends = batch.offsets.tolist()
        facts = zip(batch.times.tolist(), batch.streams.tolist(), batch.names, ends[:-1], ends[1:], strict=True)
        return [RowEvent(time, stream, name, triples[begin:end]) for time, stream, name, begin, end in facts]


@dataclass(frozen=True, slots=True)
class Solutions:
    """A set of solution mappings per event: distinct rows, sorted by event.

    events      int64[k], the index in the batch of the event that a row belongs to
    columns     variable → int64[k] term ids, UNBOUND where the mapping leaves it so
    """

    events: Ids
    columns: Mapping[str, Ids]

    def __len__(self) -> int:
        return len(self.events)
