"""Clients that follow the rows of queries: they read late, vanish, and come back with the number of their last row."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from spaseq.service.core.service import Service
from spaseq.service.http.broadcasts import Broadcasts
from spaseq.service.http.workers import Workers

READERS_MAX = 100
_EVENT = re.compile(rb"id: (\d+)\ndata: (.*)\n\n")
Rows = Callable[[str, int], Sequence[tuple[int, str]]]
"""The rows of a query behind a number, as they are to be."""


@dataclass(slots=True)
class Client:
    """A client.

    query   the name of the query, and the number under which the service knows it
    last    the number of the last row that it has
    rest    bytes of a row that has not come whole
    parts   what it is sent; None: its connection has ended
    """

    query: str
    number: int
    last: int
    rest: bytes = b""
    parts: AsyncIterator[bytes] | None = None


class Clients:
    """All clients of a service, as they are seen by the part of it that sends rows."""

    def __init__(self, service: Service) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: dict[str, Client] = {}
        self._begin(service)

    def follow(self, name: str, query: str, number: int, after: int) -> None:
        """A client connects; one that has been here comes back with the last number that it has, as EventSource does.

        number  of the query that has the name now
        """
        known = self._clients.get(name)
        if known is not None and (known.query, known.number) == (query, number):
            after = known.last
        self.vanish(name)
        self._clients[name] = Client(query, number, after, parts=self._broadcasts.follow(query, after))

    def read(self, name: str, parts: int, number_of: Callable[[str], int | None], expected: Rows) -> str | None:
        """A client reads; returns in which way what it gets is not what it is to get; None: it is.

        number_of   the query that has a name now; None: there is none
        """
        client = self._clients.get(name)
        if client is None or client.parts is None:
            return None
        if client.number != number_of(client.query):
            self.vanish(name)
            return None
        for _ in range(parts):
            rows = expected(client.query, client.last)
            if not rows:
                return None
            part = self._loop.run_until_complete(anext(client.parts, b""))
            if not part:
                return f"the connection of client {name} has ended behind row {client.last} of {client.query}"
            client.rest += part
            found = [(int(event[1]), event[2].decode()) for event in _EVENT.finditer(client.rest)]
            if found != list(rows[: len(found)]):
                return f"client {name} has {found} behind row {client.last} of {client.query}, not {rows}"
            client.rest = client.rest[client.rest.rfind(b"\n\n") + 2 :]
            client.last = found[-1][0] if found else client.last
        return None

    def vanish(self, name: str) -> None:
        """A client closes its connection, or loses it."""
        client = self._clients.get(name)
        if client is not None and client.parts is not None:
            self._loop.run_until_complete(client.parts.aclose())
            client.parts, client.rest = None, b""

    def restarted(self, service: Service) -> None:
        """The service has ended, and with it all connections; another one has begun."""
        for name in self._clients:
            self.vanish(name)
        self._begin(service)

    def close(self) -> None:
        """End."""
        for name in self._clients:
            self.vanish(name)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _begin(self, service: Service) -> None:
        workers = Workers()
        workers.service = service
        self._broadcasts = Broadcasts(workers, READERS_MAX)
