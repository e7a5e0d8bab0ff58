"""A service answers while it recovers: what it has, how far it is, and what stops a query."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from spaseq.service.core.service import Service
from spaseq.service.http.hosts import HostPolicy
from spaseq.service.http.server import Server, address_of, listening
from spaseq.service.http.state import AppState
from spaseq.service.http.tokens import Tokens
from spaseq.service.settings.configuration import Limits, Web
from tests.service.core.test_aside import PRODUCT, SMALL, Gate, Setting, graph
from tests.service.core.test_service import EACH
from tests.service.http.servers import LOCAL
from tests.waiting import PATIENCE_S, waited

ANSWERED = ("/v1/streams", "/v1/streams/s", "/v1/queries", "/v1/queries/one", "/v1/queries/one/matches",
            "/v1/deadletters", "/metrics", "/healthz")  # fmt: skip
REFUSED = (("GET", "/readyz"), ("POST", "/v1/streams/s"), ("POST", "/v1/queries/one/resume"), ("PUT", "/v1/queries/q"),
           ("POST", "/v1/validate"), ("GET", "/nowhere"), ("POST", "/v1/snapshot"))  # fmt: skip


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A data folder with two queries and events that no snapshot has."""
    setting = Setting(tmp_path)
    setting.put("one", PRODUCT)
    setting.put("each", EACH)
    setting.push(graph("a", 1, SMALL))
    setting.service.settled()
    setting.die()
    return tmp_path


@contextmanager
def recovering(folder: Path, gate: Gate) -> Iterator[tuple[httpx2.Client, AppState]]:
    """A server whose service recovers, held at a gate."""
    with listening(LOCAL, 0) as listener:
        state = AppState(Limits(), Tokens(), HostPolicy.of(LOCAL, Web()))
        address = address_of(LOCAL, listener.getsockname()[1])
        server = Server(state, lambda: Service.open(folder, Limits(), recovering=state.recover_with), address)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert gate.reached.wait(PATIENCE_S)
            with httpx2.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
                yield client, state
        finally:
            server.end()
            thread.join(PATIENCE_S)
            if state.service is not None:
                state.service.close()
        assert not thread.is_alive() and server.failure is None


def test_what_it_has_is_answered_and_all_else_is_told_how_far_it_is(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    with recovering(left, gate) as (client, state):
        for path in ANSWERED:
            assert client.get(path).status_code == 200, path
        assert len(client.get("/v1/queries/each/matches?after=0").text.splitlines()) == 2
        for method, path in REFUSED:
            answer = client.request(method, path, content=b"")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), path
            found = answer.json()["recovering"]
            assert (found["of"], set(found)) == (4, {"position", "of", "query"}) and found["position"] < 4
        gate.open.set()
        waited(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/v1/queries/one").json()["rows"] == 4
        waited(lambda: state.recovering is None)


def test_a_signal_after_it_gives_up_nothing_that_is_matched(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    gate.open.set()
    gate.reached.set()
    given_up: list[float] = []
    monkeypatch.setattr(Service, "end_recovery", lambda service: given_up.append(0.0))
    with recovering(left, gate) as (client, _):
        waited(lambda: client.get("/readyz").status_code == 200)
    assert given_up == []


@pytest.mark.parametrize("way", ["deleted", "paused"])
def test_a_query_can_be_stopped(left: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    gate = Gate(monkeypatch)
    with recovering(left, gate) as (client, _):
        asked = client.delete("/v1/queries/one") if way == "deleted" else client.post("/v1/queries/one/pause")
        assert asked.status_code == 204
        waited(lambda: gate.passes == 2)
        gate.open.set()
        waited(lambda: client.get("/readyz").status_code == 200)
        found = client.get("/v1/queries/one")
        assert found.status_code == 404 if way == "deleted" else found.json()["state"] == "paused"
        assert client.get("/v1/queries/each").json()["rows"] == 2


def test_it_ends_meanwhile(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recovering(left, Gate(monkeypatch)) as (client, state):
        assert client.get("/healthz").status_code == 200
    assert state.service is None
