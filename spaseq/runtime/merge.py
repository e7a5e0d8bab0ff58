"""Several streams in the merged order of specification 1: by time, then stream, then arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from spaseq.runtime.reorder import AFTER_ALL, NOTHING, ReorderBuffer


class Merger:
    """Takes events stream by stream and gives them out in merged order.

    streams     how many; they are numbered by their position in the query's FROM clauses
    delay_ns    by how much the events of a stream may be late: one number for all, or one for each

    An event is given out as soon as nothing before it in merged order can come: with one stream, up to its
    watermark; with several, below the smallest watermark of those still open, so that all events of one time come
    together.
    """

    def __init__(self, streams: int, delay_ns: int | Sequence[int] = 0) -> None:
        delays = [delay_ns] * streams if isinstance(delay_ns, int) else list(delay_ns)
        assert streams > 0 and len(delays) == streams, (streams, delays)
        self._buffers = [ReorderBuffer(delay) for delay in delays]
        self._open = [True] * streams

    def __len__(self) -> int:
        """The number of events that wait."""
        return sum(len(buffer) for buffer in self._buffers)

    @property
    def watermark(self) -> int:
        """No event with a smaller time is to come on any stream; AFTER_ALL when all are closed."""
        if len(self._buffers) == 1:
            return self.watermark_of(0)
        return min([self.watermark_of(stream) for stream in range(len(self._buffers))])

    def watermark_of(self, stream: int) -> int:
        """No event with a smaller time is to come on this stream; AFTER_ALL when it is closed."""
        return self._buffers[stream].watermark if self._open[stream] else AFTER_ALL

    def push(self, stream: int, batch: EventBatch) -> Ids:
        """Take events as they arrived on a stream; gives the indices of the late ones, which go nowhere."""
        assert self._open[stream], f"stream {stream} is closed"
        if len(batch) == 1 and batch.streams.item(0) == stream:
            return self._buffers[stream].push(batch)
        streams = np.full(len(batch), stream, dtype=np.int64)
        columns = batch.offsets, batch.subjects, batch.predicates, batch.objects
        return self._buffers[stream].push(EventBatch(batch.times, streams, batch.names, *columns))

    def passes(self, time_ns: int) -> bool:
        """Whether an event of the only stream, coming now, is the next to be given out; then it has been."""
        return len(self._buffers) == 1 and self._open[0] and self._buffers[0].passes(time_ns)

    def advance(self, stream: int, time_ns: int) -> None:
        """Nothing before this time is to come on the stream any more: for streams that another query derives."""
        self._buffers[stream].advance(time_ns)

    def close(self, stream: int) -> None:
        """Nothing is to come on the stream any more."""
        self._open[stream] = False

    def close_all(self) -> None:
        """Nothing is to come at all."""
        self._open = [False] * len(self._open)

    def ready(self) -> EventBatch:
        """Take out, in merged order, all events that nothing can precede any more; it may be none."""
        bound = self.watermark
        inclusive = len(self._buffers) == 1 or bound == AFTER_ALL
        parts = [part for buffer in self._buffers if len(part := buffer.release(bound, inclusive))]
        if not parts:
            return NOTHING
        merged = EventBatch.concatenate(parts)
        if len(parts) == 1:
            return merged
        order = np.argsort(merged.times, kind="stable")
        return merged if bool((order[1:] > order[:-1]).all()) else merged.take(order)

    def snapshot(self) -> dict[str, Any]:
        """What waits, and which streams are open; see spaseq.runtime.snapshot."""
        return {"open": list(self._open), "buffers": [buffer.snapshot() for buffer in self._buffers]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._open = list(state["open"])
        for buffer, waiting in zip(self._buffers, state["buffers"], strict=True):
            buffer.restore(waiting)

    def same_from_now_on(self, other: Merger) -> bool:
        """Whether a merger of as many streams is in the same state: both will give out the same whatever comes."""
        buffers = zip(self._buffers, other._buffers, strict=True)
        return self._open == other._open and all(mine.same_from_now_on(theirs) for mine, theirs in buffers)

    def live(self) -> list[Ids]:
        """The columns of ids that wait here, for Dictionary.retain."""
        return [column for buffer in self._buffers for column in buffer.live()]
