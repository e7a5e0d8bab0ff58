"""Rows, posted to a URL."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from spaseq.service.peers.extras import authorization
from spaseq.service.peers.http import client_of, refusal
from spaseq.service.peers.pauses import keep_up
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.batches import lines_of, next_batch
from spaseq.service.sinks.feed import RowFeed, SinkPosition

ANSWER_S_MAX = 30.0
ANSWER_BYTES_MAX = 65_536
_HEADERS = {"Content-Type": "application/x-ndjson"}


class WebhookSink:
    """Posts rows as NDJSON in order, at least once: again until the answer is 2xx, with growing pauses.

    Only the number of a row that came already says that it did.
    """

    def __init__(self, query: str, settings: SinkSettings) -> None:
        assert settings.webhook is not None
        self._url = settings.webhook
        self._headers = {**_HEADERS, **authorization(settings.token)}
        self._what = f"query {query}, webhook"

    async def run(self, feed: RowFeed) -> None:
        """Post rows as they come."""
        await keep_up(self._what, lambda done: self._session(feed, done), feed.report, (httpx2.HTTPError,))

    async def _session(self, feed: RowFeed, succeeded: Callable[[], None]) -> None:
        async with client_of(ANSWER_S_MAX) as client:
            n, reported = feed.position().n, False
            while True:
                rows = await next_batch(self._what, feed, n)
                await self._post(client, lines_of(rows))
                n = rows[-1][0]
                await feed.done(SinkPosition(n))
                succeeded()
                if not reported:
                    feed.report("running", None)
                    reported = True

    async def _post(self, client: httpx2.AsyncClient, body: bytes) -> None:
        """Raises Away unless the answer is 2xx. A short answer is read, so that the connection stays."""
        async with client.stream("POST", self._url, content=body, headers=self._headers) as response:
            if not response.is_success:
                raise refusal(response)
            left = ANSWER_BYTES_MAX
            async for piece in response.aiter_raw():
                if (left := left - len(piece)) < 0:
                    return
