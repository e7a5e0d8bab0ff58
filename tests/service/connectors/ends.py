"""The ends of sources and sinks that the core has in the service; what they have stored survives a kill."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from spaseq.service.peers.pauses import State
from spaseq.service.sinks.feed import SinkPosition
from spaseq.service.sources.intake import Full


@dataclass
class Taken:
    """An intake: bodies and positions as they are on disk.

    full    no further body is taken
    kill    after so many more bodies the process is gone: the next one is stored, and the source never hears of it
    """

    bodies: list[tuple[bytes, str]] = field(default_factory=list)
    stored: bytes | None = None
    full: bool = False
    kill: int | None = None
    states: list[tuple[State, str | None]] = field(default_factory=list)

    async def accept(self, body: bytes, body_format: str, position: bytes) -> None:
        assert position
        await asyncio.sleep(0)
        if self.full:
            raise Full("the queue is full")
        if body:
            self.bodies.append((body, body_format))
        self.stored = position
        if self.kill is not None:
            self.kill -= 1
            if self.kill < 0:
                self.kill = None
                raise asyncio.CancelledError

    def position(self) -> bytes | None:
        return self.stored

    def report(self, state: State, error: str | None) -> None:
        self.states.append((state, error))

    @property
    def text(self) -> bytes:
        """All that was taken."""
        return b"".join(body for body, _ in self.bodies)

    @property
    def lines(self) -> list[bytes]:
        return self.text.splitlines()

    def said(self, state: State, part: str = "") -> bool:
        """True if the state was reported with such a text."""
        return any(found == state and part in (error or "") for found, error in self.states)


@dataclass
class Rows:
    """A feed: the rows of a query, and how far a sink has come.

    kill    after so many more batches the process is gone, before it has stored that they are delivered
    """

    lines: list[bytes] = field(default_factory=list)
    oldest: int = 1
    stored: SinkPosition = field(default_factory=SinkPosition)
    kill: int | None = None
    states: list[tuple[State, str | None]] = field(default_factory=list)

    def find(self, count: int) -> None:
        first = len(self.lines) + 1
        self.lines += [b'{"n":%d,"query":"q"}' % n for n in range(first, first + count)]

    async def after(self, n: int, limit: int) -> list[tuple[int, bytes]]:
        n = max(n, self.oldest - 1)
        while len(self.lines) <= n:
            await asyncio.sleep(0.005)
        return list(enumerate(self.lines[n : n + limit], n + 1))

    def newest(self) -> int:
        return len(self.lines)

    def position(self) -> SinkPosition:
        return self.stored

    async def done(self, position: SinkPosition) -> None:
        await asyncio.sleep(0)
        if self.kill is not None and position.n > self.stored.n:
            self.kill -= 1
            if self.kill < 0:
                self.kill = None
                raise asyncio.CancelledError
        self.stored = position

    def report(self, state: State, error: str | None) -> None:
        self.states.append((state, error))

    def said(self, state: State, part: str = "") -> bool:
        """True if the state was reported with such a text."""
        return any(found == state and part in (error or "") for found, error in self.states)


@asynccontextmanager
async def running(connector: Any, end: Any) -> AsyncIterator[asyncio.Task[None]]:
    """A source or sink that runs, and is cancelled in the end."""
    task = asyncio.create_task(connector.run(end))
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def quads(first: int, last: int, width: int = 2) -> list[bytes]:
    """Messages of one event each."""
    return [
        b"".join(b'<urn:s> <urn:p%d> "%d" <urn:e%d> .\n' % (i, n, n) for i in range(width)) for n in range(first, last)
    ]
