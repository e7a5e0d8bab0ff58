"""The sizes of the states of queries, measured in a small share of the time of the thread that matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.embedded.reader_state import reader_state
from spaseq.runtime.state.snapshot import state_bytes
from spaseq.service.core.groups import Running

MEASURED_SHARE = 0.02
"""Of the time of the thread that matches, at most: after a look that measured, none does for so long."""
MEASURED_S_MAX = 0.02
"""Seconds after which a look measures no further state; the one that it measures then is measured whole."""


class Sizes:
    """Measures states of queries, those first that were measured longest ago."""

    def __init__(self, dictionary: Dictionary, clock: Callable[[], float] = time.monotonic) -> None:
        self._dictionary, self._clock = dictionary, clock
        self._rests_until = 0.0

    @property
    def due(self) -> bool:
        """True once the last measuring lies back so far that another one keeps the share."""
        return self._clock() >= self._rests_until

    def measure(self, some: Iterable[Running]) -> None:
        """Measure states between two slices, as far as there is time; one costs what its snapshot does."""
        if not self.due:
            return
        begun = self._clock()
        for running in sorted(some, key=lambda each: each.measured_at):
            running.state_bytes = state_bytes(reader_state(running.reader), self._dictionary)
            running.measured_at = now = self._clock()
            if now - begun > MEASURED_S_MAX:
                break
        now = self._clock()
        self._rests_until = now + (now - begun) / MEASURED_SHARE
