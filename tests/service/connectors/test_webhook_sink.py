"""Rows posted to a real server, which is away, refuses and is slow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spaseq.errors import InputError
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.webhook import WebhookSink
from tests.service.connectors.ends import Rows, running
from tests.service.connectors.web import WebServer
from tests.waiting import until


@dataclass
class Receiver:
    """Takes rows, or answers with the next of the statuses."""

    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    clients: set[Any] = field(default_factory=set)
    types: set[tuple[str | None, str | None]] = field(default_factory=set)

    async def take(self, request: Request) -> Response:
        self.types.add((request.headers.get("Content-Type"), request.headers.get("Authorization")))
        body = await request.body()
        self.clients.add(request.client)
        if self.statuses:
            return PlainTextResponse("no", self.statuses.pop(0), headers={"Location": "http://127.0.0.1:1/"})
        self.bodies.append(body)
        return PlainTextResponse("thanks", 202)

    @property
    def numbers(self) -> list[int]:
        return [json.loads(line)["n"] for body in self.bodies for line in body.splitlines()]


@pytest.fixture
def receiver() -> Iterator[tuple[Receiver, WebServer]]:
    found = Receiver()
    server = WebServer(Starlette(routes=[Route("/in", found.take, methods=["POST"])]))
    server.start()
    yield found, server
    server.stop()


def sink(server: WebServer, token: str | None = None) -> WebhookSink:
    return WebhookSink("cheap", SinkSettings(webhook=f"http://127.0.0.1:{server.port}/in", token=token))


def test_rows_are_posted_in_order_by_the_thousand_until_they_are_taken(receiver: tuple[Receiver, WebServer]) -> None:
    found, server = receiver
    rows = Rows()
    rows.find(2500)
    found.statuses = [500, 429, 308, 404]

    async def run() -> None:
        async with running(sink(server), rows):
            await until(lambda: rows.stored.n == 2500)
            rows.find(3)
            await until(lambda: rows.stored.n == 2503)

    asyncio.run(run())
    assert found.numbers == list(range(1, 2504))
    assert [body.count(b"\n") for body in found.bodies] == [1000, 1000, 500, 3]
    assert found.types == {("application/x-ndjson", None)}
    assert len(found.clients) == 1 + 4
    assert rows.said("waiting", "HTTP status 308 (redirects are not followed")


def test_rows_come_again_after_a_kill_but_none_is_left_out(receiver: tuple[Receiver, WebServer]) -> None:
    found, server = receiver
    rows = Rows(kill=1)
    rows.find(2000)

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await sink(server).run(rows)
        async with running(sink(server), rows):
            await until(lambda: rows.stored.n == 2000)

    asyncio.run(run())
    assert found.numbers == [*range(1, 2001), *range(1001, 2001)]


def test_a_server_that_is_away_is_waited_for(
    receiver: tuple[Receiver, WebServer], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found, server = receiver
    monkeypatch.setenv("HOOK_TOKEN", "geheim")
    caplog.set_level(0)
    rows = Rows()

    async def run() -> None:
        await asyncio.to_thread(server.stop)
        async with running(sink(server, "HOOK_TOKEN"), rows):
            rows.find(5)
            await until(lambda: rows.said("waiting", "connection"))
            await asyncio.to_thread(server.start)
            await until(lambda: rows.stored.n == 5)

    asyncio.run(run())
    assert found.types == {("application/x-ndjson", "Bearer geheim")}
    assert "geheim" not in caplog.text + repr(rows.states)


def test_rows_past_retention_are_told(receiver: tuple[Receiver, WebServer]) -> None:
    found, server = receiver
    rows = Rows(oldest=7)
    rows.find(9)

    async def run() -> None:
        async with running(sink(server), rows):
            await until(lambda: rows.stored.n == 9)

    asyncio.run(run())
    assert found.numbers == [7, 8, 9]
    assert rows.said("running", "the rows 1 to 6 were past retention")


def test_a_token_that_is_not_set_is_told_at_once(receiver: tuple[Receiver, WebServer]) -> None:
    with pytest.raises(InputError, match="the environment variable NO_SUCH_TOKEN is not set"):
        sink(receiver[1], "NO_SUCH_TOKEN")
