"""The workbench at `/`: a page that asks the requests of the table like any client; `make web` builds its files."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.operations import Operation
from spaseq.service.http.state import AppState

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}


async def index(state: AppState, request: Request) -> Response:
    """The page."""
    return _file("index.html", "text/html")


async def script(state: AppState, request: Request) -> Response:
    """The script of the page."""
    return _file("workbench.js", "text/javascript")


async def style(state: AppState, request: Request) -> Response:
    """The style of the page."""
    return _file("workbench.css", "text/css")


PAGES = (
    Operation("GET", "/", "none", index, {200: "the page"}, media=("text/html",)),
    Operation("GET", "/workbench.js", "none", script, {200: "its script"}, media=("text/javascript",)),
    Operation("GET", "/workbench.css", "none", style, {200: "its style"}, media=("text/css",)),
)
"""The page and its files; they hold nothing that is secret."""


def _file(name: str, media: str) -> Response:
    content = files("spaseq.service.http").joinpath("assets", name).read_bytes()
    return Response(content, headers=_HEADERS, media_type=media)
