"""A whole service in this process, which can be stopped and started again at the same address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from spaseq.service.http.hosts import HostPolicy
from spaseq.service.http.process import Arguments
from spaseq.service.http.server import Server, address_of, listening
from spaseq.service.http.state import AppState
from spaseq.service.http.tokens import Tokens
from spaseq.service.settings.configuration import Configuration
from tests.waiting import PATIENCE_S, waited

LOCAL = "127.0.0.1"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
DATETIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_NDJSON = {"Accept": "application/x-ndjson"}


@dataclass
class Served:
    """A service over a folder."""

    folder: Path
    configuration: Configuration = field(default_factory=Configuration)
    port: int = 0
    token: str | None = None

    @property
    def address(self) -> str:
        return address_of(LOCAL, self.port)

    def start(self) -> None:
        begun = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(begun,))
        self._thread.start()
        assert begun.wait(PATIENCE_S)
        self.wait_until_ready()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def put_stream(self, name: str, iri: str) -> None:
        self._asked("PUT", f"/v1/streams/{name}", json={"iri": iri})

    def put_query(self, name: str, text: str) -> None:
        self._asked("PUT", f"/v1/queries/{name}", content=text, headers={"Content-Type": "application/x-spaseq"})

    def push(self, stream: str, nquads: str) -> None:
        self._asked("POST", f"/v1/streams/{stream}", content=nquads, headers={"Content-Type": "application/n-quads"})

    def advance(self, stream: str, time: str) -> None:
        self._asked("POST", f"/v1/streams/{stream}/advance", json={"time": time})

    def rows(self, query: str) -> int:
        return int(self._asked("GET", f"/v1/queries/{query}").json()["rows"])

    def lines(self, query: str) -> list[dict[str, Any]]:
        answer = self._asked("GET", f"/v1/queries/{query}/matches", params={"after": 0}, headers=_NDJSON)
        return [json.loads(line) for line in answer.text.splitlines()]

    def wait_until_ready(self) -> None:
        waited(lambda: self._ask("GET", "/readyz").status_code == 200, pause_s=0.02)

    def _asked(self, method: str, path: str, **options: object) -> httpx2.Response:
        answer = self._ask(method, path, **options)
        assert answer.is_success, answer.text
        return answer

    def _ask(self, method: str, path: str, **options: object) -> httpx2.Response:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        with httpx2.Client(base_url=self.address, timeout=PATIENCE_S, trust_env=False, headers=headers) as client:
            return client.request(method, path, **options)  # type: ignore[arg-type]

    def _run(self, begun: threading.Event) -> None:
        arguments = Arguments(self.configuration, self.folder / "data", LOCAL, self.port, False)
        tokens = Tokens.of(self.configuration.auth)
        state = AppState(self.configuration.limits, tokens, HostPolicy.of(LOCAL, self.configuration.web))
        with closing(arguments.folder()) as folder, listening(LOCAL, self.port) as listener:
            self.port = listener.getsockname()[1]
            self._server = Server(state, lambda: arguments.opened(folder), self.address)
            begun.set()
            self._server.run(sockets=[listener])
            if state.service is not None:
                state.service.close()


@contextmanager
def served(folder: Path, configuration: Configuration | None = None, token: str | None = None) -> Iterator[Served]:
    """A service over a folder, stopped at the end."""
    running = Served(folder, configuration or Configuration(), token=token)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def event(graph: str, second: int, *triples: str) -> str:
    """One event as N-Quads."""
    time = f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    stamp = f'<{graph}> <{PROV}> "{time}"^^<{DATETIME}> .\n'
    return stamp + "".join(f"{triple} <{graph}> .\n" for triple in triples)


def integer(value: int) -> str:
    """A literal of N-Quads."""
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'
