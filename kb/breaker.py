"""A circuit breaker for endpoints."""

from __future__ import annotations

import time
from collections.abc import Callable

FAILURES_MAX = 5
"""Failures in a row after which the circuit opens."""
OPEN_S_MIN, OPEN_S_MAX = 0.5, 5.0
"""It stays open this long at first, twice as long each time the probe fails, and never longer."""


class Breaker:
    """Closed it admits every request, open none; after its time one request is admitted as a probe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._open_s = 0.0
        self._until = 0.0

    def delay(self) -> float:
        """Seconds until a request is admitted; 0 admits this one, as the only one if the circuit is open."""
        if not self._open_s:
            return 0.0
        remaining = self._until - self._clock()
        if remaining > 0:
            return remaining
        self._until = self._clock() + self._open_s
        return 0.0

    @property
    def is_open(self) -> bool:
        """True if a request that goes now is a probe."""
        return self._open_s > 0

    def succeeded(self) -> None:
        """The endpoint answered: the circuit is closed."""
        self._failures, self._open_s = 0, 0.0

    def failed(self) -> None:
        """The endpoint failed."""
        self._failures += 1
        if self._failures >= FAILURES_MAX:
            self._open_s = min(OPEN_S_MAX, 2 * self._open_s or OPEN_S_MIN)
            self._until = self._clock() + self._open_s
