"""Queries in one process: events go in by stream, rows come out, derived streams feed the queries that read them.

The network is driven from outside, by `push`, `advance`, `close` and `finish`; it reads no file and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import InputError
from spaseq.outputs.rows import Row
from spaseq.runtime.derived import DerivedStream
from spaseq.runtime.feed import Feed, Turn
from spaseq.runtime.operator import QueryOperator
from spaseq.runtime.reorder import AFTER_ALL, BEFORE_ALL

_TERMS_KEPT_MIN = 200_000
"""Terms below which releasing unneeded ones is not worth the look."""

OnRows = Callable[[list[Row]], None]
"""Told the rows of one query as they come."""


class _Reader:
    """A query with the feed that it reads, and the stream that it derives, if any."""

    def __init__(self, operator: QueryOperator, feed: Feed, on_rows: OnRows, derived: DerivedStream | None) -> None:
        self.operator = operator
        self.derived = derived
        self.feed = feed
        self.on_rows = on_rows

    def rows(self, turn: Turn) -> list[Row]:
        """What can be reported after a turn of the feed."""
        rows = self.operator.on_batch(turn.slice_)
        if BEFORE_ALL < turn.watermark < AFTER_ALL:
            rows += self.operator.on_watermark(turn.watermark - 1)
        return rows


class Network:
    """Some queries over some streams, sharing a dictionary and, where they read the same streams, all that is done to
    events before their sequences are looked at.

    delay_ns    by how much an event may be late on its stream
    """

    def __init__(self, dictionary: Dictionary, delay_ns: int) -> None:
        self._dictionary = dictionary
        self._delay = delay_ns
        self._readers: list[_Reader] = []
        self._feeds: list[Feed] = []
        self._kept = _TERMS_KEPT_MIN

    def add(self, operator: QueryOperator, on_rows: OnRows) -> None:
        """One more query; it sees the events that come from now on.

        Raises InputError if a REGISTERed stream would have two producers, or feed itself.
        """
        iris = tuple(iri for _, iri in operator.query.streams)
        known = (feed for feed in self._feeds if feed.iris == iris and feed.untouched)
        register = operator.query.register
        derived = None if register is None else DerivedStream(register, self._dictionary)
        reader = _Reader(operator, next(known, None) or Feed(iris, self._delay), on_rows, derived)
        self._readers = producers_first([*self._readers, reader])
        self._feeds = list(dict.fromkeys(reader.feed for reader in self._readers))

    @property
    def streams(self) -> frozenset[str]:
        """The IRIs of the streams that events can be pushed to: those that no query produces."""
        derived = {reader.operator.query.register for reader in self._readers}
        return frozenset(iri for feed in self._feeds for iri in feed.iris) - derived

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Events of a stream as they arrived; gives the indices of those that are late for some query."""
        late = [feed.push(iri, batch) for feed in self._reading(iri)]
        self._drain()
        if len(late) == 1:
            return late[0]
        return np.unique(np.concatenate(late)) if late else np.zeros(0, dtype=np.int64)

    def push_event(self, iri: str, event: RowEvent) -> bool:
        """One event as it arrived; tells whether it is late for some query."""
        late = False
        for feed in self._reading(iri):
            late |= feed.push_event(iri, event)
        self._drain()
        return late

    def advance(self, iri: str, time: int) -> None:
        """Nothing before `time` will come on the stream any more."""
        for feed in self._reading(iri):
            feed.advance(iri, time)
        self._drain()

    def close(self, iri: str) -> None:
        """Nothing at all will come on the stream any more."""
        for feed in self._reading(iri):
            feed.close(iri)
        self._drain()

    def finish(self) -> None:
        """The input has ended: close what is open, producers first, and report what is left."""
        turns: dict[Feed, Turn] = {}
        for reader in self._readers:
            if reader.feed not in turns:
                reader.feed.close_all()
                turns[reader.feed] = reader.feed.turn()
            rows = reader.operator.on_batch(turns[reader.feed].slice_) + reader.operator.finish()
            self._deliver(reader, rows)

    def watermark(self, iri: str) -> int:
        """The time before which nothing will come on the stream any more."""
        return min((feed.watermark_of(iri) for feed in self._reading(iri)), default=AFTER_ALL)

    def release_terms(self, always: bool = False) -> None:
        """Forget the terms that nothing needs any more, once there are many (or `always`); only between batches."""
        if len(self._dictionary) < 2 * self._kept and not always:
            return
        live = [ids for reader in self._readers for ids in reader.operator.live_ids()]
        live += [ids for feed in self._feeds for ids in feed.merger.live()]
        live += [ids for reader in self._readers if reader.derived for ids in reader.derived.live()]
        self._dictionary.retain(live)
        self._kept = max(_TERMS_KEPT_MIN, len(self._dictionary))

    def snapshot(self) -> list[Any]:
        """The state of every feed and of every query, for `spaseq.runtime.snapshot`."""
        numbers = {feed: number for number, feed in enumerate(self._feeds)}
        readers = [
            [numbers[reader.feed], reader.operator.snapshot(), reader.derived and reader.derived.snapshot()]
            for reader in self._readers
        ]
        return [[feed.snapshot() for feed in self._feeds], readers]

    def restore(self, state: list[Any]) -> None:
        """Go on from a state of the same queries."""
        feeds: dict[int, Feed] = {}
        for reader, (number, running, derived) in zip(self._readers, state[1], strict=True):
            if number not in feeds:
                feeds[number] = Feed(reader.feed.iris, self._delay)
                feeds[number].restore(state[0][number])
            reader.feed = feeds[number]
            reader.operator.restore(running)
            if reader.derived is not None:
                reader.derived.restore(derived)
        self._feeds = list(dict.fromkeys(reader.feed for reader in self._readers))

    def _reading(self, iri: str) -> list[Feed]:
        return [feed for feed in self._feeds if iri in feed.open]

    def _drain(self) -> None:
        turns: dict[Feed, Turn] = {}
        for reader in self._readers:
            if reader.feed not in turns:  # what it reads has been produced: producers come first
                turns[reader.feed] = reader.feed.turn()
            self._deliver(reader, reader.rows(turns[reader.feed]))
        self._unite()

    def _deliver(self, reader: _Reader, rows: list[Row]) -> None:
        """Hand rows out, and on to the readers of the stream that they make up."""
        if rows:
            reader.on_rows(rows)
        over = reader.feed.merger.watermark
        if reader.derived is None or over == BEFORE_ALL:
            return
        oldest = reader.operator.oldest_output_time
        # rows that events of the time `over` bring have later triggering events than all that there are
        batch = reader.derived.events(rows, oldest(over + 1))
        for other in self._reading(reader.derived.iri):
            other.push(reader.derived.iri, batch)
            if oldest(over) == AFTER_ALL:
                other.close(reader.derived.iri)
            else:
                other.advance(reader.derived.iri, oldest(over))

    def _unite(self) -> None:
        """Queries that began at different times share a feed once theirs have come to the same state."""
        if len(self._feeds) < 2 or len(self._feeds) == len({feed.iris for feed in self._feeds}):
            return
        for reader in self._readers:
            alike = (feed for feed in self._feeds if feed.same_from_now_on(reader.feed))
            reader.feed = next(alike)
        self._feeds = list(dict.fromkeys(reader.feed for reader in self._readers))


def producers_first(readers: Sequence[_Reader]) -> list[_Reader]:
    """The queries in an order in which each derived stream is made before it is read; raises InputError."""
    produced = [reader.operator.query.register for reader in readers if reader.operator.query.register]
    for iri in produced:
        if produced.count(iri) > 1:
            raise InputError(f"two queries REGISTER the stream <{iri}>", hint="give each stream an IRI of its own")
    waiting, ordered = list(readers), []
    while waiting:
        missing = {reader.operator.query.register for reader in waiting}
        ready: list[_Reader] = []
        blocked: list[_Reader] = []
        for reader in waiting:
            (blocked if missing.intersection(reader.feed.iris) else ready).append(reader)
        if not ready:
            names = ", ".join(f"'{reader.operator.query.name}'" for reader in waiting)
            raise InputError(
                f"queries {names} read each other's streams in a circle",
                hint="a query may read a REGISTERed stream only if that does not come from its own output",
            )
        ordered += ready
        waiting = blocked
    return ordered
