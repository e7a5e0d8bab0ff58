"""An engine whose calls are awaited and whose matches are iterated over, with a wall clock for silent streams.

    async with AsyncEngine(idle_timeout=5) as engine:
        matches = engine.matches(query)
        await engine.push("http://…/stream", graph, time)
        async for match in matches: ...

Everything runs in the thread of the event loop: between two calls, never inside one, other tasks go on.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self

from spaseq.engine.async_registration import AsyncMatches, AsyncOnMatch, AsyncRegistration
from spaseq.engine.live import Engine
from spaseq.engine.options import Statistics
from spaseq.engine.setup import Knowledge
from spaseq.errors import InputError, RunError
from spaseq.inputs.pushed import Graph
from spaseq.inputs.terms import Time
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row

WAITING_ROWS_MAX = 10_000
"""Rows of a query that wait to be iterated over, if nothing else is said; until there are fewer a push waits."""
TICK_S = 1.0
"""Silence is counted to so many seconds."""
_SECOND = 1_000_000_000


class AsyncEngine:
    """See `Engine`; each of its calls is awaited here.

    idle_timeout    seconds without an event after which a stream no longer holds others back, one number for all or
                    by the name or IRI of a stream; None: it is waited for. Its watermark is then the largest time of an
                    event less `max_delay_ns`, and moves with the wall clock; before its first event it is that of the
                    wall clock, less `max_delay_ns`
    max_waiting     rows that may wait for each `matches`
    clock           of the wall, in nanoseconds since the epoch
    """

    def __init__(
        self,
        kb: Knowledge | None = None,
        history: bool = False,
        *,
        idle_timeout: float | Mapping[str, float] | None = None,
        max_waiting: int = WAITING_ROWS_MAX,
        clock: Callable[[], int] = time.time_ns,
        **options: Any,
    ) -> None:
        self._begin(Engine(kb, history, **options), idle_timeout, max_waiting, clock)

    def _begin(
        self,
        engine: Engine,
        idle_timeout: float | Mapping[str, float] | None,
        max_waiting: int,
        clock: Callable[[], int],
    ) -> None:
        given = idle_timeout.values() if isinstance(idle_timeout, Mapping) else (idle_timeout,)
        if not all(each is None or _is_positive(each) for each in given):
            raise InputError(
                f"idle_timeout is a positive number of seconds, or numbers by stream, not {idle_timeout!r}"
            )
        if not isinstance(max_waiting, int) or max_waiting < 1:
            raise InputError(f"max_waiting is a number of rows from 1 on, not {max_waiting!r}")
        self._engine = engine
        self._idle_timeout, self._max_waiting, self._clock = idle_timeout, max_waiting, clock
        self._found: deque[tuple[AsyncOnMatch, Row]] = deque()
        self._matches: dict[AsyncMatches, None] = {}
        self._room = asyncio.Event()
        self._since: dict[str, int] = {}
        self._ticking: asyncio.Task[None] | None = None
        self._failure: RunError | None = None

    @classmethod
    def restore(
        cls,
        snapshot: bytes,
        kb: Knowledge | None = None,
        on_match: AsyncOnMatch | Mapping[str, AsyncOnMatch] | None = None,
        *,
        idle_timeout: float | Mapping[str, float] | None = None,
        max_waiting: int = WAITING_ROWS_MAX,
        clock: Callable[[], int] = time.time_ns,
        **options: Any,
    ) -> Self:
        """See `Engine.restore`; streams are silent from now on."""
        found: deque[tuple[AsyncOnMatch, Row]] = deque()

        def taken(function: Any) -> Any:
            return (lambda row: found.append((function, row))) if callable(function) else function

        functions = {name: taken(each) for name, each in on_match.items()} if isinstance(on_match, Mapping) else None
        engine = Engine.restore(snapshot, kb, functions if functions is not None else taken(on_match), **options)
        made = cls.__new__(cls)
        made._begin(engine, idle_timeout, max_waiting, clock)
        made._found = found
        return made

    @property
    def statistics(self) -> Statistics:
        """See `Engine`."""
        return self._engine.statistics

    @property
    def registrations(self) -> tuple[AsyncRegistration, ...]:
        """The registered queries, in the order in which they came."""
        return tuple(AsyncRegistration(each, self._after) for each in self._engine.registrations)

    async def register(
        self, query: Query, on_match: AsyncOnMatch | None = None, max_runs: int | None = None
    ) -> AsyncRegistration:
        """See `Engine.register`; what the function returns is awaited if it can be."""
        if on_match is not None and not callable(on_match):
            raise InputError(f"on_match is a function of a row, not {type(on_match).__name__}")
        function = on_match and (lambda row: self._found.append((on_match, row)))
        registration = self._engine.register(query, function, max_runs)
        self._tick_from_now_on()
        return AsyncRegistration(registration, self._after)

    def matches(self, query: Query, max_runs: int | None = None) -> AsyncMatches:
        """The rows of a query over the events pushed from now on; see `AsyncMatches`.

        While `max_waiting` of them wait, a push waits, unless the task that iterates over them pushes itself.
        """
        self._tick_from_now_on()
        matches = AsyncMatches(self._max_waiting, self._forget, self._room)
        matches.begin(self._engine.register(query, matches.take, max_runs))
        self._matches[matches] = None
        return matches

    async def push(self, stream: str, graph: Graph, time: Time, name: str | None = None) -> None:
        """See `Engine.push`; waits while too many rows wait."""
        await self._run(lambda: self._engine.push(stream, graph, time, name), stream)

    async def push_batch(self, stream: str, data: Any, format: str = "nquads") -> None:
        """See `Engine.push_batch`; waits while too many rows wait. The event loop waits for the whole batch."""
        await self._run(lambda: self._engine.push_batch(stream, data, format), stream)

    async def advance(self, stream: str, time: Time) -> None:
        """See `Engine.advance`."""
        await self._run(lambda: self._engine.advance(stream, time))

    async def snapshot(self) -> bytes:
        """See `Engine.snapshot`; rows that wait to be iterated over are not in it."""
        return self._engine.snapshot()

    async def zero_rows(self) -> list[str]:
        """See `Engine.zero_rows`."""
        return self._engine.zero_rows()

    async def close(self, flush: bool = True) -> None:
        """See `Engine.close`; then the iterations over matches end."""
        try:
            self._engine.close(flush)
            await self._after()
        finally:
            await self._end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            self._engine.__exit__(kind, error, traceback)
            await self._end()

    async def _end(self) -> None:
        for matches in list(self._matches):
            matches.end()
        self._matches.clear()
        self._room.set()
        if (ticking := self._ticking) is not None and ticking is not asyncio.current_task():
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking

    async def _run(self, call: Callable[[], None], stream: str | None = None) -> None:
        """A call that changes the engine, once there is room for its rows; of a push, its stream is not silent."""
        while any(each.is_full for each in self._matches):
            self._room.clear()
            await self._room.wait()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._tick_from_now_on()
        if stream is not None:
            self._since[self._engine.iri_of(stream)] = self._clock()
        try:
            call()
        finally:
            await self._after()

    async def _after(self) -> None:
        """Rows go to their functions, and iterations over queries that were stopped end."""
        for matches in [each for each in self._matches if each.registration.stopped]:
            matches.end(RunError(f"query '{matches.registration.name}' was stopped"))
            self._forget(matches)
        while self._found:
            function, row = self._found.popleft()
            if isawaitable(result := function(row)):
                await result

    def _forget(self, matches: AsyncMatches) -> None:
        self._matches.pop(matches, None)
        self._room.set()

    def _tick_from_now_on(self) -> None:
        if self._idle_timeout is not None and self._ticking is None:
            self._ticking = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        """Lets the watermarks of silent streams move with the wall clock."""
        while True:
            await self.look_at_the_clock()
            await asyncio.sleep(TICK_S)

    async def look_at_the_clock(self) -> None:
        """Move the watermarks of silent streams to where they are now; done every `TICK_S` seconds."""
        now = self._clock()
        for name, iri in self._engine.pushed_streams():
            timeout = self._timeout(name, iri)
            since = self._since.setdefault(iri, now)
            if timeout is None or now - since < timeout * _SECOND:
                continue
            try:
                self._engine.advance_idle(iri, now - since, now)
            except RunError as error:
                self._failure = error
        await self._after()

    def _timeout(self, name: str, iri: str) -> float | None:
        given = self._idle_timeout
        return given.get(iri, given.get(name)) if isinstance(given, Mapping) else given


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
