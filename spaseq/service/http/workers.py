"""The core, called in worker threads: it blocks, and the server must not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CancelScope, CapacityLimiter
from starlette.requests import ClientDisconnect

from spaseq.service.errors import Refused
from spaseq.service.http.problem import later
from spaseq.service.http.work import Ended, Ending, Work, work
from spaseq.service.store.faults import refused

if TYPE_CHECKING:
    from spaseq.service.core.service import Service

PUSHES_MAX = 64
"""Bodies of events in the core at a time: those that wait together for the disk share one commit."""
SHORT_BYTES = 4_096
"""Bodies up to this length, some ten events, take less than a millisecond to read."""
_QUICK = frozenset({"nquads", "trig", "turtle", "ntriples"})
READS_MAX = 16
CHANGES_MAX = 4
"""Requests in worker threads at a time that read, and that change streams and queries; the others wait."""
EXPLANATIONS_MAX = 16
"""Requests for reasons that wait, as one is answered at a time; more are refused."""

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class Workers:
    """The core and the threads that call it; `service` is None while it recovers.

    recovering  that service, once what it says of itself is true
    ending  ends the work of all requests
    busy    the threads that are at work now
    """

    def __init__(self) -> None:
        self.service: Service | None = None
        self.recovering: Service | None = None
        self.ending = Ending()
        self.busy: set[int] = set()
        self._pushes, self._reads, self._changes = map(CapacityLimiter, (PUSHES_MAX, READS_MAX, CHANGES_MAX))
        self._explanations = CapacityLimiter(1)

    @property
    def core(self) -> Service:
        """The service, or the one that recovers; raises Refused (503) while neither can be asked."""
        core = self.service or self.recovering
        if core is None:
            self.check_ready()
        assert core is not None
        return core

    def check_ready(self) -> None:
        """Raises Refused (503) while the service recovers, with how far it is."""
        if self.service is None:
            known = {"position": 0, "of": 0, "query": None} if self.recovering is None else self.recovering.recovering
            refusal = later("the service reads its log: ask again")
            raise Refused(503, refusal.title, refusal.detail, members={"recovering": known}, headers=refusal.headers)

    def recover_with(self, service: Service) -> None:
        """Ask this service while it recovers."""
        self.recovering = service

    async def accepted(self, stream: str, body: bytes, body_format: str, **named: str | None) -> dict[str, Any]:
        """The answer of 202 about a body, once its events are on disk.

        A short one is read here, if no other thread is in the way: its way to a thread and back takes longer.
        """
        promise = None
        if len(body) <= SHORT_BYTES and body_format in _QUICK:
            promise = self.core.begin_at_once(stream, body, body_format, **named)
        if promise is None:
            promise = await self.push(self.core.begin, stream, body, body_format, **named)
        if promise.future is not None and not promise.future.done():
            loop, written = asyncio.get_running_loop(), asyncio.Event()
            promise.future.add_done_callback(lambda _: loop.call_soon_threadsafe(written.set))
            await written.wait()
        return promise.kept()

    async def push(self, call: Callable[_Given, _Answer], *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        """The answer of a call that accepts events; it goes on when the client has gone away."""
        return await self._called(partial(call, *given, **named), self._pushes, None)

    async def read(self, call: Callable[_Given, _Answer], *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        """The answer of a call that reads."""
        return await self._called(partial(call, *given, **named), self._reads, work())

    async def explain(self, call: Callable[_Given, _Answer], *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        """The answer of a call that looks into the past; raises Refused (503) if too many wait for theirs."""
        if self._explanations.statistics().tasks_waiting >= EXPLANATIONS_MAX:
            raise later("others wait for reasons already: ask again", seconds=5)
        return await self._called(partial(call, *given, **named), self._explanations, work())

    async def change(self, call: Callable[_Given, _Answer], *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        """The answer of a call that changes what is declared."""
        return await self._called(partial(call, *given, **named), self._changes, work())

    async def _called(self, call: Callable[[], _Answer], limiter: CapacityLimiter, begun: Work | None) -> _Answer:
        """The answer of a call in a worker thread; a fault of the disk, or damage, is Refused.

        Of work that has ended the reason is raised. A task that is cancelled has its thread told.
        """
        with refused():
            if begun is None:
                return await anyio.to_thread.run_sync(self._counted, call, limiter=limiter)
            scope = CancelScope()
            watch = asyncio.create_task(_watched(begun, scope))
            try:
                with scope:
                    return await anyio.to_thread.run_sync(self._counted, partial(begun.done, call), limiter=limiter)
                raise Ended(ClientDisconnect())  # it still waited for a thread
            except Ended as ended:
                raise ended.reason from None
            except asyncio.CancelledError:
                begun.give_up()
                raise
            finally:
                watch.cancel()

    def _counted(self, call: Callable[[], _Answer]) -> _Answer:
        """The answer of a call, in its thread."""
        self.busy.add(own := threading.get_ident())
        try:
            return call()
        finally:
            self.busy.discard(own)


async def _watched(begun: Work, scope: CancelScope) -> None:
    """End a wait for a thread when the client goes away; a thread at work is told."""
    await begun.until_gone()
    scope.cancel()
