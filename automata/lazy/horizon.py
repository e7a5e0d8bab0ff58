"""Expiry: buffered events and partial matches that no event to come can join (specification 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL, earlier
from automata.lazy import partial as lazy_partial
from automata.lazy.partial import Rows
from automata.plan.program import Window
from automata.slices import step_buffer
from automata.slices.step_buffer import Buffer
from automata.slices.timeline import Timeline, window_numbers
from automata.values import Ids, Mask

_NO_TIME = -(1 << 61)
"""BEFORE_ALL in old states. Where it is a time, an earlier one only keeps more until the next slice."""


class Horizon:
    """The oldest that can still be in a match with an event at or after some time."""

    def __init__(self, window: Window, timeline: Timeline) -> None:
        self._window = window
        self.timeline = timeline
        self._time = BEFORE_ALL
        self._period: int | None = None

    def advance(self, time: int) -> bool:
        """No event before `time` will come; whether a window has passed since this was last so."""
        self._time = max(self._time, time)
        now = self.timeline.position if self._window.in_events else self._time
        period = (now - self._window.start) // self._window.size
        passed = self._period is not None and period != self._period
        self._period = period
        return passed

    @property
    def time(self) -> int:
        """No event before it will come."""
        return self._time

    def snapshot(self) -> list[int | None]:
        """The current time and its period."""
        return [self._time, self._period]

    def restore(self, state: list[Any]) -> None:
        """Go on from there."""
        self._time, self._period = state
        if self._time == _NO_TIME:
            self._time = BEFORE_ALL

    def oldest_time(self) -> int:
        """No match to come has an event before this time; without meaning for windows of events."""
        if self._window.sliding:
            return earlier(self._time, self._window.size)
        return self._time - (self._time - self._window.start) % self._window.size

    def alive(self, rows: Rows) -> Mask:
        """A mask of the partial matches that can still grow."""
        columns = (lazy_partial.TIME_MIN, lazy_partial.RANK_MIN, lazy_partial.WINDOW, lazy_partial.PARTITION)
        return self._alive(*rows[:, columns].T)

    def forget(self, buffer: Buffer, reach: int) -> None:
        """Drops the buffer's events before the first that is still alive, and those more than `reach` ago."""
        if reach < AFTER_ALL:
            buffer.forget(int(buffer.number(step_buffer.TIME, np.array([earlier(self._time, reach)]))[0]))
        columns = (step_buffer.TIME, step_buffer.RANK, step_buffer.WINDOW, step_buffer.PARTITION)
        if self._window.in_events:
            alive = self._alive(*(buffer.column(column) for column in columns))
            buffer.forget(buffer.first + int(alive.argmax()) if alive.any() else buffer.end)
        else:
            buffer.forget(int(buffer.number(step_buffer.TIME, np.array([max(self.oldest_time(), BEFORE_ALL)]))[0]))

    def _alive(self, times: Ids, ranks: Ids, windows: Ids, partitions: Ids) -> Mask:
        if self._window.in_events:
            return self.timeline.lasts(self._window, partitions, ranks)
        result: Mask
        if self._window.sliding:
            result = times >= self.oldest_time()
        else:
            result = windows >= window_numbers(self._window, np.array([self._time]), np.zeros(1, dtype=np.int64))
        return result
