"""Events and solutions as columns of term ids.

An id is meaningful only with its dictionary; 0 is "unbound" and no term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arrays.columns import UNBOUND, Ids, Mask, in_ranges, offsets_of
from sparql_gpm.graph_names import joined
from sparql_gpm.graph_names import take as take_names

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

    def event_of_triple(self) -> Ids:
        """int64[m]: the index of the event that each triple belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def take(self, events: Ids) -> EventBatch:
        """The batch of these events, in this order; O(triples taken)."""
        counts = np.diff(self.offsets)[events]
        offsets = offsets_of(counts)
        rows = in_ranges(self.offsets[:-1][events], counts)
        return EventBatch(
            self.times[events],
            self.streams[events],
            take_names(self.names, events),
            offsets,
            self.subjects[rows],
            self.predicates[rows],
            self.objects[rows],
        )

    def between(self, begin: int, end: int) -> EventBatch:
        """Events begin … end - 1; columns are views."""
        if begin == 0 and end == len(self):
            return self
        offsets = self.offsets[begin : end + 1]
        triples = slice(int(offsets[0]), int(offsets[-1]))
        terms = (column[triples] for column in self.terms)
        names = self.names[begin:end]
        return EventBatch(self.times[begin:end], self.streams[begin:end], names, offsets - offsets[0], *terms)

    @property
    def terms(self) -> tuple[Ids, Ids, Ids]:
        """The three columns of term ids."""
        return self.subjects, self.predicates, self.objects

    @staticmethod
    def concatenate(batches: Sequence[EventBatch]) -> EventBatch:
        """All events of the batches, one batch after the other; at least one batch."""
        if len(batches) == 1:
            return batches[0]
        counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
        return EventBatch(
            np.concatenate([batch.times for batch in batches]),
            np.concatenate([batch.streams for batch in batches]),
            joined([batch.names for batch in batches]),
            offsets_of(counts),
            np.concatenate([batch.subjects for batch in batches]),
            np.concatenate([batch.predicates for batch in batches]),
            np.concatenate([batch.objects for batch in batches]),
        )

    @staticmethod
    def empty() -> EventBatch:
        """No event."""
        none = np.zeros(0, dtype=np.int64)
        return EventBatch(none, none, [], np.zeros(1, dtype=np.int64), none, none, none)


class RowEvent:
    """One event in plain Python; columns are made of it on demand.

    time, stream, name  as in EventBatch
    triples             distinct, as ids
    """

    __slots__ = ("_batch", "name", "stream", "time", "triples")

    def __init__(self, time: int, stream: int, name: str, triples: Sequence[tuple[int, int, int]]) -> None:
        self.time = time
        self.stream = stream
        self.name = name
        self.triples = triples
        self._batch: EventBatch | None = None

    @property
    def batch(self) -> EventBatch:
        """The same as a batch."""
        if self._batch is None:
            columns = np.array(self.triples, dtype=np.int64).reshape(-1, 3).T
            self._batch = EventBatch(
                as_ids([self.time]),
                as_ids([self.stream]),
                [self.name],
                as_ids([0, len(self.triples)]),
                *(np.ascontiguousarray(column) for column in columns),
            )
        return self._batch

    @staticmethod
    def each_of(batch: EventBatch) -> list[RowEvent]:
        """The events of a batch, one by one."""
        triples = list(zip(batch.subjects.tolist(), batch.predicates.tolist(), batch.objects.tolist(), strict=True))
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
