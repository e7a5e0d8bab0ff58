"""A name that comes to be that of another query: who follows it gets the rows of the query that it meant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from spaseq.service.http.broadcasts import Broadcasts
from spaseq.service.http.workers import Workers
from spaseq.service.settings.queries import QueryChanges
from tests.service.http.memory_core import MemoryCore
from tests.service.http.servers import QUERY


async def _next(parts: AsyncIterator[bytes]) -> bytes:
    return await asyncio.wait_for(anext(parts, b"ended"), 60)


async def _follow() -> tuple[bytes, bytes, bytes]:
    core, workers = MemoryCore(), Workers()
    workers.service = core  # type: ignore[assignment]
    broadcasts = Broadcasts(workers, 10)
    core.put_query("q", QueryChanges(QUERY))
    core.found["q"].append('{"of": "the first"}')
    one = broadcasts.follow("q", 0)
    first = await _next(one)
    core.delete_query("q")  # nobody reads between this and the next row
    core.put_query("q", QueryChanges(QUERY))
    core.found["q"] += ['{"of": "the second"}'] * 2
    other = broadcasts.follow("q", 0)
    second = await _next(other)
    ended = await _next(one)
    await other.aclose()  # type: ignore[attr-defined]
    return first, second, ended


def test_who_follows_a_name_gets_no_row_of_another_query_that_had_it() -> None:
    first, second, ended = asyncio.run(_follow())
    assert first == b'id: 1\ndata: {"of": "the first"}\n\n'
    assert second == b'id: 1\ndata: {"of": "the second"}\n\nid: 2\ndata: {"of": "the second"}\n\n'
    assert ended == b"ended", "the rows of another query do not follow those of the first"
