"""Small batches of events for tests of order: an event is its time and its number, and has one triple."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparql_gpm.columns import EventBatch, as_ids

SECOND = 10**9


def batch_of(times: Sequence[int], first: int = 0, stream: int = 0) -> EventBatch:
    """Events with these times, named by stream and number; event n has n % 3 triples, all of one id of its own."""
    numbers = range(first, first + len(times))
    counts = [number % 3 for number in numbers]
    column = as_ids([1000 * stream + number + 1 for number in numbers for _ in range(number % 3)])
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    names = [f"{stream}:{number}" for number in numbers]
    return EventBatch(as_ids(times), np.zeros(len(times), dtype=np.int64), names, offsets, column, column, column)


def events(batch: EventBatch) -> list[tuple[int, str]]:
    """The (time, name) of each event, once its triples are seen to be its own."""
    for index, name in enumerate(batch.names):
        stream, number = (int(part) for part in name.split(":"))
        rows = slice(int(batch.offsets[index]), int(batch.offsets[index + 1]))
        for column in (batch.subjects, batch.predicates, batch.objects):
            assert column[rows].tolist() == [1000 * stream + number + 1] * (number % 3)
    return list(zip(batch.times.tolist(), batch.names, strict=True))
