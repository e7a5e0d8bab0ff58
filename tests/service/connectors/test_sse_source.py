"""Server-sent events as a source, from a real server that sends them as Wikimedia's EventStreams do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.sse import SseSource
from tests.service.connectors.ends import Taken, running
from tests.service.connectors.web import WebServer
from tests.waiting import until


def document(number: int) -> str:
    return json.dumps({"@id": f"urn:e{number}", "urn:p": number})


@dataclass
class EventStream:
    """Events with ids, from the one after Last-Event-ID on; each connection ends after so many.

    asked   the ids by which connections went on, and their tokens
    """

    count: int = 10
    each: int = 4
    status: int = 200
    media_type: str = "text/event-stream; charset=utf-8"
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)

    def answer(self, request: Request) -> Response:
        last = request.headers.get("Last-Event-ID")
        self.asked.append((last, request.headers.get("Authorization")))
        if self.status != 200:
            return PlainTextResponse("no", self.status, headers={"Retry-After": "0"})
        first = json.loads(last)[0]["offset"] + 1 if last else 0
        return StreamingResponse(self._events(first), media_type=self.media_type)

    async def _events(self, first: int) -> AsyncIterator[str]:
        yield ":ok\n\nretry: 10\n\n"
        for number in range(first, min(first + self.each, self.count)):
            at = json.dumps([{"topic": "eqiad.ü", "partition": 0, "offset": number}], ensure_ascii=False)
            yield f"event: message\nid: {at}\ndata: {document(number)}\n\n"
            yield "event: heartbeat\ndata: nothing\n\n"
        if first + self.each < self.count:
            yield f"event: message\ndata: {document(99)}\n"  # cut in the middle
            return
        while True:
            yield ":\n"
            await asyncio.sleep(0.02)


@pytest.fixture
def stream() -> Iterator[tuple[EventStream, WebServer]]:
    found = EventStream()
    server = WebServer(Starlette(routes=[Route("/v2/stream", found.answer)]))
    server.start()
    yield found, server
    server.stop()


def source(server: WebServer, **more: str) -> SseSource:
    return SseSource("wiki", SourceSettings(sse=f"http://127.0.0.1:{server.port}/v2/stream", **more))  # type: ignore[arg-type]


def test_events_come_once_over_connections_and_a_kill(stream: tuple[EventStream, WebServer]) -> None:
    events, server = stream
    taken = Taken(kill=0)

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await source(server).run(taken)
        async with running(source(server), taken):
            await until(lambda: len(taken.lines) == events.count)

    asyncio.run(run())
    assert taken.lines == [document(number).encode() for number in range(10)]
    assert {body_format for _, body_format in taken.bodies} == {"ndjsonld"}
    assert [last and json.loads(last)[0]["offset"] for last, _ in events.asked[:1]] == [None]
    assert taken.stored is not None and json.loads(json.loads(taken.stored)["at"])[0]["offset"] == 9


def test_a_server_that_is_away_or_refuses_is_asked_again(
    stream: tuple[EventStream, WebServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    events, server = stream
    monkeypatch.setenv("WIKI_TOKEN", "geheim")
    taken = Taken()
    server.stop()

    async def run() -> None:
        async with running(source(server, token="WIKI_TOKEN"), taken):
            await until(lambda: taken.said("waiting", "connection"))
            events.status = 503
            await asyncio.to_thread(server.start)
            await until(lambda: taken.said("waiting", "503"))
            events.status, events.media_type = 200, "text/html"
            await until(lambda: taken.said("waiting", "text/html"))
            events.media_type = "text/event-stream"
            await until(lambda: len(taken.lines) == events.count)

    asyncio.run(run())
    assert {token for _, token in events.asked} == {"Bearer geheim"}
    assert "geheim" not in repr(taken.states)


def test_documents_of_several_lines_are_bodies_of_their_own(stream: tuple[EventStream, WebServer]) -> None:
    events, server = stream
    events.count = events.each = 3
    taken = Taken()

    async def run() -> None:
        async with running(source(server, format="turtle"), taken):
            await until(lambda: len(taken.bodies) == 3)

    asyncio.run(run())
    assert taken.bodies == [(f"{document(number)}\n".encode(), "turtle") for number in range(3)]
