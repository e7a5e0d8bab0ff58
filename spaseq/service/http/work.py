"""The work that a request begins in other threads: it ends with its client, the service, or at the limit `request`.

The work asks with `arrays.wanted.check_wanted`, in the thread that it goes on in; the event loop only says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from arrays.progress import Progress, counted
from arrays.wanted import NotWanted, while_wanted
from spaseq.service.errors import Refused
from spaseq.service.http.problem import later

_Answer = TypeVar("_Answer")
_current: ContextVar[Work | None] = ContextVar("work", default=None)


class Ended(NotWanted):
    """The work of a request is not wanted any more; `reason` is raised where its answer is waited for."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Ending:
    """The service is to end, once a signal handler has said so."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """No request is worked on any more."""
        self.begun = True


class Work:
    """The work of one request; its calls follow each other, in whichever threads.

    receive     tells of the client that goes away, once the body has been read
    seconds     processor time; infinite: any
    ending      of the service
    """

    def __init__(self, receive: Receive, seconds: float, ending: Ending) -> None:
        self._receive, self._seconds, self._ending = receive, seconds, ending
        self._gone = False
        self._used, self._until, self._look_at = 0.0, math.inf, 0.0
        self.progress = Progress()

    async def until_gone(self) -> None:
        """Wait until the client has gone away; then the work is to end."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.give_up()

    def give_up(self) -> None:
        """Nobody waits for the answer any more."""
        self._gone = True

    def done(self, call: Callable[[], _Answer]) -> _Answer:
        """The answer of a call in this thread; raises Ended."""
        begun = time.thread_time()
        self._until, self._look_at = begun + self._seconds - self._used, 0.0
        try:
            with while_wanted(self._check), counted(self.progress):
                self._check()
                return call()
        finally:
            self._used += time.thread_time() - begun

    def _check(self) -> None:
        if self._gone:
            raise Ended(ClientDisconnect())
        if self._ending.begun:
            raise Ended(later("the service ends: ask again when it has started"))
        if time.monotonic() > self._look_at:
            self._check_time()

    def _check_time(self) -> None:
        """Raises Ended if the processor time is used up; else it is not before as much time has passed."""
        left = self._until - time.thread_time()
        if left < 0:
            raise Ended(self._too_long())
        self._look_at = time.monotonic() + left

    def _too_long(self) -> Refused:
        detail = (
            f"it takes more than {self._seconds:g} s of processor time, the limit 'request': ask for less, such as a "
            "shorter period, or raise the limit in [limits] of the configuration"
        )
        progress = {"done": self.progress.done, "of": self.progress.of}
        return Refused(503, "Not now", detail, members={"progress": progress}, headers={"Retry-After": "60"})


def work() -> Work | None:
    """The work of the request that is being answered here; None: it has none that takes long."""
    return _current.get()


@contextmanager
def working(begun: Work) -> Iterator[None]:
    """Inside, a request is being answered whose work this is."""
    token = _current.set(begun)
    try:
        yield
    finally:
        _current.reset(token)
