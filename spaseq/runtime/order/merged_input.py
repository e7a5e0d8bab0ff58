"""The merged order of several streams (specification, section 1): by time, then stream, then arrival."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from operator import attrgetter
from typing import Any

import numpy as np

from arrays.times import AFTER_ALL
from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.shared import Slice
from spaseq.runtime.order.reorder import NO_EVENTS, ReorderBuffer
from spaseq.runtime.state import layouts


class MergedInput:
    """The streams that some queries read, merged once for all of these queries.

    An event is released as soon as nothing before it in merged order can arrive: with one stream, up to its watermark;
    with several, below the smallest watermark of those still open, so that events of one time are released together.

    iris        of the streams, in the order of FROM
    delay_ns    by how much the events of a stream may be late
    open        the streams that have not been closed
    untouched   nothing has arrived yet: a new query may still join
    """

    def __init__(self, iris: tuple[str, ...], delay_ns: int = 0) -> None:
        self.iris = iris
        self.open = set(iris)
        self.untouched = True
        self._numbers = {iri: number for number, iri in enumerate(iris)}
        self._buffers = {iri: ReorderBuffer(delay_ns) for iri in iris}
        self._each = [self._buffers[iri] for iri in iris]
        self._next: Slice | None = None
        self._bounds = _bounds(self._each)
        self._earliest: list[tuple[int, int]] = []
        self._known = [AFTER_ALL] * len(self._each)

    @property
    def watermark(self) -> int:
        """No event with a smaller time will arrive on any stream; AFTER_ALL when all are closed."""
        if len(self.iris) == 1:
            return self.watermark_of(self.iris[0])
        bounds = self._bounds
        while bounds:
            bound, number = bounds[0]
            if self.iris[number] not in self.open:
                heappop(bounds)
            elif (now := self._each[number].watermark) != bound:
                heapreplace(bounds, (now, number))
            else:
                return bound
        return AFTER_ALL

    def newest(self, iri: str) -> int:
        """The largest time of an event of a stream; BEFORE_ALL if there is none."""
        return self._buffers[iri].newest

    @property
    def waiting(self) -> int:
        """The number of waiting events."""
        return sum(map(len, self._each)) + (self._next is not None)

    def watermark_of(self, iri: str) -> int:
        """No event with a smaller time will arrive on this stream; AFTER_ALL when it is closed."""
        return self._buffers[iri].watermark if iri in self.open else AFTER_ALL

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Takes events as they arrived on a stream; returns the indices of the late ones, which are left out."""
        assert iri in self.open, f"stream {iri} is closed"
        self.untouched = False
        self._keep_next()
        number = self._numbers[iri]
        if not (len(batch) == 1 and batch.streams.item(0) == number):
            batch = batch.on_stream(number)
        late = self._each[number].push(batch)
        self._note(number)
        return late

    def push_event(self, iri: str, event: RowEvent) -> bool:
        """Takes one event; returns whether it is late. One that nothing can precede is released without a batch."""
        if len(self._buffers) == 1 and self._next is None and self.open and self._buffers[iri].passes(event.time):
            self.untouched = False
            self._next = Slice(event)
            return False
        assert iri in self.open, f"stream {iri} is closed"
        self.untouched = False
        self._keep_next()
        number = self._numbers[iri]
        if event.stream != number:
            event = RowEvent(event.time, number, event.name, event.triples)
        late = self._each[number].push_event(event)
        self._note(number)
        return late

    def advance(self, iri: str, time_ns: int) -> None:
        """No event before this time will arrive on the stream."""
        self.untouched = False
        self._buffers[iri].advance(time_ns)

    def close(self, iri: str) -> None:
        """No event will arrive on the stream."""
        self.untouched = False
        self.open.discard(iri)

    def close_all(self) -> None:
        """No event will arrive."""
        self.untouched = False
        self.open.clear()

    def release(self) -> Slice:
        """Takes out, in merged order, all events that nothing can precede; possibly none."""
        if self._next is not None:
            slice_, self._next = self._next, None
            return slice_
        bound = self.watermark
        inclusive = len(self._buffers) == 1 or bound == AFTER_ALL
        ready = self._ready(bound, inclusive)
        slice_ = self._released([self._each[number] for number in ready], bound, inclusive)
        for number in ready:
            self._note(number)
        return slice_

    def _released(self, ready: Sequence[ReorderBuffer], bound: int, inclusive: bool) -> Slice:
        """The events of some buffers that nothing can precede."""
        if not ready:
            return Slice(NO_EVENTS)
        alone = [buffer.release_alone(bound, inclusive) for buffer in ready]
        if all(events is not None for events in alone):
            every = [event for events in alone if events is not None for event in events]
            return Slice(every[0] if len(every) == 1 else sorted(every, key=attrgetter("time")))
        parts = []
        for buffer, events in zip(ready, alone, strict=True):
            parts += [event.batch for event in events or ()] or [buffer.release(bound, inclusive)]
        merged = EventBatch.concatenate(parts)
        if len(parts) > 1:
            order = np.argsort(merged.times, kind="stable")
            merged = merged if bool((order[1:] > order[:-1]).all()) else merged.take(order)
        return Slice(merged)

    def snapshot(self) -> dict[str, Any]:
        """The waiting events and the open streams, for `spaseq.runtime.state.snapshot`."""
        self._keep_next()
        buffers = [buffer.snapshot() for buffer in self._buffers.values()]
        return layouts.INPUT.written(open=sorted(self.open), untouched=self.untouched, buffers=buffers)

    def restore(self, state: Any) -> None:
        """Continues from a snapshot."""
        state = layouts.INPUT.read(state)
        self.open, self.untouched = set(state["open"]), state["untouched"]
        for buffer, own in zip(self._buffers.values(), state["buffers"], strict=True):
            buffer.restore(own)
        self._bounds = _bounds(self._each)
        for number in self._numbers.values():
            self._note(number)

    def same_from_now_on(self, other: MergedInput) -> bool:
        """True if both will release the same events, whatever arrives."""
        if self is other:
            return True
        buffers = zip(self._buffers.values(), other._buffers.values(), strict=False)
        same = self.iris == other.iris and self.open == other.open
        return same and all(mine.same_from_now_on(theirs) for mine, theirs in buffers)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id of the waiting events."""
        self._keep_next()
        return [column for buffer in self._buffers.values() for column in buffer.live_ids()]

    def _note(self, number: int) -> None:
        """Remembers the first waiting event of a buffer."""
        earliest = self._each[number].earliest
        if earliest != self._known[number]:
            self._known[number] = earliest
            if earliest != AFTER_ALL:
                heappush(self._earliest, (earliest, number))

    def _ready(self, bound: int, inclusive: bool) -> list[int]:
        """The buffers with events below the bound, or up to it."""
        found: set[int] = set()
        while self._earliest and (self._earliest[0][0] < bound or (inclusive and self._earliest[0][0] == bound)):
            earliest, number = heappop(self._earliest)
            if earliest == self._known[number]:
                self._known[number] = AFTER_ALL
                found.add(number)
        return sorted(found)

    def _keep_next(self) -> None:
        """Puts back an event that was to be released without a batch, and was not because another reader failed."""
        if self._next is not None:
            self._each[0].push(self._next.batch)
            self._next = None
            self._note(0)


def _bounds(buffers: Sequence[ReorderBuffer]) -> list[tuple[int, int]]:
    """A heap of the watermarks of streams, by number; one that has moved on since is put right when it comes up."""
    return sorted((buffer.watermark, number) for number, buffer in enumerate(buffers))
