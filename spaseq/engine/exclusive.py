"""One thread at a time: another one that calls meanwhile gets an error, and changes nothing."""

from __future__ import annotations

from threading import RLock
from types import TracebackType

from spaseq.errors import InputError


class Exclusive:
    """A context that one thread may enter at a time, and again while it is inside."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            hint = "give each thread an engine of its own, or a queue before one"
            raise InputError("another thread is using the engine", hint=hint)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()
