"""Messages of a WebSocket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from spaseq.service.peers.extras import authorization, require
from spaseq.service.peers.pauses import Away, keep_up
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.bodies import Message
from spaseq.service.sources.handing import Handing
from spaseq.service.sources.inbox import hand_over
from spaseq.service.sources.intake import Intake
from spaseq.service.sources.positions import position_text

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MESSAGE_BYTES_MAX = 16_000_000
CONNECT_S_MAX = 10.0


class WebSocketSource:
    """The messages of a URL. There is no position: what is sent between two connections is lost."""

    def __init__(self, stream: str, settings: SourceSettings) -> None:
        assert settings.websocket is not None
        require("websockets", "serve", "a WebSocket")
        self._url, self._format = settings.websocket, settings.body_format
        self._headers = authorization(settings.token)
        self._what = f"stream {stream}, WebSocket"

    async def run(self, intake: Intake) -> None:
        """Read messages, from connection to connection."""
        from websockets.exceptions import WebSocketException

        away = (WebSocketException, OSError, TimeoutError)
        await keep_up(self._what, lambda done: self._session(intake, done), intake.report, away)

    async def _session(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        from websockets.asyncio.client import connect

        async with connect(
            self._url,
            additional_headers=self._headers,
            max_size=MESSAGE_BYTES_MAX,
            open_timeout=CONNECT_S_MAX,
            proxy=None,
            user_agent_header="spaseq",
        ) as connection:
            intake.report("running", None)
            position = position_text(f"websocket {self._url}", None)
            await hand_over(_messages(connection, position), self._format, Handing(intake, succeeded))
        raise Away("the server ended the connection")


async def _messages(connection: ClientConnection, position: bytes) -> AsyncIterator[Message]:
    async for message in connection:
        yield Message(message.encode() if isinstance(message, str) else message, position)
