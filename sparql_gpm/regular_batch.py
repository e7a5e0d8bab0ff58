"""Events that all have the triples of one shape, as rows of a table have: none is made before somebody reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from arrays.columns import offsets_of
from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.graph_names import joined
from sparql_gpm.graph_names import take as take_names
from sparql_gpm.lazy_terms import Joined, LazyTerms


@dataclass(frozen=True, slots=True)
class RegularTriple:
    """A triple that each of n events has, where subject and object are not missing.

    node    the number of the subject in the shape: triples with the same number have the same subjects
    """

    predicate: int
    node: int
    subjects: LazyTerms
    objects: LazyTerms

    def stated(self) -> Mask | None:
        """The events that have it; None: all."""
        found = [mask for mask in (self.subjects.stated(), self.objects.stated()) if mask is not None]
        return None if not found else found[0] if len(found) == 1 else found[0] & found[1]

    def between(self, begin: int, end: int) -> RegularTriple:
        """That of the events begin … end - 1."""
        return replace(self, subjects=self.subjects.between(begin, end), objects=self.objects.between(begin, end))

    def take(self, events: Ids) -> RegularTriple:
        """That of these events, in this order."""
        return replace(self, subjects=self.subjects.take(events), objects=self.objects.take(events))


class RegularBatch(EventBatch):
    """A batch whose events have triples of one shape, each with a predicate of its own.

    triples     of the shape
    """

    __slots__ = ("_whole", "triples")

    def __init__(self, times: Ids, streams: Ids, names: Sequence[str], triples: Sequence[RegularTriple]) -> None:
        assert len({triple.predicate for triple in triples}) == len(triples), "a predicate occurs twice"
        for name, value in (
            ("times", times),
            ("streams", streams),
            ("names", names),
            ("triples", tuple(triples)),
            ("_whole", None),
        ):
            object.__setattr__(self, name, value)

    triples: tuple[RegularTriple, ...]
    _whole: EventBatch | None

    @property
    def offsets(self) -> Ids:
        """See `EventBatch`; the triples are made now."""
        return self.whole.offsets

    @property
    def subjects(self) -> Ids:
        """See `EventBatch`; the triples are made now."""
        return self.whole.subjects

    @property
    def predicates(self) -> Ids:
        """See `EventBatch`; the triples are made now."""
        return self.whole.predicates

    @property
    def objects(self) -> Ids:
        """See `EventBatch`; the triples are made now."""
        return self.whole.objects

    @property
    def triples_max(self) -> int:
        """See `EventBatch`."""
        return len(self) * len(self.triples)

    @property
    def whole(self) -> EventBatch:
        """The same events with their triples."""
        if self._whole is None:
            object.__setattr__(self, "_whole", self._made())
        assert self._whole is not None
        return self._whole

    def triple(self, predicate: int) -> RegularTriple | None:
        """The triple with a predicate; None if events have none."""
        return next((triple for triple in self.triples if triple.predicate == predicate), None)

    def properties(self) -> list[int]:
        """The predicates that some event has."""
        masks = ((triple.predicate, triple.stated()) for triple in self.triples if len(self))
        return [predicate for predicate, stated in masks if stated is None or stated.any()]

    def take(self, events: Ids) -> EventBatch:
        """See `EventBatch`."""
        triples = [triple.take(events) for triple in self.triples]
        return RegularBatch(self.times[events], self.streams[events], take_names(self.names, events), triples)

    def between(self, begin: int, end: int) -> EventBatch:
        """See `EventBatch`."""
        if begin == 0 and end == len(self):
            return self
        triples = [triple.between(begin, end) for triple in self.triples]
        return RegularBatch(self.times[begin:end], self.streams[begin:end], self.names[begin:end], triples)

    def distinct(self) -> EventBatch:
        """The same events, whose triples are distinct: each has a predicate of its own."""
        return self

    @property
    def live_ids(self) -> Sequence[Ids]:
        """See `EventBatch`: those that have been asked for."""
        return [ids for triple in self.triples for terms in (triple.subjects, triple.objects) for ids in terms.live()]

    @property
    def with_triples(self) -> int:
        """See `EventBatch`."""
        found = np.zeros(len(self), dtype=np.bool_)
        for triple in self.triples:
            if (stated := triple.stated()) is None:
                return len(self)
            found |= stated
        return int(np.count_nonzero(found))

    def on_stream(self, number: int) -> EventBatch:
        """See `EventBatch`."""
        return RegularBatch(self.times, np.full(len(self), number, dtype=np.int64), self.names, self.triples)

    def followed_by(self, others: Sequence[EventBatch]) -> EventBatch | None:
        """See `EventBatch`."""
        regular = [other for other in others if isinstance(other, RegularBatch) and other._like(self)]
        if len(regular) < len(others):
            return None
        every = [self, *regular]
        triples = [_joined(parts) for parts in zip(*(batch.triples for batch in every), strict=True)]
        times, streams = (np.concatenate([getattr(batch, name) for batch in every]) for name in ("times", "streams"))
        return RegularBatch(times, streams, joined([batch.names for batch in every]), triples)

    def __reduce__(self) -> NoReturn:
        raise TypeError("the triples of a batch are written, not how they are made")

    def _like(self, other: RegularBatch) -> bool:
        """True if both have the same shape."""
        mine, theirs = ([(triple.predicate, triple.node) for triple in batch.triples] for batch in (self, other))
        return mine == theirs

    def _made(self) -> EventBatch:
        """The triples of each event in the order of the shape."""
        count, every = len(self), np.arange(len(self), dtype=np.int64)
        stated = np.ones((count, len(self.triples)), dtype=np.bool_)
        terms = np.zeros((3, count, len(self.triples)), dtype=np.int64)
        for place, triple in enumerate(self.triples):
            terms[0, :, place], terms[2, :, place] = triple.subjects.ids(every), triple.objects.ids(every)
            terms[1, :, place] = triple.predicate
            if (mask := triple.stated()) is not None:
                stated[:, place] = mask
        offsets = offsets_of(stated.sum(axis=1))
        return EventBatch(self.times, self.streams, self.names, offsets, *(column[stated] for column in terms))


def _joined(parts: Sequence[RegularTriple]) -> RegularTriple:
    """The triple of the events of several batches."""
    first = parts[0]
    subjects, objects = Joined([part.subjects for part in parts]), Joined([part.objects for part in parts])
    return RegularTriple(first.predicate, first.node, subjects, objects)
