"""Requests about the service itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.answers import lines_response
from spaseq.service.http.media import NDJSON
from spaseq.service.http.requests import json_response, number_in
from spaseq.service.http.state import AppState

if TYPE_CHECKING:
    from spaseq.service.core.service import Service

LETTERS_PAGE = 500
"""Dead letters that are read at a time."""


class _Numbered(Struct):
    """The number of a dead letter."""

    n: int


async def dead_letters(state: AppState, request: Request) -> Response:
    """The dead letters behind a number, as NDJSON."""
    letters = _letters(state.core, number_in(request, "after") or 0)
    return await lines_response(state, letters, NDJSON)


async def snapshot(state: AppState, request: Request) -> Response:
    """Write the state and trim the log."""
    await state.change(state.core.snapshot)
    return json_response({"written": True}, 201)


async def healthy(state: AppState, request: Request) -> Response:
    """The process answers."""
    return json_response({"status": "alive"})


async def ready(state: AppState, request: Request) -> Response:
    """The service accepts events and matches, and what waits for the disk; raises Refused (503) if it does not."""
    state.core.check_matching()
    state.core.disk.check()
    waiting = state.core.disk.shown()
    return json_response({"status": "ready"} | ({"waiting": waiting} if waiting else {}))


async def measured(state: AppState, request: Request) -> Response:
    """Counters for Prometheus."""
    text, media = await state.read(state.metrics.text)
    return Response(text, headers={"Content-Type": media})


def _letters(core: Service, after: int) -> Iterator[str]:
    number = msgspec.json.Decoder(_Numbered)
    page = core.dead_letters(after, LETTERS_PAGE)
    while page:
        yield from page
        if len(page) < LETTERS_PAGE:
            return
        page = core.dead_letters(number.decode(page[-1]).n, LETTERS_PAGE)
