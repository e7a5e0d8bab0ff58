"""Connections: what is bounded before a request is whole."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from spaseq.service.errors import Refused
from spaseq.service.http.answers import ABORT
from spaseq.service.http.problem import MEDIA_TYPE, later, plain, problem_body

HEAD_BYTES_MAX = 64 << 10
"""Bytes of the first line and the headers of a request."""
UNSENT_MS_MAX = 30_000
"""Milliseconds for which the other side may take nothing of what was sent; then the kernel ends the connection."""


class Connections:
    """The bounds on connections, shared by all.

    header_timeout_s    for the headers of a request
    most                connections at a time
    """

    def __init__(self, header_timeout_s: float, most: int) -> None:
        self.header_timeout_s = header_timeout_s
        self.most = most

    def protocol(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> BoundedProtocol:
        """The protocol of a new connection."""
        return BoundedProtocol(self, config, server_state, app_state, _loop)


class JoinedWrites:
    """A transport that sends what is written in one turn of the loop with one call, as far as it is two parts.

    That are the head of an answer and its body. Each call lets other threads compute before the next one.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._first = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send what waits, and this; if nothing waits, this waits for the next part, or the end of the turn."""
        if self._first:
            first, self._first = self._first, b""
            self._transport.write(first + data)
        else:
            self._first = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Send what waits, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._first:
            first, self._first = self._first, b""
            self._transport.write(first)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose headers have to come in time and in so many bytes.

    The timer runs from the first byte of a request, or from the beginning of the connection, to the end of the headers;
    and while a body comes that nobody reads, because the answer was sent before its end.
    """

    def __init__(
        self,
        bounds: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.access_log = False  # it would have the query string
        self._bounds = bounds
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; refuse it if there are too many connections."""
        super().connection_made(cast(asyncio.Transport, JoinedWrites(transport, self.loop)))
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNSENT_MS_MAX)
        self._start_timer()
        if len(self.connections) > self._bounds.most:
            self._refuse(later("too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; refuse headers that are too long."""
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES_MAX:
            self._refuse(plain(431, f"the headers have more than {HEAD_BYTES_MAX:,} bytes"))
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._start_timer()

    def on_message_begin(self) -> None:
        """Begin to wait for the headers."""
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: self.transport.abort}  # type: ignore[dict-item]
        self._start_timer()

    def on_headers_complete(self) -> None:
        """The application answers from here."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next bytes are those of another request."""
        super().on_message_complete()
        self._head_bytes, self._in_head = 0, True

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(plain(400, msg))

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing of requests for another protocol: they are answered as HTTP/1.1."""

    def timeout_keep_alive_handler(self) -> None:
        """End a connection that nobody uses, at once if the other side does not take the last answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self._bounds.header_timeout_s, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        if self._in_head and self._head_bytes:
            self._refuse(plain(408, "the headers of the request did not come in time"))
        else:
            self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        """Answer without the application and close; only close where an answer is on its way."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            body = problem_body(refused)
            headers = {
                "content-type": MEDIA_TYPE,
                "content-length": str(len(body)),
                "connection": "close",
                **refused.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            self.transport.write(STATUS_LINE[refused.status] + lines.encode() + b"\r\n" + body)
        self.transport.close()
