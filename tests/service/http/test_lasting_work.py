"""Requests that take long end with their client, at the limit `request`, and with the service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from spaseq.service.settings.configuration import Configuration, Limits
from tests.service.http.lasting_core import DONE, OF, LastingCore
from tests.service.http.servers import LOCAL, QUERY, RunningServer, served
from tests.waiting import PATIENCE_S, waited

JSON, TEXT = "application/json", "text/plain"


@dataclass(frozen=True)
class Asked:
    """A request; `limited` by `request`."""

    method: str
    path: str
    body: str = ""
    media: str = JSON
    limited: bool = True

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def raw(self) -> bytes:
        """The bytes of the request."""
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: {LOCAL}\r\nContent-Type: {self.media}\r\n"
        return f"{head}Content-Length: {len(self.body)}\r\n\r\n{self.body}".encode()

    def sent(self, server: RunningServer) -> httpx2.Response:
        """The answer."""
        return server.client.request(
            self.method, self.path, content=self.body.encode(), headers={"Content-Type": self.media}
        )


PERIOD = json.dumps({"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"})
REQUESTS = (
    Asked("PUT", "/v1/queries/q", QUERY, TEXT),
    Asked("PUT", "/v1/queries/q", json.dumps({"text": QUERY, "max_runs": 7})),
    Asked("POST", "/v1/validate", QUERY, TEXT),
    Asked("GET", "/v1/queries/q/explain"),
    Asked("GET", "/v1/queries/q/funnel"),
    Asked("POST", "/v1/queries/q/why", '{"match": 1}'),
    Asked("POST", "/v1/queries/q/why-not", "{}"),
    Asked("POST", "/v1/queries/q/replay", PERIOD, limited=False),
    Asked("PUT", "/v1/kb/k", '{"iri": "urn:k", "url": "http://127.0.0.1:9/sparql"}', limited=False),
    Asked("GET", "/v1/queries/q/runs?state=1", limited=False),
    Asked("GET", "/v1/queries/q/matches/1/events", limited=False),
    Asked("GET", "/v1/streams/s/events", limited=False),
    Asked("GET", "/v1/vocabulary", limited=False),
)
every = pytest.mark.parametrize("asked", REQUESTS, ids=str)


@pytest.fixture(scope="module", params=["20ms"])
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with served(Configuration(limits=Limits(request=request.param)), core=LastingCore()) as running:
        yield running


@pytest.mark.parametrize("server", ["1h"], indirect=True)
@every
def test_work_ends_when_its_client_goes_away(server: RunningServer, asked: Asked) -> None:
    server.core.forget()
    connection = server.connected()
    connection.sendall(asked.raw)
    assert server.core.begun.wait(PATIENCE_S)
    assert server.state.busy
    connection.close()
    assert server.core.ended.wait(PATIENCE_S)
    waited(lambda: not server.state.busy)
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("asked", [each for each in REQUESTS if each.limited], ids=str)
def test_work_ends_at_the_limit_request_and_says_how_far_it_came(server: RunningServer, asked: Asked) -> None:
    server.core.forget()
    answer = asked.sent(server)
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    problem = answer.json()
    assert problem["progress"] == {"done": DONE, "of": OF}
    assert "'request'" in problem["detail"] and "0.02 s" in problem["detail"]
    assert int(answer.headers["retry-after"]) > 0
    assert server.core.ended.is_set() and not server.state.busy


@pytest.mark.parametrize("asked", [each for each in REQUESTS if not each.limited], ids=str)
def test_other_work_has_no_limit(server: RunningServer, asked: Asked) -> None:
    server.core.forget()
    connection = server.connected()
    connection.sendall(asked.raw)
    assert server.core.begun.wait(PATIENCE_S)
    checks = server.core.checks
    waited(lambda: server.core.checks > checks + 100_000)
    assert not server.core.ended.is_set()
    connection.close()
    assert server.core.ended.wait(PATIENCE_S)


@every
def test_work_ends_when_the_service_is_told_to_end(asked: Asked) -> None:
    answers: list[httpx2.Response | Exception] = []

    def ask() -> None:
        try:
            answers.append(asked.sent(server))
        except httpx2.HTTPError as error:  # an answer that had begun is cut off
            answers.append(error)

    with served(core=LastingCore()) as server:
        client = threading.Thread(target=ask)
        client.start()
        assert server.core.begun.wait(PATIENCE_S)
        server.server.end()
        assert server.core.ended.wait(PATIENCE_S)
        client.join(PATIENCE_S)
    (answer,) = answers
    if isinstance(answer, httpx2.Response):
        assert (answer.status_code, "the service ends" in answer.json()["detail"]) == (503, True)


def test_a_request_that_waits_for_its_turn_ends_with_its_client() -> None:
    with served(core=LastingCore()) as server:
        first, second = server.connected(), server.connected()
        first.sendall(REQUESTS[4].raw)
        assert server.core.begun.wait(PATIENCE_S)
        second.sendall(REQUESTS[4].raw)
        waiting = server.state._explanations
        waited(lambda: waiting.statistics().tasks_waiting == 1)
        second.close()
        waited(lambda: waiting.statistics().tasks_waiting == 0)
        assert not server.core.ended.is_set()
        first.close()
        assert server.core.ended.wait(PATIENCE_S)


def test_a_client_that_stays_gets_its_answer_on_a_connection_that_is_used_again() -> None:
    with served() as server:
        for _ in range(3):
            answer = REQUESTS[2].sent(server)
            assert (answer.status_code, answer.json()) == (200, {"problems": [], "warnings": []})
            assert server.client.put("/v1/queries/q", json={"text": QUERY}).status_code in (200, 201)
        assert not server.state.busy


def test_the_document_says_which_requests_the_limit_may_end() -> None:
    with served() as server:
        paths = server.client.get("/openapi.json").json()["paths"]
    ended = {f"{method.upper()} {path}" for path, of in paths.items() for method, each in of.items()
             if "'request'" in each["responses"].get("503", {}).get("description", "")}  # fmt: skip
    assert ended == {
        "PUT /v1/queries/{name}",
        "POST /v1/validate",
        "POST /v1/format",
        "GET /v1/queries/{name}/explain",
        "GET /v1/queries/{name}/funnel",
        "POST /v1/queries/{name}/why",
        "POST /v1/queries/{name}/why-not",
    }
