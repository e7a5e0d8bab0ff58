"""A server over a core in memory, in a thread of this process, on a port of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from spaseq.service.core.service import Service
from spaseq.service.http.hosts import HostPolicy
from spaseq.service.http.server import Server, address_of, listening
from spaseq.service.http.state import AppState
from spaseq.service.http.tokens import Tokens
from spaseq.service.settings.configuration import Configuration
from tests.service.http.memory_core import MemoryCore
from tests.waiting import PATIENCE_S, waited

LOCAL = "127.0.0.1"
STREAM = {"iri": "urn:s"}
TURTLE = {"Content-Type": "text/turtle"}
QUERY = "SELECT ?s WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?a } }"


@dataclass
class RunningServer:
    """A running server, what it answers from, and a client."""

    core: Any
    state: AppState
    port: int
    server: Server
    client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=address_of(LOCAL, self.port), timeout=PATIENCE_S, trust_env=False)

    def connected(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection((LOCAL, self.port), timeout=PATIENCE_S)

    def said(self, request: bytes) -> bytes:
        """The bytes that come back for the bytes of a request, until the connection is closed."""
        with self.connected() as connection:
            connection.sendall(request)
            return received(connection)


@contextmanager
def served(
    configuration: Configuration | None = None,
    opened: Callable[[MemoryCore], Any] | None = None,
    core: MemoryCore | None = None,
) -> Iterator[RunningServer]:
    """A server; `opened` is called while it opens its core."""
    with _running(configuration, core or MemoryCore(), opened) as running:
        yield running


@contextmanager
def really_served(folder: Path, configuration: Configuration | None = None) -> Iterator[RunningServer]:
    """A server over the real core, in a folder of its own."""
    core = Service.open(folder, (configuration or Configuration()).limits)
    try:
        with _running(configuration, core) as running:
            yield running
    finally:
        core.close()


@contextmanager
def _running(
    configuration: Configuration | None, core: Any, opened: Callable[[Any], Any] | None = None
) -> Iterator[RunningServer]:
    declared = configuration or Configuration()
    with listening(LOCAL, 0) as listener:
        port = listener.getsockname()[1]
        limits, hosts = declared.limits, HostPolicy.of(LOCAL, declared.web)
        state = AppState(limits, Tokens.of(declared.auth), hosts)

        def open_core() -> Any:
            if opened is not None:
                opened(core)
            return core

        server = Server(state, open_core, address_of(LOCAL, port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        running = RunningServer(core, state, port, server)
        try:
            waited(lambda: server.started and (opened is not None or state.service is not None))
            yield running
        finally:
            running.client.close()
            server.should_exit = True
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def received(connection: socket.socket) -> bytes:
    """All bytes until the other side closes."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
