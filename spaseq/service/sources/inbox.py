"""Messages that have come and are not handed over yet: as many as there is room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType

from spaseq.service.sources.bodies import MESSAGES_MAX, Message, bodies_of
from spaseq.service.sources.handing import Handing

INBOX_MESSAGES_MAX = MESSAGES_MAX
INBOX_BYTES_MAX = 4_000_000
"""No further message is read while so many wait, or messages of so many bytes."""


class Inbox:
    """Reads ahead of the one who hands over, so that what comes together goes together.

    async with Inbox(messages) as inbox:
        while batch := await inbox.batch(): …
    """

    def __init__(self, messages: AsyncIterator[Message]) -> None:
        self._messages = messages
        self._waiting: list[Message] = []
        self._bytes = 0
        self._come, self._room = asyncio.Event(), asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Inbox:
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(lambda _: self._come.set())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reader is not None
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def batch(self) -> list[Message]:
        """The messages that wait, at least one; none after the last. Raises what ended the reading."""
        assert self._reader is not None
        await self._come.wait()
        if not self._waiting:
            await self._reader
            return []
        found, self._waiting, self._bytes = self._waiting, [], 0
        if not self._reader.done():
            self._come.clear()
        self._room.set()
        return found

    async def _read(self) -> None:
        async for message in self._messages:
            while len(self._waiting) >= INBOX_MESSAGES_MAX or self._bytes >= INBOX_BYTES_MAX:
                self._room.clear()
                await self._room.wait()
            self._waiting.append(message)
            self._bytes += len(message.value)
            self._come.set()


async def hand_over(messages: AsyncIterator[Message], body_format: str, handing: Handing) -> None:
    """Hand over messages until there are no more; those that have come meanwhile go together."""
    async with Inbox(messages) as inbox:
        while batch := await inbox.batch():
            for body in bodies_of(batch, body_format):
                await handing.hand(body.value, body.body_format, body.position)
