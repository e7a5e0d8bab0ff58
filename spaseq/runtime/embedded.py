"""Queries in one process: events go in by stream, rows come out, derived streams feed the queries that read them.

The network is driven from outside, by `push`, `advance`, `close` and `finish`; it reads no file and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import InputError
from spaseq.runtime.merge import Merger
from spaseq.runtime.operator import QueryOperator
from spaseq.runtime.reorder import AFTER_ALL, BEFORE_ALL
from spaseq.runtime.rows import Row

_TERMS_KEPT_MIN = 200_000
"""Terms below which releasing unneeded ones is not worth the look."""

OnRows = Callable[[list[Row]], None]
"""Told the rows of one query as they come."""


class _Reader:
    """A query with the merger of its streams."""

    def __init__(self, operator: QueryOperator, delay_ns: int, on_rows: OnRows) -> None:
        self.operator = operator
        self.on_rows = on_rows
        iris = [iri for _, iri in operator.query.streams]
        self.position_of = {iri: position for position, iri in enumerate(iris)}
        self.merger = Merger(len(iris), delay_ns)
        self.open = set(iris)

    def drain(self) -> list[Row]:
        """What can be reported now."""
        rows = self.operator.on_batch(self.merger.ready())
        watermark = self.merger.watermark
        if BEFORE_ALL < watermark < AFTER_ALL:
            rows += self.operator.on_watermark(watermark - 1)
        return rows


class Network:
    """Some queries over some streams, sharing a dictionary.

    delay_ns    by how much an event may be late on its stream
    """

    def __init__(self, dictionary: Dictionary, delay_ns: int) -> None:
        self._dictionary = dictionary
        self._delay = delay_ns
        self._readers: list[_Reader] = []
        self._kept = _TERMS_KEPT_MIN

    def add(self, operator: QueryOperator, on_rows: OnRows) -> None:
        """One more query; it sees the events that come from now on.

        Raises InputError if a REGISTERed stream would have two producers, or feed itself.
        """
        reader = _Reader(operator, self._delay, on_rows)
        self._readers = producers_first([*self._readers, reader])

    @property
    def streams(self) -> frozenset[str]:
        """The IRIs of the streams that events can be pushed to: those that no query produces."""
        derived = {reader.operator.query.register for reader in self._readers}
        return frozenset(iri for reader in self._readers for iri in reader.position_of) - derived

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Events of a stream as they arrived; gives the indices of the late ones."""
        late = np.zeros(0, dtype=np.int64)
        for reader in self._of(iri):
            late = reader.merger.push(reader.position_of[iri], batch)
        self._drain()
        return late

    def advance(self, iri: str, time: int) -> None:
        """Nothing before `time` will come on the stream any more."""
        for reader in self._of(iri):
            reader.merger.advance(reader.position_of[iri], time)
        self._drain()

    def close(self, iri: str) -> None:
        """Nothing at all will come on the stream any more."""
        for reader in self._of(iri):
            reader.merger.close(reader.position_of[iri])
            reader.open.discard(iri)
        self._drain()

    def finish(self) -> None:
        """The input has ended: close what is open, producers first, and report what is left."""
        for reader in self._readers:
            reader.merger.close_all()
            reader.open.clear()
            rows = reader.operator.on_batch(reader.merger.ready()) + reader.operator.finish()
            self._deliver(reader, rows)

    def watermark(self, iri: str) -> int:
        """The time before which nothing will come on the stream any more."""
        marks = [reader.merger.watermark_of(reader.position_of[iri]) for reader in self._of(iri)]
        return min(marks, default=AFTER_ALL)

    def release_terms(self, always: bool = False) -> None:
        """Forget the terms that nothing needs any more, once there are many (or `always`); only between batches."""
        if len(self._dictionary) < 2 * self._kept and not always:
            return
        live = [ids for reader in self._readers for ids in (*reader.operator.live_ids(), *reader.merger.live())]
        self._dictionary.retain(live)
        self._kept = max(_TERMS_KEPT_MIN, len(self._dictionary))

    def snapshot(self) -> list[Any]:
        """The state of every query and of the streams before it, for `spaseq.runtime.snapshot`."""
        return [
            [sorted(reader.open), reader.merger.snapshot(), reader.operator.snapshot()] for reader in self._readers
        ]

    def restore(self, state: list[Any]) -> None:
        """Go on from a state of the same queries."""
        for reader, (still_open, waiting, running) in zip(self._readers, state, strict=True):
            reader.open = set(still_open)
            reader.merger.restore(waiting)
            reader.operator.restore(running)

    def _of(self, iri: str) -> list[_Reader]:
        return [reader for reader in self._readers if iri in reader.open]

    def _drain(self) -> None:
        for reader in self._readers:
            self._deliver(reader, reader.drain())

    def _deliver(self, reader: _Reader, rows: list[Row]) -> None:
        """Hand rows out, and on to the readers of the stream that they make up."""
        if rows:
            reader.on_rows(rows)
        register = reader.operator.query.register
        if register is None:
            return
        batch = rows_as_events(rows, self._dictionary)
        over = reader.merger.watermark
        for other in self._of(register):
            other.merger.push(other.position_of[register], batch)
            if not reader.open:
                other.merger.close(other.position_of[register])
                other.open.discard(register)
            elif over > BEFORE_ALL:
                mark = reader.operator.oldest_output_time(over)
                other.merger.advance(other.position_of[register], mark)


def producers_first(readers: Sequence[_Reader]) -> list[_Reader]:
    """The queries in an order in which each derived stream is made before it is read; raises InputError."""
    produced = [reader.operator.query.register for reader in readers if reader.operator.query.register]
    for iri in produced:
        if produced.count(iri) > 1:
            raise InputError(f"two queries REGISTER the stream <{iri}>", hint="give each stream an IRI of its own")
    waiting, ordered = list(readers), []
    while waiting:
        missing = {reader.operator.query.register for reader in waiting}
        ready = [reader for reader in waiting if not missing & reader.position_of.keys()]
        if not ready:
            names = ", ".join(f"'{reader.operator.query.name}'" for reader in waiting)
            raise InputError(
                f"queries {names} read each other's streams in a circle",
                hint="a query may read a REGISTERed stream only if that does not come from its own output",
            )
        ordered += ready
        waiting = [reader for reader in waiting if reader not in ready]
    return ordered


def rows_as_events(rows: Sequence[Row], dictionary: Dictionary) -> EventBatch:
    """The graphs of CONSTRUCT rows as events at the time of their matches."""
    triples = [triple for row in rows for triple in row.triples]
    counts = [len(row.triples) for row in rows]
    ids = np.array([[dictionary.intern(term) for term in triple] for triple in triples], dtype=np.int64).reshape(-1, 3)
    subjects, predicates, objects = (np.ascontiguousarray(ids[:, column]) for column in range(3))
    return EventBatch(
        np.array([row.time for row in rows], dtype=np.int64),
        np.zeros(len(rows), dtype=np.int64),
        [row.graph or "" for row in rows],
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        subjects,
        predicates,
        objects,
    )
