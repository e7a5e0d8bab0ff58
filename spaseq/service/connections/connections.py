"""The sources and sinks of a service, at work on a loop of their own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import RLock, Thread
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import to_builtins

from spaseq.errors import InputError
from spaseq.service.connections.ends import Core, QueryFeed, Status, StreamIntake
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sinks.kinds import sink_of
from spaseq.service.sources.kinds import source_of

THREADS_MAX = 64
"""Calls of the core, and of disks, at a time; others wait."""
_log = logging.getLogger(__name__)
_Key: TypeAlias = tuple[str, ...]
_Settings: TypeAlias = SourceSettings | SinkSettings
_Made: TypeAlias = Callable[["Status"], Callable[[], Awaitable[None]]]


@dataclass(slots=True)
class _Connection:
    settings: _Settings
    status: Status
    task: asyncio.Task[None] | None = None


class Connections:
    """Sources and sinks by stream and query. Methods may be called from any thread, and wait for nothing but `close`.

    A source or sink that is replaced has ended before its successor begins.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="spaseq-connection"))
        self._connections: dict[_Key, _Connection] = {}
        self._changing = RLock()
        self._order: dict[_Key, asyncio.Lock] = {}
        self._thread = Thread(target=self._loop.run_forever, name="spaseq-connections", daemon=True)
        self._thread.start()

    @staticmethod
    def check(name: str, source: SourceSettings | None = None, sinks: tuple[SinkSettings, ...] = ()) -> None:
        """Raises InputError if a package or a secret that these need is missing."""
        if source is not None:
            source_of(name, source)
        for sink in sinks:
            sink_of(name, sink)

    def put_source(self, stream: str, settings: SourceSettings | None, lenient: bool = False) -> None:
        """Have this source for a stream, or none; one whose settings are the same goes on.

        Raises InputError as `check` does; if it is lenient, the state says so instead.
        """
        if settings is None:
            self._end(("stream", stream))
            return

        def made(status: Status) -> Callable[[], Awaitable[None]]:
            source = source_of(stream, settings)
            return lambda: source.run(StreamIntake(self._core, stream, status))

        self._put(("stream", stream), settings, made, lenient)

    def put_sinks(
        self,
        query: str,
        sinks: tuple[SinkSettings, ...],
        lenient: bool = False,
        faults: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Have these sinks for a query; those whose settings are the same go on. InputError as `put_source`.

        faults  by key, the reasons for which sinks cannot be begun
        """
        kept = {("query", query, sink.key) for sink in sinks}
        with self._changing:
            for key in [key for key in self._connections if key[:2] == ("query", query) and key not in kept]:
                self._end(key)
            for settings in sinks:
                self._put_sink(query, settings, lenient, faults.get(settings.key))

    def source(self, stream: str) -> dict[str, str]:
        """The state of a stream's source, and the reason if it is not running; empty without one."""
        found = self._connections.get(("stream", stream))
        return {} if found is None else found.status.shown

    def sinks(self, query: str, sinks: tuple[SinkSettings, ...]) -> list[dict[str, Any]]:
        """The sinks as GET gives them: as written, with state, reason and the number of the last row delivered."""
        return [self._shown(query, sink) for sink in sinks]

    def close(self) -> None:
        """End all, and wait for it."""
        for key in [*self._connections]:
            self._end(key)
        asyncio.run_coroutine_threadsafe(self._ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- inside -----------------------------------------------------------------------------------

    def _put_sink(self, query: str, settings: SinkSettings, lenient: bool, fault: str | None) -> None:
        def made(status: Status) -> Callable[[], Awaitable[None]]:
            if fault is not None:
                raise InputError(fault)
            sink = sink_of(query, settings)
            return lambda: sink.run(QueryFeed(self._core, query, settings.key, status))

        self._put(("query", query, settings.key), settings, made, lenient)

    def _put(self, key: _Key, settings: _Settings, made: _Made, lenient: bool) -> None:
        with self._changing:
            known = self._connections.get(key)
            if known is not None and known.settings == settings:
                return
            connection = _Connection(settings, Status())
            run = None
            try:
                run = made(connection.status)
            except InputError as error:
                if not lenient:
                    raise
                connection.status.report("failed", ": ".join(filter(None, (error.message, error.hint))))
            self._end(key)
            self._connections[key] = connection
            if run is not None:
                self._loop.call_soon_threadsafe(self._start, key, connection, run)

    def _end(self, key: _Key) -> None:
        with self._changing:
            if (connection := self._connections.pop(key, None)) is not None:
                self._loop.call_soon_threadsafe(self._cancel, connection)

    def _shown(self, query: str, sink: SinkSettings) -> dict[str, Any]:
        found = self._connections.get(("query", query, sink.key))
        state = {} if found is None else found.status.shown
        return {**to_builtins(sink), **state, "n": self._core.sink_position(query, sink.key).n}

    # --- on the loop ------------------------------------------------------------------------------

    def _start(self, key: _Key, connection: _Connection, run: Callable[[], Awaitable[None]]) -> None:
        connection.task = self._loop.create_task(self._run(key, run))

    async def _run(self, key: _Key, run: Callable[[], Awaitable[None]]) -> None:
        async with self._order.setdefault(key, asyncio.Lock()):
            try:
                await run()
            except Exception:
                _log.exception("%s: our own fault; it is started again with the service", " ".join(key))

    @staticmethod
    def _cancel(connection: _Connection) -> None:
        if connection.task is not None:
            connection.task.cancel()

    async def _ended(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()
