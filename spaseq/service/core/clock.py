"""The clock of the service, which tests replace."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks in nanoseconds."""

    def wall(self) -> int:
        """The time of day, since the epoch."""

    def steady(self) -> int:
        """A time that never goes back; it means something within one process only."""


class SystemClock:
    """The clocks of the machine."""

    def wall(self) -> int:
        """The time of day, since the epoch."""
        return time.time_ns()

    def steady(self) -> int:
        """A time that never goes back."""
        return time.monotonic_ns()
