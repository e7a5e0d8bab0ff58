"""The reorder buffer of one stream: admits events that are not late, and releases them in order of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL, ENDLESS_NS, earlier
from sparql_gpm.columns import EventBatch, Ids, RowEvent
from spaseq.errors import RunError
from spaseq.runtime.state import layouts
from spaseq.runtime.state.snapshot import batch_state, restored_batch

NEVER_LATE_NS = ENDLESS_NS
"""The delay of streams of which something else decides what is late."""
WAITING_EVENTS_MAX = 50_000_000
"""Waiting events of a stream; with more the run fails rather than exhaust the memory."""
NO_EVENTS = EventBatch.empty()
"""A batch without events."""
_NONE: Ids = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Events in the order (time, arrival), and the arrival number of each."""

    events: EventBatch
    arrivals: Ids

    def __len__(self) -> int:
        return len(self.events)

    def between(self, begin: int, end: int) -> _Sorted:
        return _Sorted(self.events.between(begin, end), self.arrivals[begin:end])


def _merged(parts: list[_Sorted]) -> _Sorted:
    if len(parts) == 1:
        return parts[0]
    events = EventBatch.concatenate([part.events for part in parts])
    arrivals = np.concatenate([part.arrivals for part in parts])
    order = np.lexsort((arrivals, events.times))
    if bool((order[1:] > order[:-1]).all()):
        return _Sorted(events, arrivals)
    return _Sorted(events.take(order), arrivals[order])


class ReorderBuffer:
    """The events of one stream that earlier ones may still precede; none with a time below `watermark` is admitted.

    watermark   BEFORE_ALL of a stream without an event, AFTER_ALL of one that has ended
    """

    def __init__(self, delay_ns: int = 0) -> None:
        assert delay_ns >= 0, delay_ns
        self._delay = delay_ns
        self._largest = BEFORE_ALL
        self._arrived = 0
        self._waiting: list[_Sorted] = []
        self._alone: deque[RowEvent] = deque()
        self.watermark = BEFORE_ALL

    def __len__(self) -> int:
        return sum(len(part) for part in self._waiting) + len(self._alone)

    @property
    def newest(self) -> int:
        """The largest time of an event; BEFORE_ALL if there is none."""
        return self._largest

    @property
    def earliest(self) -> int:
        """The time of the first waiting event; AFTER_ALL if none waits."""
        if not self._waiting:
            return self._alone[0].time if self._alone else AFTER_ALL
        return min(part.events.times.item(0) for part in self._waiting)

    def push(self, batch: EventBatch) -> Ids:
        """Admits the events that are not late; returns the indices of the late ones.

        An event is late iff its time is more than the delay below the largest time on the stream before
        it, or below a watermark that was set by `advance`.
        """
        if not len(batch):
            return _NONE
        self._settle()
        if len(batch) == 1:
            return self._push_one(batch)
        bounds, self._largest = lateness_bounds(batch.times, self._largest, self._delay)
        late = batch.times < np.maximum(bounds, self.watermark)
        arrivals = np.arange(self._arrived, self._arrived + len(batch), dtype=np.int64)
        self._arrived += len(batch)
        self.advance(self._past(self._largest))
        self._admit(batch, arrivals, ~late)
        return np.flatnonzero(late)

    def push_event(self, event: RowEvent) -> bool:
        """As `push` of one event; returns whether it is late. In order it waits as it is, without columns."""
        if event.time < self._largest:
            return len(self.push(event.batch)) > 0
        late = event.time < self.watermark
        self._arrived += 1
        self._largest = event.time
        self.advance(self._past(event.time))
        if not late:
            self._alone.append(event)
            self._check()
        return late

    def passes(self, time_ns: int) -> bool:
        """True if nothing can precede an event that arrives now, and none waits; then it is admitted and released."""
        if self._delay or self._waiting or self._alone or time_ns < self.watermark:
            return False
        self._arrived += 1
        self._largest = self.watermark = time_ns
        return True

    def advance(self, time_ns: int) -> None:
        """No event before this time will arrive, as the stream's producer says."""
        self.watermark = max(self.watermark, time_ns)

    def release_alone(self, bound: int, inclusive: bool) -> list[RowEvent] | None:
        """As `release`, of events that wait without columns; None: some do not."""
        if self._waiting:
            return None
        released, alone = [], self._alone
        while alone and (alone[0].time < bound or (inclusive and alone[0].time == bound)):
            released.append(alone.popleft())
        return released

    def release(self, bound: int, inclusive: bool) -> EventBatch:
        """Takes out the waiting events below the bound, or up to it, in the order (time, arrival)."""
        self._settle()
        if not self._waiting:
            return NO_EVENTS
        released: list[_Sorted] = []
        kept: list[_Sorted] = []
        for part in self._waiting:
            times = part.events.times
            last = times.item(-1)
            if last < bound or (inclusive and last == bound):
                released.append(part)
                continue
            end = int(np.searchsorted(times, bound, side="right" if inclusive else "left"))
            if end:
                released.append(part.between(0, end))
            kept.append(part.between(end, len(part)))
        self._waiting = kept
        return _merged(released).events if released else NO_EVENTS

    def same_from_now_on(self, other: ReorderBuffer) -> bool:
        """True if both will release the same events, whatever arrives."""
        self._settle()
        other._settle()
        mine, theirs = ((b._delay, b._largest, b.watermark, len(b)) for b in (self, other))
        return mine == theirs and (
            not len(self) or _equal(_merged(self._waiting).events, _merged(other._waiting).events)
        )

    def live_ids(self) -> list[Ids]:
        """Columns of every term id of the waiting events."""
        self._settle()
        return [column for part in self._waiting for column in part.events.live_ids]

    def snapshot(self) -> dict[str, Any]:
        """The waiting events and the watermark, for `spaseq.runtime.state.snapshot`."""
        self._settle()
        waiting = [[batch_state(part.events), part.arrivals] for part in self._waiting]
        return layouts.BUFFER.written(
            largest=self._largest, arrived=self._arrived, watermark=self.watermark, waiting=waiting
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a snapshot."""
        state = layouts.BUFFER.read(state)
        self._largest, self._arrived, self.watermark = state["largest"], state["arrived"], state["watermark"]
        self._waiting = [_Sorted(restored_batch(events), arrivals) for events, arrivals in state["waiting"]]

    def _admit(self, batch: EventBatch, arrivals: Ids, admitted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        if not admitted.all():
            batch, arrivals = batch.take(np.flatnonzero(admitted)), arrivals[admitted]
        if not len(batch):
            return
        if bool((batch.times[1:] < batch.times[:-1]).any()):
            order = np.argsort(batch.times, kind="stable")
            batch, arrivals = batch.take(order), arrivals[order]
        self._keep(_Sorted(batch, arrivals))

    def _push_one(self, batch: EventBatch) -> Ids:
        time, bound = batch.times.item(0), max(self._past(self._largest), self.watermark)
        self._arrived += 1
        self._largest = max(self._largest, time)
        self.advance(self._past(self._largest))
        if time < bound:
            return np.zeros(1, dtype=np.int64)
        self._keep(_Sorted(batch, np.array([self._arrived - 1], dtype=np.int64)))
        return _NONE

    def _past(self, time_ns: int) -> int:
        """Events before this are late after an event of that time."""
        return max(BEFORE_ALL, time_ns - self._delay)

    def _keep(self, part: _Sorted) -> None:
        """Adds a part; each is at least twice as long as the next, so there are O(log n) of them."""
        parts = self._waiting
        parts.append(part)
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            parts[-2:] = [_merged(parts[-2:])]
        self._check()

    def _settle(self) -> None:
        """Puts the events that wait without columns, which come after all others, into columns."""
        if self._alone:
            batch = EventBatch.concatenate([event.batch for event in self._alone])
            self._alone.clear()
            self._keep(_Sorted(batch, np.arange(self._arrived - len(batch), self._arrived, dtype=np.int64)))

    def _check(self) -> None:
        if len(self) > WAITING_EVENTS_MAX:
            raise RunError(
                f"more than {WAITING_EVENTS_MAX:,} events of one stream wait in the reorder buffer",
                hint="give a smaller --max-delay, or look for a stream that has stopped while the others continue",
            )


def lateness_bounds(times: Ids, largest: int, delay_ns: int) -> tuple[Ids, int]:
    """For each event the time below which it is late, and the new largest time; `largest` is the one before them."""
    seen = np.maximum.accumulate(np.concatenate(([largest], times)))
    return earlier(seen[:-1], delay_ns), int(seen[-1])


def _equal(one: EventBatch, other: EventBatch) -> bool:
    """True if two batches hold the same events in the same order."""
    columns = ((b.times, b.offsets, b.subjects, b.predicates, b.objects) for b in (one, other))
    same = all(np.array_equal(mine, theirs) for mine, theirs in zip(*columns, strict=True))
    return same and list(one.names) == list(other.names)
