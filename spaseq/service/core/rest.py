"""Pauses of the thread that matches, before the disk is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Generic, TypeVar

READ_AGAIN_S = 1.0
"""Pause before a file is read again that the disk did not give."""
_T = TypeVar("_T")


class Rest:
    """Pauses while a service is at work: what fails before it is, or when it ends, is not tried again."""

    def __init__(self) -> None:
        self._is_at_work, self._ended = False, Event()

    def begin(self) -> None:
        """The service is at work."""
        self._is_at_work = True

    def end(self) -> None:
        """The service ends: what it has not done, it does again from the log when it starts."""
        self._ended.set()

    def after(self, error: Exception, seconds: float) -> None:
        """Wait after a fault; raises it if there is no other try."""
        if not self._is_at_work or self._ended.wait(seconds):
            raise error


class UntilFault(Generic[_T]):
    """Items that are read from files, up to one that cannot be read; `fault` is the reason then."""

    def __init__(self, items: Iterator[_T]) -> None:
        self._items = items
        self.fault: OSError | None = None

    def __iter__(self) -> Iterator[_T]:
        while True:
            try:
                item = next(self._items)
            except StopIteration:
                return
            except OSError as error:
                self.fault = error
                return
            yield item
