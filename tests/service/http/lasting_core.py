"""A core whose requests last until they are not wanted any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from arrays.progress import advance, expect
from arrays.wanted import check_wanted
from tests.service.http.memory_core import MemoryCore

DONE, OF = 3, 10
"""The progress that its work has made."""


class LastingCore(MemoryCore):
    """Work that goes on until it is not wanted.

    begun, ended    what there was of it
    checks          how often it has asked
    """

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.ended = threading.Event(), threading.Event()
        self.checks = 0
        self.retained = self

    def forget(self) -> None:
        """Nothing has begun."""
        self.begun.clear()
        self.ended.clear()

    def _last(self, *given: Any, **named: Any) -> Any:
        expect(OF)
        advance(DONE)
        self.begun.set()
        try:
            while True:
                check_wanted()
                self.checks += 1
        finally:
            self.ended.set()

    put_query = put_kb = validate = explain = waiting = funnel = newest_events = row_events = vocabulary = _last

    def why(self, name: str, number: int) -> Any:
        """See the core."""
        return self._last()

    def why_not(self, name: str, *given: Any) -> Any:
        """See the core."""
        return self._last()

    def replay(self, name: str, start: str, end: str) -> Iterator[str]:
        """See the core; some rows first."""
        yield from (str(number) for number in range(3))
        self._last()
