"""The last time slot of a stream: all events of one time, which evaluators may need together."""

from __future__ import annotations

import numpy as np

from sparql_gpm.columns import EventBatch
from sparql_gpm.shared import Slice


class OpenSlot:
    """Holds the events of the last time back, because more of that time may arrive.

    With several streams the merged order never cuts a slot; with one, a slot is complete with the first later event.
    """

    def __init__(self) -> None:
        self._held: Slice | None = None

    def complete(self, slice_: Slice) -> Slice:
        """The events up to the last complete slot, those held before among them."""
        held = self._held
        if held is not None and len(slice_) == 1 and slice_.last_time > held.last_time:
            self._held = slice_
            return held
        batch = EventBatch.concatenate([self.events, slice_.batch])
        cut = int(np.searchsorted(batch.times, batch.times[-1], "left"))
        self._held = Slice(batch.between(cut, len(batch)))
        return Slice(batch.between(0, cut))

    def take(self, time: int) -> Slice | None:
        """The slot, complete once no event at or before `time` will arrive; None if it is not, or has no event."""
        held = self._held
        if held is None or held.last_time > time:
            return None
        self._held = None
        return held

    def earliest(self, time: int) -> int:
        """The smaller of this time and that of the slot."""
        return time if self._held is None else min(time, self._held.last_time)

    @property
    def events(self) -> EventBatch:
        """The events of the slot."""
        return EventBatch.empty() if self._held is None else self._held.batch

    def restore(self, events: EventBatch) -> None:
        """Continues with the events of a slot."""
        self._held = Slice(events) if len(events) else None
