"""Putting the events of one stream into order: what is late, what may be given out, what must wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from spaseq.errors import RunError
from spaseq.runtime.snapshot import batch_state, restored_batch

BEFORE_ALL = -(2**63)
"""The watermark of a stream on which nothing has been seen."""
AFTER_ALL = 2**63 - 1
"""The watermark of a stream that has ended."""
WAITING_EVENTS_MAX = 50_000_000
"""More events than this do not wait in a buffer: the run fails rather than exhaust the memory."""
NOTHING = EventBatch.empty()
"""No event."""
_NONE: Ids = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Run:
    """Events in the order (time, arrival), and the number of each one's arrival."""

    events: EventBatch
    arrivals: Ids

    def __len__(self) -> int:
        return len(self.events)

    def part(self, begin: int, end: int) -> _Run:
        events = self.events
        if begin == 0 and end == len(events):
            return self
        offsets = events.offsets[begin : end + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        return _Run(
            EventBatch(
                events.times[begin:end],
                events.streams[begin:end],
                events.names[begin:end],
                offsets - offsets[0],
                events.subjects[rows],
                events.predicates[rows],
                events.objects[rows],
            ),
            self.arrivals[begin:end],
        )


def _merged(runs: list[_Run]) -> _Run:
    """Several runs as one; at least one."""
    if len(runs) == 1:
        return runs[0]
    events = EventBatch.concatenate([run.events for run in runs])
    arrivals = np.concatenate([run.arrivals for run in runs])
    order = np.lexsort((arrivals, events.times))
    if bool((order[1:] > order[:-1]).all()):
        return _Run(events, arrivals)
    return _Run(events.take(order), arrivals[order])


class ReorderBuffer:
    """The events of one stream that may still be overtaken.

    watermark   no event with a smaller time will be admitted any more; one with this very time may be
    """

    def __init__(self, delay_ns: int = 0) -> None:
        assert delay_ns >= 0, delay_ns
        self._delay = delay_ns
        self._largest = BEFORE_ALL
        self._arrived = 0
        self._runs: list[_Run] = []
        self.watermark = BEFORE_ALL

    def __len__(self) -> int:
        """The number of events that wait."""
        return sum(len(run) for run in self._runs)

    def push(self, batch: EventBatch) -> Ids:
        """Admit the events that are not late; gives the indices of the late ones.

        An event is late iff its time is more than the delay below the largest time seen on the stream before
        it, or below a watermark that was set by `advance`.
        """
        if not len(batch):
            return _NONE
        if len(batch) == 1:
            return self._push_one(batch)
        seen = np.maximum.accumulate(np.concatenate(([self._largest], batch.times)))
        bounds = np.maximum(_less(seen[:-1], self._delay), self.watermark)
        late = batch.times < bounds
        arrivals = np.arange(self._arrived, self._arrived + len(batch), dtype=np.int64)
        self._arrived += len(batch)
        self._largest = int(seen[-1])
        self.advance(int(_less(seen[-1:], self._delay)[0]))
        self._admit(batch, arrivals, ~late)
        return np.flatnonzero(late)

    def passes(self, time_ns: int) -> bool:
        """Whether nothing can precede an event that comes now, and nothing waits; then it has come and gone."""
        if self._delay or self._runs or time_ns < self.watermark:
            return False
        self._arrived += 1
        self._largest = self.watermark = time_ns
        return True

    def advance(self, time_ns: int) -> None:
        """No event before this time is to come any more, as the stream's producer says."""
        self.watermark = max(self.watermark, time_ns)

    def release(self, bound: int, inclusive: bool) -> EventBatch:
        """Take out the waiting events below the bound, or up to it, in the order (time, arrival)."""
        if not self._runs:
            return NOTHING
        taken: list[_Run] = []
        kept: list[_Run] = []
        for run in self._runs:
            last = run.events.times.item(-1)
            if last < bound or (inclusive and last == bound):
                taken.append(run)
                continue
            end = int(np.searchsorted(run.events.times, bound, side="right" if inclusive else "left"))
            if end:
                taken.append(run.part(0, end))
            kept.append(run.part(end, len(run)))
        self._runs = kept
        return _merged(taken).events if taken else NOTHING

    def same_from_now_on(self, other: ReorderBuffer) -> bool:
        """Whether another buffer is in the same state: both will give out the same whatever comes."""
        mine, theirs = ((b._delay, b._largest, b.watermark, len(b)) for b in (self, other))
        return mine == theirs and (not len(self) or _equal(_merged(self._runs).events, _merged(other._runs).events))

    def live(self) -> list[Ids]:
        """The columns of ids that wait here, for Dictionary.retain."""
        return [
            column for run in self._runs for column in (run.events.subjects, run.events.predicates, run.events.objects)
        ]

    def snapshot(self) -> dict[str, Any]:
        """What waits, and how far the stream has come; see spaseq.runtime.snapshot."""
        waiting = [[batch_state(run.events), run.arrivals] for run in self._runs]
        return {"largest": self._largest, "arrived": self._arrived, "watermark": self.watermark, "waiting": waiting}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._largest, self._arrived, self.watermark = state["largest"], state["arrived"], state["watermark"]
        self._runs = [_Run(restored_batch(events), arrivals) for events, arrivals in state["waiting"]]

    def _admit(self, batch: EventBatch, arrivals: Ids, admitted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Keep the admitted events as a run."""
        if not admitted.all():
            batch, arrivals = batch.take(np.flatnonzero(admitted)), arrivals[admitted]
        if not len(batch):
            return
        if bool((batch.times[1:] < batch.times[:-1]).any()):
            order = np.argsort(batch.times, kind="stable")
            batch, arrivals = batch.take(order), arrivals[order]
        self._keep(_Run(batch, arrivals))

    def _push_one(self, batch: EventBatch) -> Ids:
        """`push` of one event."""
        time, bound = batch.times.item(0), max(self._past(self._largest), self.watermark)
        self._arrived += 1
        self._largest = max(self._largest, time)
        self.advance(self._past(self._largest))
        if time < bound:
            return np.zeros(1, dtype=np.int64)
        self._keep(_Run(batch, np.array([self._arrived - 1], dtype=np.int64)))
        return _NONE

    def _past(self, time_ns: int) -> int:
        """Events before this are late once one of that time has been seen."""
        return max(BEFORE_ALL, time_ns - self._delay)

    def _keep(self, run: _Run) -> None:
        """One more run; each is at least twice as long as the next, so there are O(log n) of them."""
        runs = self._runs
        runs.append(run)
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            runs[-2:] = [_merged(runs[-2:])]
        if len(self) > WAITING_EVENTS_MAX:
            raise RunError(
                f"more than {WAITING_EVENTS_MAX:,} events of one stream wait for their turn",
                hint="give a smaller --max-delay, or look for a stream that has stopped while the others go on",
            )


def _less(times: Ids, delay_ns: int) -> Ids:
    """times − delay, without wrapping below BEFORE_ALL."""
    return np.where(times < BEFORE_ALL + delay_ns, BEFORE_ALL, times - delay_ns)


def _equal(one: EventBatch, other: EventBatch) -> bool:
    """Whether two batches hold the same events in the same order."""
    columns = ((b.times, b.offsets, b.subjects, b.predicates, b.objects) for b in (one, other))
    same = all(np.array_equal(mine, theirs) for mine, theirs in zip(*columns, strict=True))
    return same and list(one.names) == list(other.names)
