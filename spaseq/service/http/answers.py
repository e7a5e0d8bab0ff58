"""Answers that are sent in parts, to readers of any speed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from spaseq.service.http.state import AppState

STALLED_S_MAX = 10.0
"""Seconds for which a connection may take nothing of what is sent; then it is cut off."""
ABORT = "spaseq.abort"
"""The extension of the scope that ends the connection at once: a function."""
_LINES = 500
"""Lines that are made at a time."""


class PatientResponse(StreamingResponse):
    """An answer in parts whose reader is cut off when it stalls: it holds a bounded part, and may ask again."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""

        async def send_soon(message: Message) -> None:
            try:
                async with asyncio.timeout(STALLED_S_MAX):
                    await send(message)
            except TimeoutError:
                abort(scope)
                raise

        try:
            await super().__call__(scope, receive, send_soon)
        except TimeoutError:
            return
        finally:
            if (close := getattr(self.body_iterator, "aclose", None)) is not None:
                await close()


async def lines_response(state: AppState, lines: Iterator[str], media: str) -> PatientResponse:
    """Lines that a worker thread makes as they are sent; what the first of them raises is still a refusal."""
    first = await state.read(_some, lines)

    async def parts() -> AsyncIterator[str]:
        some = first
        while some:
            yield some
            some = await state.read(_some, lines)

    return PatientResponse(parts(), media_type=media)


def _some(lines: Iterator[str]) -> str:
    return "".join([f"{line}\n" for line in islice(lines, _LINES)])


def abort(scope: Scope) -> None:
    """End the connection at once."""
    ended = scope.get("extensions", {}).get(ABORT)
    if ended is not None:
        ended()
