"""The server: a port that answers from the first moment, the opening of the core, the end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn

from spaseq.errors import InputError, RunError
from spaseq.service.core.matcher import GivenUp
from spaseq.service.http.app import application
from spaseq.service.http.protocol import Connections
from spaseq.service.http.state import AppState

if TYPE_CHECKING:
    from spaseq.service.core.service import Service

_SECOND_NS = 1_000_000_000
KEEP_ALIVE_S = 60
"""Seconds for which a connection is kept between two requests."""
SHUTDOWN_S_MAX = 5
"""Seconds for which answers may go on after the signal to end; a quarter of the limit `grace`, if that is less."""
_ACCEPTED_AT_ONCE = 128
"""Connections that are accepted before the first of them is counted."""
_BACKLOG = 4_096
"""Connections that the kernel keeps until they are accepted."""
_OPEN_FILES_MAX = 65_536
_FILES_RESERVED = 1_024
"""Files that are kept for the log, the store, knowledge bases, and connections that are not counted yet."""


class Server(uvicorn.Server):
    """Opens the core while the port answers 503, and ends when it is told.

    opened      opens the core; what it raises ends the server, and is `failure` then
    address     that is printed when the core is open
    """

    def __init__(self, state: AppState, opened: Callable[[], Service], address: str) -> None:
        super().__init__(_settings(state))
        self._state, self._opened, self._address = state, opened, address
        self._opening: asyncio.Task[None] | None = None
        self.failure: Exception | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and begin to recover."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)  # asyncio takes one number for both
        self._opening = asyncio.create_task(self._open())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the answers that go on for ever, wait for the others, and for the recovery if it goes on."""
        self._state.ending.begin()
        self._state.broadcasts.close()
        await super().shutdown(sockets)
        if self._opening is not None:
            await self._opening

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to who serves: they are to end more than the server."""
        yield

    def end(self) -> None:
        """End soon, with all work of requests; a signal handler may call this."""
        self._state.ending.begin()
        self.should_exit = True
        if (recovering := self._state.recovering) is not None:
            recovering.end_recovery()

    async def _open(self) -> None:
        try:
            service = await self._state.change(self._opened)
            self._state.recovering = None  # a signal gives up what a recovery matches, and lets a service end its work
            self._state.service = service
        except GivenUp:
            assert self.should_exit
        except Exception as error:
            self.failure = error
            self.should_exit = True
        else:
            if not self.should_exit:
                print(f"listening on {self._address}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that is bound; raises InputError for a host that is none, RunError for a port that is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(f"--host {host} is no address of this machine: {error.strerror or error}") from error
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            hint = "another program has it, perhaps another service: --port gives another one"
            raise RunError(f"cannot listen at {address_of(host, port)}: {error.strerror}", hint=hint) from error
        yield listener


def address_of(host: str, port: int) -> str:
    """The URL of the service."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _settings(state: AppState) -> uvicorn.Config:
    files = _open_files()
    most = max(files // 2, files - _FILES_RESERVED)
    connections = Connections(state.limits.header_timeout_ns / _SECOND_NS, most)
    return uvicorn.Config(
        application(state),
        loop="asyncio",
        http=connections.protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=min(SHUTDOWN_S_MAX, state.limits.grace_s / 4),  # type: ignore[arg-type]
    )


def _open_files() -> int:
    """The files that the process may open, as many as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft
