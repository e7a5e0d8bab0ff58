"""Readers of several streams drawn upon in step, so that little waits in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from sparql_gpm.columns import EventBatch, Ids
from spaseq.runtime.merge import Merger
from spaseq.runtime.sources import SourceBatch

Arrived = TypeVar("Arrived", bound=EventBatch | SourceBatch)


def feed(
    readers: Mapping[int, Iterator[Arrived]],
    merger: Merger,
    on_late: Callable[[int, Arrived, Ids], None],
) -> Iterator[EventBatch]:
    """All events in merged order, drawing always on the stream whose watermark is lowest.

    readers     by the position of the stream; streams of the merger without a reader are fed by the caller
    on_late     is told the stream, a batch just read, and the indices of its late events

    Batches are never empty. While one is being worked on, `merger.live()` is all that still waits here.
    """
    waiting = dict(readers)
    while waiting:
        stream = min(waiting, key=lambda position: (merger.watermark_of(position), position))
        arrived = next(waiting[stream], None)
        if arrived is None:
            del waiting[stream]
            merger.close(stream)
        else:
            late = merger.push(stream, arrived if isinstance(arrived, EventBatch) else arrived.events)
            if len(late):
                on_late(stream, arrived, late)
        if len(ready := merger.ready()):
            yield ready
