"""The bodies of requests, unpacked and bounded while they come."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from spaseq.service.errors import Refused
from spaseq.service.http.problem import later, plain

PAUSE_S_MAX = 10.0
"""Seconds between two parts of a body."""
BODIES_HELD_MAX = 16
"""Bodies of full size whose bytes are held at a time; more bytes than those are refused."""
_PIECE_BYTES = 1 << 20
"""Bytes that are unpacked before others have their turn."""
_PACKED_BYTES = 4 << 10
"""Bytes of gzip that are unpacked before others have their turn: what is behind the end of a member is copied."""
_GZIP = zlib.MAX_WBITS | 16
_ENCODINGS = frozenset({"gzip", "x-gzip"})


@dataclass(slots=True)
class BodyBudget:
    """The bytes that bodies may take.

    body_bytes_max      of one body, unpacked
    held                now, of all bodies
    """

    body_bytes_max: int
    held: int = 0

    def take(self, count: int) -> None:
        """Hold more bytes; raises Refused (503) if all bodies together have too many."""
        if self.held + count > BODIES_HELD_MAX * self.body_bytes_max:
            raise later("too many bodies are being received: send this one again")
        self.held += count

    def give_back(self, count: int) -> None:
        """Hold fewer bytes."""
        self.held -= count


@asynccontextmanager
async def received(request: Request, budget: BodyBudget) -> AsyncIterator[bytes]:
    """The unpacked body, while it is held; raises Refused (400, 408, 413, 415, 503)."""
    unpack = _unpacker(request.headers.get("content-encoding"))
    _check_length(request.headers.get("content-length"), budget.body_bytes_max)
    body = bytearray()
    taken = packed = 0
    try:
        async for part in _parts(request):
            packed += len(part)
            if packed > budget.body_bytes_max:
                raise _too_large(budget.body_bytes_max)
            async for piece in unpack.pieces(part, budget.body_bytes_max + 1 - len(body)):
                budget.take(len(piece))
                taken += len(piece)
                body += piece
                if len(body) > budget.body_bytes_max:
                    raise _too_large(budget.body_bytes_max)
        unpack.check_end()
        yield bytes(body)
    finally:
        budget.give_back(taken)


async def _parts(request: Request) -> AsyncIterator[bytes]:
    more = True
    while more:
        try:
            async with asyncio.timeout(PAUSE_S_MAX):
                message = await request.receive()
        except TimeoutError:
            detail = f"no part of the body came for {PAUSE_S_MAX:g} s"
            raise plain(408, detail, {"Connection": "close"}) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b"")


class _Plain:
    """Bytes as they come."""

    async def pieces(self, part: bytes, room: int) -> AsyncIterator[bytes]:
        """The part, cut behind the byte that is too many."""
        yield part[:room]

    def check_end(self) -> None:
        """Nothing can be missing."""


class _Gzip:
    """Members of gzip, unpacked piece by piece, never more than there is room."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = self._is_between = False

    async def pieces(self, part: bytes, room: int) -> AsyncIterator[bytes]:
        """The bytes that a part stands for, up to `room`; raises Refused (400) for what is no gzip."""
        for at in range(0, len(part), _PACKED_BYTES):
            rest = part[at : at + _PACKED_BYTES]
            if self._is_between and not self._begun:
                rest = rest.lstrip(b"\0")
            while room > 0 and (rest or self._begun):
                if self._member.eof:
                    self._member, self._begun, self._is_between = zlib.decompressobj(_GZIP), False, True
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                piece, rest = self._unpacked(rest, min(room, _PIECE_BYTES))
                room -= len(piece)
                if piece:
                    yield piece
                elif not rest and not self._member.eof:
                    break
            await asyncio.sleep(0)

    def _unpacked(self, rest: bytes, size: int) -> tuple[bytes, bytes]:
        self._begun = self._begun or bool(rest)
        try:
            piece = self._member.decompress(rest, size)
        except zlib.error as error:
            raise plain(400, f"the body is no gzip: {error}") from None
        return piece, self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def check_end(self) -> None:
        """Raises Refused (400) if the end of the last member is missing."""
        if self._begun and not self._member.eof:
            raise plain(400, "the body breaks off: the end of the gzip is missing")


def _unpacker(content_encoding: str | None) -> _Plain | _Gzip:
    encoding = (content_encoding or "identity").strip().lower()
    if encoding == "identity":
        return _Plain()
    if encoding in _ENCODINGS:
        return _Gzip()
    detail = f"the Content-Encoding '{encoding:.60}' is not read: gzip is"
    raise plain(415, detail, {"Accept-Encoding": "gzip, identity"})


def _check_length(content_length: str | None, most: int) -> None:
    """Refuses a body whose length says that it is too large, before it is sent: packed, it is not smaller."""
    if content_length is not None and content_length.isdecimal() and int(content_length) > most:
        raise _too_large(most)


def _too_large(most: int) -> Refused:
    return plain(413, f"a body has at most {most:,} bytes after decompression: send the events in several")
