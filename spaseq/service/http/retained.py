"""Requests about the events of the log."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.problem import unprocessable
from spaseq.service.http.requests import json_response, name_in, number_in, whole_number
from spaseq.service.http.state import AppState

LAST = 20
LAST_MAX = 1_000
"""Events that are given if nothing is said, and at most."""


async def newest_events(state: AppState, request: Request) -> Response:
    """The newest events of a stream that are retained, the newest last."""
    last = number_in(request, "last")
    if last is not None and not 1 <= last <= LAST_MAX:
        raise unprocessable(f"last: {last} is no number from 1 to {LAST_MAX}")
    return json_response(await state.read(state.core.retained.newest_events, name_in(request), last or LAST))


async def row_events(state: AppState, request: Request) -> Response:
    """The events of a row by its steps, those of them that are retained."""
    number = whole_number("number", request.path_params["number"])
    return json_response(await state.read(state.core.retained.row_events, name_in(request), number))


async def vocabulary(state: AppState, request: Request) -> Response:
    """The IRIs of the newest events, of the streams and of the knowledge bases."""
    return json_response(await state.read(state.core.retained.vocabulary))
