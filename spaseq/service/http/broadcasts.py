"""The rows of queries as they are committed, read once for all who follow."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from spaseq.service.errors import Refused
from spaseq.service.http.problem import later
from spaseq.service.http.workers import Workers

CHUNK_ROWS_MAX = 500
"""Rows that are read at a time."""
SENT_BYTES_MAX = 64 << 10
"""Bytes that are handed to a connection at a time: it holds as many again."""
RECENT_BYTES_MAX = 64 << 20
"""Bytes of chunks that are kept for those who follow a little later."""
COMMENT_S = 15.0
"""Seconds without rows after which a comment shows that the connection lives."""
_COMMENT = b": alive\n\n"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows as server-sent events; `last` is the number of the last one, that before it if there is none."""

    data: bytes
    last: int


class Broadcasts:
    """The broadcasts of all queries that somebody follows, and the number of those who do."""

    def __init__(self, workers: Workers, readers_max: int) -> None:
        self._workers = workers
        self._readers_max = readers_max
        self._broadcasts: dict[str, Broadcast] = {}
        self._opening = asyncio.Lock()
        self._recent: OrderedDict[tuple[Broadcast, int], Chunk] = OrderedDict()
        self._recent_bytes = 0
        self.readers = 0
        self.closed = False

    def take_place(self) -> None:
        """Take one place among those who follow; raises Refused (503) if there is none."""
        if self.readers >= self._readers_max or self.closed:
            raise later(f"all {self._readers_max:,} places of readers are taken", seconds=5)
        self.readers += 1

    def leave_place(self) -> None:
        """Give the place back."""
        self.readers -= 1

    async def follow(self, name: str, after: int) -> AsyncIterator[bytes]:
        """Server-sent events for the rows behind `after`, for ever; ends with the query, or with the service."""
        try:
            broadcast = await self._joined(name)
        except Refused:  # the query has gone since it was asked for
            return
        try:
            async for data in broadcast.events(after):
                yield data
        finally:
            await self._leave(name, broadcast)

    def close(self) -> None:
        """End all of them."""
        self.closed = True
        for broadcast in self._broadcasts.values():
            broadcast.end()

    async def _joined(self, name: str) -> Broadcast:
        async with self._opening:
            broadcast = self._broadcasts.get(name)
            if broadcast is None or broadcast.ended or not broadcast.is_of_now():
                broadcast = Broadcast(name, self._workers, self)
                await broadcast.open()
                self._broadcasts[name] = broadcast
            broadcast.followers += 1
            return broadcast

    async def _leave(self, name: str, broadcast: Broadcast) -> None:
        broadcast.followers -= 1
        if broadcast.followers == 0:
            broadcast.end()
            if self._broadcasts.get(name) is broadcast:
                del self._broadcasts[name]
            for key in [key for key in self._recent if key[0] is broadcast]:
                self._recent_bytes -= len(self._recent.pop(key).data)

    def known(self, broadcast: Broadcast, after: int) -> Chunk | None:
        """The rows behind a number, if they were read lately."""
        return self._recent.get((broadcast, after))

    def keep(self, broadcast: Broadcast, after: int, chunk: Chunk) -> None:
        """Keep rows for the others; the oldest make room."""
        if not broadcast.ended and (broadcast, after) not in self._recent:
            self._recent[broadcast, after] = chunk
            self._recent_bytes += len(chunk.data)
        while self._recent_bytes > RECENT_BYTES_MAX:
            self._recent_bytes -= len(self._recent.popitem(last=False)[1].data)


class Broadcast:
    """The rows of one query while somebody follows it.

    A reader that finds none waits until the core has committed more. When the name is that of another query, the
    broadcast ends.
    """

    def __init__(self, name: str, workers: Workers, broadcasts: Broadcasts) -> None:
        self._name, self._workers, self._broadcasts = name, workers, broadcasts
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._told = False
        self._reading: dict[int, asyncio.Task[Chunk]] = {}
        self._newest = self._number = 0
        self._unsubscribe: Callable[[], None] = lambda: None
        self.followers = 0
        self.ended = False

    async def open(self) -> None:
        """Begin to be told of rows; raises Refused (404)."""
        self._number = self._workers.core.query_number(self._name)
        self._unsubscribe = await self._workers.read(self._workers.core.on_rows, self._name, self._tell)

    def is_of_now(self) -> bool:
        """True if the name is still that of the query; else the broadcast ends."""
        try:
            same = self._workers.core.query_number(self._name) == self._number
        except Refused:
            same = False
        if not same:
            self.end()
        return same

    def end(self) -> None:
        """End the broadcast, and with it the answers to all who follow it."""
        if not self.ended:
            self.ended = True
            self._loop.run_in_executor(None, self._unsubscribe)  # it may wait for the core
            self._wake()

    async def events(self, after: int) -> AsyncIterator[bytes]:
        """Parts of server-sent events, behind a number; a comment where there is nothing for a while."""
        while not self.ended and self.is_of_now():
            woken = self._woken
            try:
                chunk = await self._chunk(after)
            except Refused:  # the query has gone, or the rows have: the client asks again and is told
                return
            if not self.is_of_now():
                return
            if chunk.last > after:
                after = chunk.last
                for start in range(0, len(chunk.data), SENT_BYTES_MAX):
                    yield chunk.data[start : start + SENT_BYTES_MAX]
                continue
            try:
                async with asyncio.timeout(COMMENT_S):
                    await woken.wait()
            except TimeoutError:
                yield _COMMENT

    async def _chunk(self, after: int) -> Chunk:
        """The rows behind a number, read once for all who ask meanwhile; those that are in memory without a thread."""
        if (known := self._broadcasts.known(self, after)) is not None:
            return known
        if after >= self._newest and (fresh := self._workers.core.fresh_rows(self._name, after)) is not None:
            return self._made(fresh[:CHUNK_ROWS_MAX], after)
        task = self._reading.get(after)
        if task is None:
            task = self._reading[after] = asyncio.create_task(self._read(after))
            task.add_done_callback(lambda done: self._read_done(after, done))
        return await asyncio.shield(task)

    def _read_done(self, after: int, task: asyncio.Task[Chunk]) -> None:
        if self._reading.get(after) is task:
            del self._reading[after]
        if not task.cancelled():
            task.exception()  # retrieved, also when all who asked have gone

    async def _read(self, after: int) -> Chunk:
        return self._made(await self._workers.read(self._workers.core.rows, self._name, after, CHUNK_ROWS_MAX), after)

    def _made(self, rows: Sequence[tuple[int, str]], after: int) -> Chunk:
        """Rows behind a number as server-sent events."""
        if not rows:
            return Chunk(b"", after)
        data = "".join([f"id: {number}\ndata: {line}\n\n" for number, line in rows]).encode()
        chunk = Chunk(data, rows[-1][0])
        self._newest = max(self._newest, chunk.last)
        self._broadcasts.keep(self, after, chunk)
        return chunk

    def _tell(self) -> None:
        """Called by the core, in another thread."""
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        """Let those read again who found nothing; what is being read may be older than the rows told of."""
        self._told = False
        self._reading.clear()
        self._woken.set()
        self._woken = asyncio.Event()
