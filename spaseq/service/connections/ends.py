"""The ends of sources and sinks in the service: calls of the core, which wait, as their loop sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from spaseq.service.errors import Refused
from spaseq.service.peers.pauses import Failed, State
from spaseq.service.peers.threads import in_thread
from spaseq.service.sinks.feed import SinkPosition
from spaseq.service.sources.intake import Full

_NOT_NOW = (429, 503, 507)
"""The queue is full, the log fails, the disk is full."""


class Core(Protocol):
    """The part of the core that sources and sinks need. Any thread may call; methods wait for the disk."""

    def accept_from(self, stream: str, body: bytes, body_format: str, position: bytes) -> object:
        """Take a body with the position of the stream's source behind it, also if nothing of it counts.

        An empty body stores the position only. Raises Refused if nothing is stored.
        """

    def source_position(self, stream: str) -> bytes:
        """The position that was stored last; empty before the first."""

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        """Rows by number, each with its line; Refused with `oldest` (410) past retention, 404 without the query."""

    def newest_row(self, name: str) -> int:
        """The number of the newest row; 0: there was none."""

    def on_rows(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        """Let a function know of rows; the result ends that."""

    def sink_position(self, name: str, sink: str) -> SinkPosition:
        """The position of a query's sink, which begins behind the rows that there were when it was declared."""

    def store_sink_position(self, name: str, sink: str, position: SinkPosition) -> None:
        """Store the position of a query's sink."""


class Status:
    """The state of a source or sink, and the reason if it is not running."""

    def __init__(self) -> None:
        self.state: State = "connecting"
        self.error: str | None = None

    def report(self, state: State, error: str | None) -> None:
        """Say it; the reason of an attempt that failed stays while another one is made."""
        if state != "connecting" or self.state == "running":
            self.state, self.error = state, error

    @property
    def shown(self) -> dict[str, str]:
        """The members that GET gives."""
        return {"state": self.state} | ({} if self.error is None else {"error": self.error})


class StreamIntake:
    """A stream of the core, for its source."""

    def __init__(self, core: Core, stream: str, status: Status) -> None:
        self._core, self._stream = core, stream
        self.report = status.report

    async def accept(self, body: bytes, body_format: str, position: bytes) -> object:
        """See `Intake`."""
        try:
            return await in_thread(self._core.accept_from, self._stream, body, body_format, position)
        except Refused as refused:
            raise (Full if refused.status in _NOT_NOW else Failed)(refused.detail) from refused

    def position(self) -> bytes | None:
        """See `Intake`."""
        return self._core.source_position(self._stream) or None


class QueryFeed:
    """A query of the core, for one of its sinks."""

    def __init__(self, core: Core, query: str, sink: str, status: Status) -> None:
        self._core, self._query, self._sink = core, query, sink
        self._more = asyncio.Event()
        self.report = status.report

    async def after(self, n: int, limit: int) -> list[tuple[int, bytes]]:
        """See `RowFeed`."""
        loop = asyncio.get_running_loop()

        def told() -> None:
            loop.call_soon_threadsafe(self._more.set)

        end = self._core.on_rows(self._query, told)
        try:
            while True:
                self._more.clear()
                if rows := await in_thread(self._rows, n, limit):
                    return [(number, line.encode()) for number, line in rows]
                await self._more.wait()
        finally:
            end()

    def _rows(self, n: int, limit: int) -> list[tuple[int, str]]:
        try:
            return self._core.rows(self._query, n, limit)
        except Refused as refused:
            if "oldest" not in refused.members:
                raise Failed(refused.detail) from refused
            return self._core.rows(self._query, int(refused.members["oldest"]) - 1, limit)

    def newest(self) -> int:
        """See `RowFeed`."""
        return self._core.newest_row(self._query)

    def position(self) -> SinkPosition:
        """See `RowFeed`."""
        return self._core.sink_position(self._query, self._sink)

    async def done(self, position: SinkPosition) -> None:
        """See `RowFeed`."""
        await in_thread(self._core.store_sink_position, self._query, self._sink, position)
