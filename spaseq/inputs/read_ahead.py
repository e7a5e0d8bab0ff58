"""Bytes of a compressed input, decompressed by a thread of its own while those before them are read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import BLOCK_BYTES, ByteStream

AHEAD_MAX = 2 * BLOCK_BYTES
"""Bytes that are decompressed ahead."""


class ReadAhead:
    """A stream whose next bytes are read by another thread; all else is as in the stream itself."""

    def __init__(self, stream: ByteStream, thread: ThreadPoolExecutor) -> None:
        self._stream, self._thread = stream, thread
        self._ready = memoryview(b"")
        self._coming: Future[bytes] | None = thread.submit(stream.read, AHEAD_MAX)

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer at the end; raises BrokenOff after the last byte before a damage."""
        parts: list[bytes] = []
        while size > 0 and (self._ready or self._next(wait_only=bool(parts))):
            parts.append(bytes(self._ready[:size]))
            self._ready = self._ready[size:]
            size -= len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _next(self, wait_only: bool) -> bool:
        """Take what is coming; False at the end, and, with `wait_only`, at a damage, which the next read raises."""
        if self._coming is None:
            return False
        if wait_only and isinstance(self._coming.exception(), BrokenOff):
            return False
        text = self._coming.result()
        self._coming = self._thread.submit(self._stream.read, AHEAD_MAX) if text else None
        self._ready = memoryview(text)
        return bool(text)


@contextmanager
def read_ahead(stream: ByteStream) -> Iterator[ReadAhead]:
    """The stream, read ahead until the block ends; nobody else may read from it meanwhile."""
    with ThreadPoolExecutor(1, thread_name_prefix="spaseq-unpack") as thread:
        yield ReadAhead(stream, thread)
