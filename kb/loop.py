"""A thread with an event loop, so that synchronous code can have several requests in flight."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from arrays.wanted import awaited

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for synchronous callers; it starts on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; a wait that is interrupted, or not wanted any more, cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return awaited(future)
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the thread, which starts again on the next use."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="spaseq-endpoints", daemon=True)
            self._thread.start()
        return self._loop
