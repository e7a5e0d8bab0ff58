"""Graphs of events that conditions with EXISTS may still read, by position in the merged order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from spaseq.runtime.state.snapshot import batch_state, restored_batch


class KeptGraphs:
    """Slices of events, each with the position of its first event."""

    def __init__(self) -> None:
        self._slices: list[tuple[int, EventBatch]] = []

    def add(self, first: int, batch: EventBatch) -> None:
        """Adds the next slice, whose first event has this position."""
        self._slices.append((first, batch))

    def forget(self, before: int) -> None:
        """Drops the slices that end before a position."""
        if self._slices:
            self._slices = [(first, batch) for first, batch in self._slices if first + len(batch) > before]

    def take(self, positions: Ids) -> tuple[EventBatch, Ids]:
        """The events at these positions, each once, and for each position the event's index among them."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        parts = []
        for first, batch in self._slices:
            begin, end = np.searchsorted(distinct, (first, first + len(batch)))
            if begin < end:
                parts.append(batch.take(distinct[begin:end] - first))
        return EventBatch.concatenate(parts or [EventBatch.empty()]), inverse.astype(np.int64).ravel()

    def live_ids(self) -> list[Ids]:
        """Columns of every id in the graphs."""
        return [ids for _, batch in self._slices for ids in batch.terms]

    def snapshot(self, position: int) -> list[Any]:
        """The events from a position on, for `spaseq.runtime.state.snapshot`."""
        cuts = [(max(0, position - first), first, batch) for first, batch in self._slices]
        return [
            [first + begin, batch_state(batch.between(begin, len(batch)))]
            for begin, first, batch in cuts
            if begin < len(batch)
        ]

    def restore(self, state: Iterable[Any]) -> None:
        """Continues from a snapshot."""
        self._slices = [(first, restored_batch(batch)) for first, batch in state]
