"""Servers of the web for tests, on ports that stay the same: uvicorn in a thread, stopped and started again."""

from __future__ import annotations

import socket
import threading
from typing import Any

import uvicorn

from tests.waiting import PATIENCE_S, waited


class WebServer:
    """An ASGI application on a port of its own."""

    def __init__(self, application: Any) -> None:
        self._application = application
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        config = uvicorn.Config(
            self._application, port=self.port, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        server = self._server
        waited(lambda: server.started)

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(PATIENCE_S)
            assert not self._thread.is_alive()
            self._server = self._thread = None
