"""Server-sent events of another service, such as Wikimedia's EventStreams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2

from spaseq.service.peers.extras import authorization
from spaseq.service.peers.http import client_of, refusal
from spaseq.service.peers.pauses import PAUSE_S_MAX, Away, keep_up
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.bodies import Message
from spaseq.service.sources.handing import Handing
from spaseq.service.sources.inbox import hand_over
from spaseq.service.sources.intake import Intake
from spaseq.service.sources.positions import position_in, position_text

EVENT_BYTES_MAX = 16_000_000
SILENCE_S_MAX = 120.0
"""After so long without a byte the connection is taken for dead; servers send comments meanwhile."""
_MS = 1_000


class SseSource:
    """The events of a URL.

    The position is the id of the last event, with which the server is asked for those after it. Without ids, what is
    sent between two connections is lost.
    """

    def __init__(self, stream: str, settings: SourceSettings) -> None:
        assert settings.sse is not None
        self._url, self._format, self._type = settings.sse, settings.body_format, settings.event or "message"
        self._headers = authorization(settings.token)
        self._what = f"stream {stream}, server-sent events"
        self._position = f"sse {settings.sse}"
        self._retry_s = 0.0

    async def run(self, intake: Intake) -> None:
        """Follow the events, from connection to connection."""
        await keep_up(self._what, lambda done: self._session(intake, done), intake.report, (httpx2.HTTPError,))

    async def _session(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        last = position_in(intake.position(), self._position, str)
        headers = httpx2.Headers({**self._headers, "Accept": "text/event-stream"}, encoding="utf-8")
        if last:
            headers["Last-Event-ID"] = last
        async with (
            client_of(SILENCE_S_MAX) as client,
            client.stream("GET", self._url, headers=headers) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                raise refusal(response)
            intake.report("running", None)
            await hand_over(self._messages(response), self._format, Handing(intake, succeeded))
        raise Away("the server ended the connection", self._retry_s)

    async def _messages(self, response: httpx2.Response) -> AsyncIterator[Message]:
        async for event in httpx2.EventSource(response, EVENT_BYTES_MAX):
            if event.retry is not None:
                self._retry_s = min(PAUSE_S_MAX, event.retry / _MS)
            value = event.data.encode() if event.event == self._type else b""
            if value or event.id:
                yield Message(value, position_text(self._position, event.id))
