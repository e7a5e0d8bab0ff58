"""Queries of an asynchronous engine, and iterations over their rows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from spaseq.engine.registration import Registration
from spaseq.errors import RunError
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row

AsyncOnMatch = Callable[[Row], Awaitable[object] | object]
"""A function of a row; what it returns is awaited if it can be."""


class AsyncRegistration:
    """A registered query; see `Registration`, each of whose calls is awaited here."""

    def __init__(self, registration: Registration, after: Callable[[], Awaitable[None]]) -> None:
        self._registration = registration
        self._after = after

    @property
    def name(self) -> str:
        """The name of the query."""
        return self._registration.name

    @property
    def matches(self) -> int:
        """Its rows so far."""
        return self._registration.matches

    @property
    def registered(self) -> bool:
        """False once it has been unregistered."""
        return self._registration.registered

    @property
    def stopped(self) -> bool:
        """True if it was stopped or has been unregistered."""
        return self._registration.stopped

    @property
    def paused(self) -> bool:
        """True if its events wait for `resume`."""
        return self._registration.paused

    @property
    def replanned(self) -> tuple[str, ...]:
        """The latest replacements of its evaluator."""
        return self._registration.replanned

    async def pause(self) -> None:
        """See `Registration.pause`."""
        self._registration.pause()

    async def resume(self) -> None:
        """See `Registration.resume`."""
        try:
            self._registration.resume()
        finally:
            await self._after()

    async def replace(self, query: Query, keep: str = "nothing") -> None:
        """See `Registration.replace`."""
        self._registration.replace(query, keep)

    async def unregister(self) -> None:
        """See `Registration.unregister`."""
        self._registration.unregister()


class AsyncMatches(AsyncIterator[Row]):
    """The rows of a query as they are found, until the engine is closed or `aclose`; RunError if it is stopped.

    registration    the query
    """

    def __init__(self, most: int, forget: Callable[[AsyncMatches], None], room: asyncio.Event) -> None:
        self._most = most
        self._forget = forget
        self._room = room
        self._rows: deque[Row] = deque()
        self._arrived = asyncio.Event()
        self._ended = False
        self._error: RunError | None = None
        self._task: asyncio.Task[object] | None = None

    def begin(self, registration: Registration) -> None:
        """Its query is registered."""
        self.registration = registration

    def take(self, row: Row) -> None:
        """One more row."""
        self._rows.append(row)
        self._arrived.set()

    @property
    def is_full(self) -> bool:
        """True if so many rows wait that a push waits, unless it is made by the task that iterates over them."""
        return len(self._rows) >= self._most and self._task is not asyncio.current_task()

    def end(self, error: RunError | None = None) -> None:
        """No row follows those that wait."""
        self._ended, self._error = True, error
        self._arrived.set()

    async def aclose(self) -> None:
        """Unregister the query; rows that wait are dropped."""
        if not self._ended:
            self.registration.unregister()
        self._rows.clear()
        self.end()
        self._forget(self)

    async def __anext__(self) -> Row:
        self._task = asyncio.current_task()
        while not self._rows:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        row = self._rows.popleft()
        if len(self._rows) < self._most:
            self._room.set()
        return row

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
