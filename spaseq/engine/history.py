"""The events that windows reach back to, so that the state of a new query can be made as if it had been there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from arrays.times import BEFORE_ALL
from sparql_gpm.columns import EventBatch, Ids, RowEvent
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.state.snapshot import batch_state, restored_batch

HISTORY_EVENTS_MAX = 10_000_000
"""Events that are kept of a stream; where windows reach back further, no state can be rebuilt."""
_SINGLE_MAX = 1_000
"""Events pushed one by one that wait to be put into columns."""
_PRUNE_MIN = 10_000
"""Events between two looks for what no window reaches back to, at least."""


class StreamHistory:
    """The latest events of a stream as they arrived, late ones included, and what `advance` has said between them.

    floor   no event of a time before it was admitted after the events that are not kept any more
    cut     more events lay in windows than are kept
    """

    def __init__(self, delay_ns: int) -> None:
        self._delay = delay_ns
        self._items: list[EventBatch | int] = []
        self._single: list[RowEvent] = []
        self._added = self._kept = 0
        self.floor = BEFORE_ALL
        self.cut = False

    def add(self, events: EventBatch | RowEvent) -> None:
        """Keep the next events."""
        if isinstance(events, RowEvent):
            self._single.append(events)
            self._added += 1
            if len(self._single) >= _SINGLE_MAX:
                self._settle()
        else:
            self._settle()
            self._items.append(events)
            self._added += len(events)

    def advance(self, time: int) -> None:
        """No event before this time was to come."""
        self._settle()
        if self._items and isinstance(last := self._items[-1], int):
            self._items[-1] = max(last, time)
        else:
            self._items.append(time)

    @property
    def is_long(self) -> bool:
        """True if it is worth looking for what no window reaches back to."""
        return self._added > max(_PRUNE_MIN, self._kept)

    def forget(self, before: int, but: int) -> None:
        """Drops the events before a time, apart from the latest ones, so many."""
        self._settle()
        times = np.concatenate([np.zeros(0, np.int64), *(i.times for i in self._items if isinstance(i, EventBatch))])
        if but and len(times):
            before = min(before, int(np.sort(times)[-min(but, len(times))]))
        if np.count_nonzero(times >= before) > HISTORY_EVENTS_MAX:
            before, self.cut = int(np.sort(times)[-HISTORY_EVENTS_MAX]), True
        gone = times[times < before]
        if len(gone):
            self.floor = max(self.floor, int(gone.max()) - self._delay)
        kept: list[EventBatch | int] = []
        for item in self._items:
            if isinstance(item, int):
                kept += [item] if item > self.floor else []
            elif len(left := np.flatnonzero(item.times >= before)):
                kept.append(item if len(left) == len(item) else item.take(left))
        self._items, self._added = kept, 0
        self._kept = len(times) - len(gone)

    def replay(self, iri: str, network: Network) -> None:
        """Lets the queries of a network read it."""
        self._settle()
        if self.floor > BEFORE_ALL:
            network.advance(iri, self.floor)
        for item in self._items:
            if isinstance(item, int):
                network.advance(iri, item)
            else:
                network.push(iri, item)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id of the events."""
        self._settle()
        return [column for item in self._items if isinstance(item, EventBatch) for column in item.terms]

    def snapshot(self) -> list[Any]:
        """The history, for `spaseq.runtime.state.snapshot`."""
        self._settle()
        items = [item if isinstance(item, int) else batch_state(item) for item in self._items]
        return [self.floor, self.cut, items]

    def restore(self, state: Iterable[Any]) -> None:
        """Continues from a snapshot."""
        self.floor, self.cut, items = state
        self._items = [item if isinstance(item, int) else restored_batch(item) for item in items]
        self._added = sum(len(item) for item in self._items if isinstance(item, EventBatch))

    def _settle(self) -> None:
        """Puts the events that came one by one into columns."""
        if self._single:
            self._items.append(EventBatch.concatenate([event.batch for event in self._single]))
            self._single.clear()


class History:
    """The latest events of all streams that are pushed to, as far as the windows of the queries reach back."""

    def __init__(self, delay_ns: int) -> None:
        self._delay = delay_ns
        self._streams: dict[str, StreamHistory] = {}
        self._reach = self._events = 0

    def register(self, queries: Iterable[TemporalQuery]) -> None:
        """The queries that there are now: what they reach back to is kept from now on."""
        several = list(queries)
        by_stream = {query.register: query for query in several if query.register}
        for query in several:
            if query.window.in_events:
                self._events = max(self._events, 2 * query.window.size)
            self._reach = max(self._reach, _reach(query, by_stream))

    def add(self, iri: str, events: EventBatch | RowEvent, network: Network) -> None:
        """Keep the next events of a stream, which the network has read."""
        stream = self._stream(iri)
        stream.add(events)
        if stream.is_long:
            stream.forget(max(network.slowest(iri), BEFORE_ALL + self._reach) - self._reach, self._events)

    def advance(self, iri: str, time: int) -> None:
        """No event before this time was to come on a stream."""
        self._stream(iri).advance(time)

    def replay(self, network: Network) -> None:
        """Lets the queries of a new network read all that is kept; InputError if that is not all that they need."""
        for iri in network.streams & self._streams.keys():
            if self._streams[iri].cut:
                message = f"more than {HISTORY_EVENTS_MAX:,} events of stream <{iri}> lie in the windows"
                raise InputError(message, hint="keep='nothing' begins anew")
            self._streams[iri].replay(iri, network)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id of the events."""
        return [column for stream in self._streams.values() for column in stream.live_ids()]

    def snapshot(self) -> list[Any]:
        """The history, for `spaseq.runtime.state.snapshot`."""
        return [self._reach, self._events, {iri: stream.snapshot() for iri, stream in self._streams.items()}]

    def restore(self, state: Iterable[Any]) -> None:
        """Continues from a snapshot."""
        self._reach, self._events, streams = state
        for iri, own in streams.items():
            self._stream(iri).restore(own)

    def _stream(self, iri: str) -> StreamHistory:
        if iri not in self._streams:
            self._streams[iri] = StreamHistory(self._delay)
        return self._streams[iri]


def _reach(query: TemporalQuery, makers: Mapping[str, TemporalQuery]) -> int:
    """The time before now from which the state of a query may come, those that make its streams included.

    What is absent before a match reaches back another window.
    """
    own = 0 if query.window.in_events else 2 * query.window.size
    return own + max((_reach(makers[iri], makers) for _, iri in query.streams if iri in makers), default=0)


def check_rebuilt(query: TemporalQuery) -> None:
    """Raises InputError if the events of a window do not tell the state of a query."""
    if query.window.in_events and (query.partition or not query.window.sliding):
        message = f"the state of query '{query.name}' is not told by the latest events: its windows count events"
        hint = "where they tumble, from the first event on; in partitions, those of each. keep='nothing' begins anew"
        raise InputError(message, hint=hint)
