"""Requests about knowledge bases."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.requests import json_response, name_in, no_content, put_response, settings_in
from spaseq.service.http.state import AppState
from spaseq.service.settings.knowledge import KnowledgeSettings


async def all_knowledge(state: AppState, request: Request) -> Response:
    """All knowledge bases."""
    return json_response(await state.read(state.core.kbs))


async def knowledge(state: AppState, request: Request) -> Response:
    """A knowledge base: its settings."""
    return json_response(await state.read(state.core.kb, name_in(request)))


async def put_knowledge(state: AppState, request: Request) -> Response:
    """Declare a knowledge base, or change it, also while it is in use."""
    name = name_in(request)
    settings = await settings_in(request, state, KnowledgeSettings)
    created = await state.change(state.core.put_kb, name, settings)
    return put_response(created, f"/v1/kb/{name}", await state.read(state.core.kb, name))


async def delete_knowledge(state: AppState, request: Request) -> Response:
    """Forget a knowledge base that no query uses."""
    await state.change(state.core.delete_kb, name_in(request))
    return no_content()
