"""Requests about streams."""

from __future__ import annotations

from urllib.parse import unquote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.errors import Refused
from spaseq.service.http.bodies import received
from spaseq.service.http.media import ACCEPT_POST, event_format
from spaseq.service.http.problem import unprocessable
from spaseq.service.http.requests import document_in, json_response, name_in, no_content, put_response, settings_in
from spaseq.service.http.state import AppState
from spaseq.service.settings.streams import StreamSettings

_KEY_CHARACTERS_MAX = 255


class Advance(Struct, frozen=True, forbid_unknown_fields=True):
    """A promise that nothing earlier will come."""

    time: str


async def all_streams(state: AppState, request: Request) -> Response:
    """All streams, derived ones included."""
    return json_response(await state.read(state.core.streams))


async def stream(state: AppState, request: Request) -> Response:
    """A stream: its settings and counters."""
    return json_response(await state.read(state.core.stream, name_in(request)))


async def put_stream(state: AppState, request: Request) -> Response:
    """Declare a stream, or change its settings."""
    name = name_in(request)
    settings = await settings_in(request, state, StreamSettings)
    created = await state.change(state.core.put_stream, name, settings)
    return put_response(created, f"/v1/streams/{name}", await state.read(state.core.stream, name))


async def delete_stream(state: AppState, request: Request) -> Response:
    """Forget a stream that no query reads."""
    await state.change(state.core.delete_stream, name_in(request))
    return no_content()


async def push(state: AppState, request: Request) -> Response:
    """Events; the answer comes when they are on disk."""
    name = name_in(request)
    form = event_format(request.headers.get("content-type"))
    key = _key(request, "idempotency-key")
    identity = _key(request, "ce-id")
    async with received(request, state.budget) as body:
        try:
            ce_id = None if identity is None else unquote(identity)
            found = await state.accepted(name, body, form, idempotency_key=key, ce_id=ce_id)
        except Refused as refused:
            raise _with_formats(refused) from None
    return json_response(found, 202)


async def advance(state: AppState, request: Request) -> Response:
    """The promise that nothing earlier will come."""
    name = name_in(request)
    promised = await document_in(request, state, Advance)
    await state.push(state.core.advance, name, promised.time)
    return json_response({"time": promised.time}, 202)


def _with_formats(refused: Refused) -> Refused:
    """The refusal; of a format that this stream has no template for, with those that are read."""
    if refused.status != 415:
        return refused
    headers = {"Accept-Post": ACCEPT_POST, **refused.headers}
    return Refused(415, refused.title, refused.detail, refused.problems, refused.members, headers)


def _key(request: Request, header: str) -> str | None:
    """The value of a header that names a body or an event; raises Refused (422) for an empty or a long one."""
    text = request.headers.get(header)
    if text is not None and not 0 < len(text.strip()) <= _KEY_CHARACTERS_MAX:
        raise unprocessable(f"{header}: from 1 to {_KEY_CHARACTERS_MAX} characters")
    return None if text is None else text.strip()
