"""The queries of a network in an order in which each derived stream is made before it is read."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import count
from operator import attrgetter

from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.embedded.audience import OnRows, Reader
from spaseq.runtime.embedded.derived import DerivedStream
from spaseq.runtime.embedded.dormant import DormantOperator
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.embedded.producers import producers_first


class Readers:
    """Queries, each in its place: above those that make the streams that it reads, else as they came."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._all: dict[Reader, None] = {}
        self._ordered: Sequence[Reader] | None = None
        self._entered = count()
        self.producers: dict[str, Reader] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Reader]:
        """The queries in any order."""
        return iter(self._all)

    def ordered(self) -> Collection[Reader]:
        """The queries, producers first."""
        if self._ordered is None:
            self._ordered = sorted(self._all, key=attrgetter("order"))
        return self._ordered

    def enter(self, operator: QueryOperator | DormantOperator, on_rows: OnRows, read: Container[str]) -> Reader:
        """A query in its place; InputError if its stream had two producers, or fed itself.

        read    the streams that queries read now
        """
        query = operator.query
        iris = tuple(iri for _, iri in query.streams)
        derived = None if query.register is None else DerivedStream(query.register, self._dictionary)
        reader = Reader(query, operator, on_rows, derived, (self._level(iris), next(self._entered)))
        if query.register is not None:
            if query.register in read or query.register in iris or query.register in self.producers:
                self._reorder(producers_first([*self.ordered(), reader]))
            self.producers[query.register] = reader
        self._all[reader], self._ordered = None, None
        return reader

    def remove(self, reader: Reader) -> None:
        """Takes a query out."""
        if reader.derived is not None:
            del self.producers[reader.derived.iri]
        del self._all[reader]
        self._ordered = None

    def _level(self, iris: Iterable[str]) -> int:
        """The level of a query that reads these streams: above those of their producers."""
        producers = (self.producers[iri] for iri in iris if iri in self.producers)
        return max((producer.order[0] + 1 for producer in producers), default=0)

    def _reorder(self, ordered: Sequence[Reader]) -> None:
        """Gives every query its place in an order with producers first."""
        levels: dict[str | None, int] = {}
        for place, reader in enumerate(ordered):
            level = max((levels[iri] + 1 for _, iri in reader.query.streams if iri in levels), default=0)
            levels[reader.query.register] = level
            reader.move((level, place))
        self._entered = count(len(ordered))
        self._ordered = None
