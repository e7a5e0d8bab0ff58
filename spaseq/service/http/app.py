"""The application: the way of every request to its endpoint, and of every error to its answer."""

from __future__ import annotations

import logging
import math
import secrets
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spaseq.errors import InputError
from spaseq.service.errors import Refused
from spaseq.service.http import page
from spaseq.service.http.answers import abort
from spaseq.service.http.openapi import document
from spaseq.service.http.operations import Operation
from spaseq.service.http.problem import plain, problem_response, unprocessable
from spaseq.service.http.routes import OPERATIONS
from spaseq.service.http.state import AppState
from spaseq.service.http.work import Work, working

_ROUTE = "spaseq.route"
_METHODS = frozenset({"GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"})
_LOG = logging.getLogger("spaseq.http")


def application(state: AppState) -> ASGIApp:
    """The ASGI application of a service."""
    operations = (*OPERATIONS, Operation("GET", "/openapi.json", "read", _openapi, {200: "this document"}), *page.PAGES)
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for each in operations:
        by_path[each.path][each.method] = each
    routes = [Route(path, _Resource(state, path, methods)) for path, methods in by_path.items()]
    middleware = [Middleware(_Gateway, state)]
    if state.hosts.origins:
        middleware.insert(0, _cors(sorted(state.hosts.origins)))
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers={HTTPException: partial(_of_starlette, state)}
    )
    app.router.redirect_slashes = False
    return app


class _Resource:
    """The requests of one path."""

    def __init__(self, state: AppState, path: str, methods: dict[str, Operation]) -> None:
        self._state, self._path = state, path
        self._methods = methods | ({"HEAD": methods["GET"]} if "GET" in methods else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; raises Refused (401, 403, 405)."""
        scope[_ROUTE] = self._path
        request = Request(scope, receive, send)
        operation = self._methods.get(request.method)
        if operation is None or not operation.meanwhile:
            self._state.check_ready()
        if operation is None:
            allowed = ", ".join(sorted(self._methods))
            raise plain(405, f"'{request.method:.20}' is not possible here: {allowed}", {"Allow": allowed})
        self._state.tokens.check(request.headers.get("authorization"), operation.role)
        if operation.lasts == "briefly":
            response = await operation.endpoint(self._state, request)
            await response(scope, receive, send)
            return
        seconds = self._state.limits.request_s if operation.lasts == "limited" else math.inf
        with working(Work(receive, seconds, self._state.ending)):
            response = await operation.endpoint(self._state, request)
            await response(scope, receive, send)


class _Gateway:
    """The first to see a request and the last to see its answer; nothing that goes wrong passes it."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        self._app, self._state = app, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun, answered = time.perf_counter(), _Answered(send)
        scope["path"] = scope["raw_path"].decode("latin-1")  # so that an escaped slash is part of a name
        try:
            self._admit(Request(scope))
            await self._app(scope, receive, answered)
        except ClientDisconnect:
            return
        except Exception as error:
            if answered.status:
                _cut_off(error, scope)
                return
            await problem_response(_refusal(error, scope))(scope, receive, answered)
        finally:
            self._record(scope, answered, time.perf_counter() - begun)

    def _admit(self, request: Request) -> None:
        """Raises Refused for what reaches no endpoint."""
        headers = request.headers
        self._state.hosts.check(request.method, headers.getlist("host"), headers.get("origin"))

    def _record(self, scope: Scope, answered: _Answered, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = scope.get(_ROUTE, "none")
        self._state.metrics.answered(method, route, answered.status, seconds, answered.live)
        is_asked_again = scope["path"] == "/readyz"
        if (answered.status >= 400 and not is_asked_again) or method in ("PUT", "DELETE"):
            client = (scope.get("client") or ("",))[0]
            level = logging.ERROR if answered.status >= 500 and answered.status not in (501, 503) else logging.INFO
            details = {
                "method": method,
                "path": scope["path"][:500],
                "status": answered.status,
                "seconds": round(seconds, 6),
                "client": client,
            }
            _LOG.log(level, "request", extra={"details": details})


class _Answered:
    """A way to send that remembers the status; 0 before the answer begins."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.live = False

    async def __call__(self, message: Message) -> None:
        """Send."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.live = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
            message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
        await self._send(message)


def _cut_off(error: Exception, scope: Scope) -> None:
    """End the connection of an answer that cannot be ended: the client sees that it is not whole."""
    if not isinstance(error, Refused):
        raise error
    _LOG.error("an answer was cut off: %s", error.detail, extra={"details": {"path": scope["path"][:500]}})
    abort(scope)


def _refusal(error: Exception, scope: Scope) -> Refused:
    """The answer to an exception; one that nobody expected is in the log, with a number that the answer has, too."""
    match error:
        case Refused():
            return error
        case InputError():
            return unprocessable(f"{error.message}; {error.hint}" if error.hint else error.message)
        case _:
            number = secrets.token_hex(4)
            _LOG.error("internal error %s", number, exc_info=error, extra={"details": {"path": scope["path"][:500]}})
            return plain(500, f"a fault of the service; its log has it as {number}")


async def _of_starlette(state: AppState, request: Request, error: Exception) -> Response:
    """The answer to what the router refuses: an address that is not there."""
    state.check_ready()
    assert isinstance(error, HTTPException), error
    detail = "there is no such address: /openapi.json lists them" if error.status_code == 404 else error.detail
    return problem_response(plain(error.status_code, detail, error.headers))


async def _openapi(state: AppState, request: Request) -> Response:
    """This document."""
    return Response(document(OPERATIONS), media_type="application/json")


def _cors(origins: Sequence[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "PUT", "POST", "DELETE"],
        allow_headers=[
            "Authorization",
            "Content-Type",
            "Content-Encoding",
            "Idempotency-Key",
            "Last-Event-ID",
            "ce-id",
        ],
        expose_headers=["Location", "Retry-After"],
    )
