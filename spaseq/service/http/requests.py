"""Names, numbers and documents in requests."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.bodies import received
from spaseq.service.http.media import JSON, body_type
from spaseq.service.http.problem import plain, unprocessable
from spaseq.service.http.state import AppState
from spaseq.service.settings.conversion import NeedsFiles, SettingsError, converted, declared
from spaseq.service.settings.quantities import check_text, is_name, name_fault
from spaseq.service.settings.toml import CONFIGURATION_BYTES_MAX

_JSON_TYPES = (JSON,)
_Document = TypeVar("_Document")
_Declared = TypeVar("_Declared", bound=NeedsFiles)
NUMBER_MAX = 2**63 - 1
"""The largest number of a row."""


def name_in(request: Request) -> str:
    """The name in the path; raises Refused (422) for what cannot be one."""
    name = unquote(request.path_params["name"])
    if not is_name(name):
        raise unprocessable(name_fault(name))
    return name


def number_in(request: Request, key: str) -> int | None:
    """A number of the query string, None if it is not given; raises Refused (422)."""
    text = request.query_params.get(key)
    return None if text is None else whole_number(key, text)


def whole_number(key: str, text: str) -> int:
    """A number from 0 on; raises Refused (422)."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= NUMBER_MAX):
        raise unprocessable(f"{key}: '{text:.60}' is no number from 0 on")
    return int(text)


async def text_in(request: Request, state: AppState, types: tuple[str, ...]) -> tuple[str, str]:
    """The media type and the text of a body; raises Refused (400) for what is no UTF-8."""
    media = body_type(request.headers.get("content-type"), types)
    async with received(request, state.budget) as body:
        try:
            return media, body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise plain(400, f"byte {error.start} of the body is no UTF-8") from None


async def query_text_in(request: Request, state: AppState, types: tuple[str, ...]) -> tuple[str, Any]:
    """The media type of a body and the text of a query, or the value of JSON; raises Refused (400, 413)."""
    media, text = await text_in(request, state, types)
    given = parsed_json(text) if media == JSON else text
    query = given.get("text") if isinstance(given, dict) else given
    if isinstance(query, str):
        try:
            check_text("text", query, state.limits.text_bytes)
        except ValueError as error:
            raise plain(413, str(error).removeprefix("text: ")) from None
    return media, given


async def settings_in(request: Request, state: AppState, kind: type[_Declared]) -> _Declared:
    """The settings in a body of JSON, with files that exist; raises Refused (400, 422)."""
    _, text = await text_in(request, state, _JSON_TYPES)
    try:
        return declared(parsed_json(text), kind)
    except SettingsError as error:
        raise unprocessable(str(error)) from None


async def document_in(request: Request, state: AppState, kind: type[_Document]) -> _Document:
    """The document in a body of JSON; raises Refused (400, 422)."""
    _, text = await text_in(request, state, _JSON_TYPES)
    return document_of(parsed_json(text), kind)


def document_of(value: Any, kind: type[_Document]) -> _Document:
    """The document that a value of JSON is; raises Refused (422)."""
    try:
        return converted(value, kind)
    except SettingsError as error:
        raise unprocessable(str(error)) from None


def parsed_json(text: str) -> Any:
    """The value of a text of JSON; raises Refused (400, 413)."""
    if len(text) > CONFIGURATION_BYTES_MAX:
        raise plain(413, f"a document of JSON has at most {CONFIGURATION_BYTES_MAX:,} bytes (size of a configuration)")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise plain(400, f"the body is no JSON: {error}") from None


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer of JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def put_response(created: bool, path: str, shown: Any) -> Response:
    """The answer to a PUT: 201 with the place of what is new, or 200."""
    return json_response(shown, 201, {"Location": path}) if created else json_response(shown)


def no_content() -> Response:
    """The answer without a body."""
    return Response(status_code=204)
