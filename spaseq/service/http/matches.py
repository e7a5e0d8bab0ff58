"""The rows of a query, in the form that the reader accepts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.service.http.answers import PatientResponse
from spaseq.service.http.broadcasts import Broadcasts
from spaseq.service.http.media import EVENT_STREAM, NDJSON, SPARQL_RESULTS, TRIG, chosen
from spaseq.service.http.problem import plain
from spaseq.service.http.requests import name_in, number_in, whole_number
from spaseq.service.http.state import AppState
from spaseq.service.store.damage import is_in_a_place

PAGE_ROWS = 1_000
"""Rows that are read at a time."""
DAMAGED = "Spaseq-Damaged"
"""The header with the number of rows that were left out, as they are damaged on disk."""
FORMS = (NDJSON, EVENT_STREAM, SPARQL_RESULTS, TRIG)
_ALL = 2**63 - 1
_LIVE: Mapping[str, str] = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class _Bindings(Struct):
    """The part of a row that SPARQL's results have."""

    bindings: msgspec.Raw


async def matches(state: AppState, request: Request) -> Response:
    """The rows of a query."""
    name = name_in(request)
    form = chosen(request.headers.get("accept"), FORMS)
    after, limit = number_in(request, "after"), number_in(request, "limit")
    if form == EVENT_STREAM:
        state.check_ready()
        return await _followed(state, request, name, after)
    if form == TRIG:
        trig, damaged = await state.read(state.core.trig_rows, name, after, _ALL if limit is None else limit)
        return Response(trig, headers=_told(damaged), media_type=TRIG)
    pages = Pages(state, name, after, limit)
    if form == SPARQL_RESULTS:
        variables = await state.read(_variables, (await state.read(state.core.query, name))["text"])
        await pages.begin()
        damaged = await pages.damaged()
        return PatientResponse(_results(pages, variables, damaged), headers=_told(damaged), media_type=SPARQL_RESULTS)
    await pages.begin()
    return PatientResponse(_lines(pages), media_type=NDJSON)


class Pages:
    """Rows that there are now, page by page; None as `after`: from the oldest, as `limit`: all."""

    def __init__(self, state: AppState, name: str, after: int | None, limit: int | None) -> None:
        self._state, self._name, self._after = state, name, after
        self._left = _ALL if limit is None else limit
        self._page: list[tuple[int, str]] = []
        self._newest = 0

    async def begin(self) -> None:
        """Read the first page; raises Refused (404, 410)."""
        self._newest = await self._state.read(self._state.core.newest_row, self._name)
        self._page = await self._next()

    async def damaged(self) -> int:
        """The number of rows that are damaged on disk."""
        if not self._page:
            return 0
        before = self._page[0][0] - 1
        most = min(self._newest - before, len(self._page) + self._left)
        return await self._state.read(self._state.core.damaged_rows, self._name, before, most)

    async def __aiter__(self) -> AsyncIterator[list[tuple[int, str]]]:
        """Pages that are not empty."""
        while self._page:
            yield self._page
            self._page = await self._next()

    async def _next(self) -> list[tuple[int, str]]:
        core, size = self._state.core, min(self._left, PAGE_ROWS)
        rows = await self._state.read(core.rows, self._name, self._after, max(1, size))
        page = [row for row in rows[:size] if row[0] <= self._newest]
        if page:
            self._after = page[-1][0]
            self._left -= len(page)
        return page


async def _lines(pages: Pages) -> AsyncIterator[str]:
    async for page in pages:
        yield "".join([f"{line}\n" for _, line in page])


async def _results(pages: Pages, variables: tuple[str, ...], damaged: int) -> AsyncIterator[bytes]:
    """SPARQL 1.1 Query Results JSON, without so many rows that are damaged; raises Refused if there are more now."""
    decode = msgspec.json.Decoder(_Bindings).decode
    yield b'{"head":{"vars":' + msgspec.json.encode(variables) + b'},"results":{"bindings":['
    separator = b""
    async for page in pages:
        sound = [line for _, line in page if not is_in_a_place(line)]
        if (damaged := damaged - len(page) + len(sound)) < 0:
            raise plain(500, "rows have been damaged since the answer was begun")
        if sound:
            yield separator + b",\n".join([bytes(decode(line).bindings) for line in sound])
            separator = b",\n"
    yield b"]}}"


def _told(damaged: int) -> dict[str, str]:
    """The header of an answer without so many rows."""
    return {DAMAGED: str(damaged)} if damaged else {}


def _variables(text: str) -> tuple[str, ...]:
    """The variables of the rows; raises Refused (406) for CONSTRUCT."""
    meaning = build(parse(text))
    if meaning.template is not None:
        raise plain(406, f"the rows of CONSTRUCT are graphs: {TRIG}, {NDJSON} and {EVENT_STREAM} have them")
    return tuple(column.name for column in meaning.columns)


async def _followed(state: AppState, request: Request, name: str, after: int | None) -> Response:
    """Server-sent events; the header of a client that comes back wins over the address."""
    core = state.core
    if (last := request.headers.get("last-event-id")) is not None:
        after = whole_number("Last-Event-ID", last.strip())
    if after is None:
        after = int(await state.read(core.newest_row, name))
    else:
        await state.read(core.rows, name, after, 1)  # raises Refused (404, 410)
    if request.method == "HEAD":
        return Response(media_type=EVENT_STREAM, headers=dict(_LIVE))
    return _Following(state.broadcasts, name, after)


class _Following(PatientResponse):
    """Server-sent events, which hold a place among the readers from here until they end."""

    def __init__(self, broadcasts: Broadcasts, name: str, after: int) -> None:
        broadcasts.take_place()
        self._broadcasts = broadcasts
        super().__init__(broadcasts.follow(name, after), headers=_LIVE, media_type=EVENT_STREAM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._broadcasts.leave_place()
