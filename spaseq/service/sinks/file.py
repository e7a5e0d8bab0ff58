"""Rows, appended to a file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

import msgspec

from spaseq.service.log.files import sync_folder
from spaseq.service.peers.pauses import Failed, keep_up
from spaseq.service.peers.threads import in_thread
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.batches import lines_of, next_batch
from spaseq.service.sinks.feed import RowFeed, SinkPosition

_BLOCK_BYTES = 65_536
_LINE_BYTES_MAX = 64_000_000


class _Numbered(msgspec.Struct):
    n: int


class FileSink:
    """Appends rows as NDJSON, each once.

    Rows are on disk before the position is. So what the file has after a crash decides: a torn last line is cut off,
    and if the last whole one is a row of the query, the sink goes on after it. A file that was moved away is begun
    anew. No other sink writes to the file meanwhile.
    """

    def __init__(self, query: str, settings: SinkSettings) -> None:
        assert settings.file is not None
        self._path = settings.file
        self._what = f"query {query}, file {settings.file}"

    async def run(self, feed: RowFeed) -> None:
        """Append rows as they come."""
        await keep_up(self._what, lambda done: self._session(feed, done), feed.report, (OSError,))

    async def _session(self, feed: RowFeed, succeeded: Callable[[], None]) -> None:
        file = _RowFile(self._path)
        try:
            await in_thread(file.open)
            n = await self._found(file, feed)
            feed.report("running", None)
            while True:
                rows = await next_batch(self._what, feed, n)
                if not await in_thread(file.is_in_place):
                    await in_thread(file.open)
                await in_thread(file.append, lines_of(rows))
                n = rows[-1][0]
                await feed.done(SinkPosition(n))
                succeeded()
        finally:
            file.close()

    async def _found(self, file: _RowFile, feed: RowFeed) -> int:
        """The number of the last row that was delivered: that of the file if it has rows of this query."""
        stored, line = feed.position().n, await in_thread(file.last_line)
        n = _number(line)
        if stored < n <= feed.newest() and (await feed.after(n - 1, 1))[0] == (n, line):
            return n
        return stored


class _RowFile:
    """A file that only this sink writes to, of whole lines; it is open between `open` and `close`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    def open(self) -> None:
        """Open the file at the path, or make it, and cut off a torn last line; Failed if another sink has it."""
        self.close()
        is_new = not os.path.exists(self._path)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failed("another sink writes to the file") from error
        self._cut()
        if is_new:
            sync_folder(os.path.dirname(self._path))

    def close(self) -> None:
        """Close the file, and let others have it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def is_in_place(self) -> bool:
        """True if the path still leads to this file."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        return False

    def append(self, text: bytes) -> None:
        """Write whole lines, and return when they are on disk."""
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fdatasync(self._file)

    def last_line(self) -> bytes:
        """The last line, without its end; empty if there is none."""
        text, begin = b"", os.fstat(self._file).st_size
        while begin and text.count(b"\n") < 2 and len(text) < _LINE_BYTES_MAX:
            size = min(begin, _BLOCK_BYTES)
            begin -= size
            text = os.pread(self._file, size, begin) + text
        return text[:-1].rpartition(b"\n")[2]

    def _cut(self) -> None:
        """Cut off a last line without an end."""
        end = os.fstat(self._file).st_size
        begin = end
        while begin:
            size = min(begin, _BLOCK_BYTES)
            begin -= size
            if (found := os.pread(self._file, size, begin).rfind(b"\n")) >= 0:
                begin += found + 1
                break
        if begin < end:
            os.ftruncate(self._file, begin)
            os.fdatasync(self._file)


def _number(line: bytes) -> int:
    """The number of a row; 0 for a line that is none."""
    try:
        return msgspec.json.decode(line, type=_Numbered).n
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0
