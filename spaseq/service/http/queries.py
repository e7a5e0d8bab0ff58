"""Requests about queries."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from spaseq.editors.formatting import formatted, hindrances
from spaseq.service.errors import Refused
from spaseq.service.http.answers import lines_response
from spaseq.service.http.media import JSON, NDJSON, QUERY_TEXT
from spaseq.service.http.problem import unprocessable
from spaseq.service.http.requests import (
    NUMBER_MAX,
    document_in,
    document_of,
    json_response,
    name_in,
    no_content,
    number_in,
    put_response,
    query_text_in,
)  # fmt: skip
from spaseq.service.http.state import AppState
from spaseq.service.settings.queries import QueryChanges

_TEXT_TYPES = (QUERY_TEXT, "text/plain")
RUNS = 50
RUNS_MAX = 200
"""Partial matches that are given if nothing is said, and at most."""


class Replay(Struct, frozen=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """The time of the retained events that are read again: from ≤ time < to."""

    start: str
    end: str


class WhyAsked(Struct, frozen=True, forbid_unknown_fields=True):
    """The number of a row."""

    match: Annotated[int, Meta(ge=1, le=NUMBER_MAX)]


class WhyNotAsked(Struct, frozen=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """A row that is missed: terms by variable as rows have them, graphs by step, and the period of its events."""

    bindings: dict[str, dict[str, Any]] = {}
    events: dict[str, str | list[str]] = {}
    start: str | None = None
    end: str | None = None


async def all_queries(state: AppState, request: Request) -> Response:
    """All queries."""
    return json_response(await state.read(state.core.queries))


async def query(state: AppState, request: Request) -> Response:
    """A query: its text, state and counters."""
    return json_response(await state.read(state.core.query, name_in(request)))


async def put_query(state: AppState, request: Request) -> Response:
    """Register a query, or replace it; what is not named stays."""
    name = name_in(request)
    media, given = await query_text_in(request, state, (*_TEXT_TYPES, JSON))
    changes = document_of(_with_since(given if media == JSON else {"text": given}, request), QueryChanges)
    created = await state.change(state.core.put_query, name, changes)
    return put_response(created, f"/v1/queries/{name}", await state.read(state.core.query, name))


async def delete_query(state: AppState, request: Request) -> Response:
    """Forget a query and its rows."""
    await state.change(state.core.delete_query, name_in(request))
    return no_content()


async def pause(state: AppState, request: Request) -> Response:
    """Let a query rest; it keeps its state and its position in the log."""
    await state.change(state.core.pause, name_in(request))
    return no_content()


async def resume(state: AppState, request: Request) -> Response:
    """Let a query go on with what came meanwhile."""
    await state.change(state.core.resume, name_in(request))
    return no_content()


async def validate(state: AppState, request: Request) -> Response:
    """The problems of a text, which is not registered."""
    _, text = await query_text_in(request, state, _TEXT_TYPES)
    return json_response(await state.read(state.core.validate, text))


async def format_text(state: AppState, request: Request) -> Response:
    """The text of a query in the one format; raises Refused (422) for one that cannot be read."""
    _, text = await query_text_in(request, state, _TEXT_TYPES)
    return json_response({"text": await state.read(_formatted, text)})


def _formatted(text: str) -> str:
    if problems := hindrances(text):
        raise Refused(422, "The query is wrong", problems[0].message, problems=problems)
    return formatted(text)


async def explain(state: AppState, request: Request) -> Response:
    """The meaning of a query and how it is run, with the runs that are kept now."""
    return json_response(await state.read(state.core.explain, name_in(request)))


async def waiting_runs(state: AppState, request: Request) -> Response:
    """The newest partial matches that wait at a state of a query."""
    name, at, limit = name_in(request), number_in(request, "state"), number_in(request, "limit")
    if at is None:
        raise unprocessable("state: it is missing; explain has the ids of the states")
    if limit is not None and not 1 <= limit <= RUNS_MAX:
        raise unprocessable(f"limit: {limit} is no number from 1 to {RUNS_MAX}")
    return json_response(await state.read(state.core.waiting, name, at, limit or RUNS))


async def replay(state: AppState, request: Request) -> Response:
    """The rows that the query finds in the retained events of a time."""
    name, core = name_in(request), state.core
    asked = await document_in(request, state, Replay)
    rows = await state.read(core.retained.replay, name, asked.start, asked.end)
    return await lines_response(state, rows, NDJSON)


async def funnel(state: AppState, request: Request) -> Response:
    """The fate of the retained events, step by step: how many each part of each pattern leaves over."""
    name, given = name_in(request), request.query_params
    found = await state.explain(state.core.explaining.funnel, name, given.get("from"), given.get("to"))
    return Response(found, media_type=JSON)


async def why(state: AppState, request: Request) -> Response:
    """The reasons of a row: what each step of its match used, and what was absent."""
    name = name_in(request)
    asked = await document_in(request, state, WhyAsked)
    found = await state.explain(state.core.explaining.why, name, asked.match)
    return json_response(found.to_dict())


async def why_not(state: AppState, request: Request) -> Response:
    """The reasons why there is no row with these bindings and events: the attempts that came furthest."""
    name = name_in(request)
    asked = await document_in(request, state, WhyNotAsked)
    events = {step: [graphs] if isinstance(graphs, str) else graphs for step, graphs in asked.events.items()}
    core = state.core.explaining
    found = await state.explain(core.why_not, name, asked.bindings, events, asked.start, asked.end)
    return json_response(found.to_dict())


def _with_since(given: Any, request: Request) -> Any:
    """The document with `since` of the query string; raises Refused (422) where the two differ."""
    since = request.query_params.get("since")
    if since is None or not isinstance(given, dict):
        return given
    if given.get("since", since) != since:
        raise unprocessable("since: the address and the body differ")
    return {**given, "since": since}
