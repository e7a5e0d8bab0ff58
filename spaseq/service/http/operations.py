"""One request that the service answers: its method, path, role, and its part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from spaseq.service.http.state import AppState
from spaseq.service.http.tokens import Role
from spaseq.service.settings.quantities import NAME_PATTERN

PATH_PARAMETERS: Mapping[str, Any] = {
    "name": {"type": "string", "pattern": NAME_PATTERN},
    "number": {"type": "integer", "minimum": 0},
}
"""What may stand in paths, and its schema."""
Lasts = Literal["briefly", "long", "limited"]
"""The time that the work of a request may take: too little to be watched; any; or the limit `request`.

What may take long ends when its client goes away.
"""
_TOO_LONG = {503: "it took more than the limit 'request', and progress says how far it came; or the service ends"}
Endpoint = Callable[[AppState, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One request.

    path        with {name} for a name, {number} for that of a row
    role        of the token that it needs
    endpoint    the first line of its docstring is the summary
    body        the media types of the body; a Struct is the schema of its JSON, None: bytes or text
    parameters  of the query string and headers: name → place and description
    answers     the description of each status beside those that every request may have
    media       of the answer
    headers     of the answer of 200, with their descriptions
    lasts       the time that its work may take
    meanwhile   it is answered while the service recovers
    """

    method: str
    path: str
    role: Role
    endpoint: Endpoint
    answers: Mapping[int, str]
    body: Mapping[str, type | None] = field(default_factory=dict)
    parameters: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    media: tuple[str, ...] = ("application/json",)
    headers: Mapping[str, str] = field(default_factory=dict)
    lasts: Lasts = "briefly"
    meanwhile: bool = False

    @property
    def summary(self) -> str:
        """The first line of what the endpoint says of itself."""
        return (self.endpoint.__doc__ or "").partition("\n")[0]

    def document(self, reference: Callable[[type], Any]) -> dict[str, Any]:
        """The operation object of OpenAPI; `reference` gives the schema of a Struct."""
        found: dict[str, Any] = {
            "summary": self.summary,
            "operationId": self.endpoint.__name__,
            "responses": self._responses(),
            "security": [] if self.role == "none" else [{"token": []}],
            "x-role": self.role,
        }
        if self.parameters or "{" in self.path:
            found["parameters"] = self._parameters()
        if self.body:
            content = {media: {"schema": _schema(kind, reference)} for media, kind in self.body.items()}
            found["requestBody"] = {"required": True, "content": content}
        return found

    def _responses(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for status, text in ((_TOO_LONG if self.lasts == "limited" else {}) | dict(self.answers)).items():
            if status >= 400:
                found[str(status)] = {"$ref": "#/components/responses/Problem"} | {"description": text}
            elif status == 204:
                found[str(status)] = {"description": text}
            else:
                content: dict[str, Any] = {media: {"schema": {}} for media in self.media}
                found[str(status)] = {"description": text, "content": content}
                if self.headers and status == 200:
                    schema = {"schema": {"type": "string"}}
                    found["200"]["headers"] = {
                        name: {"description": about} | schema for name, about in self.headers.items()
                    }
        return found | {"default": {"$ref": "#/components/responses/Problem"}}

    def _parameters(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        found += [{"$ref": f"#/components/parameters/{name}"} for name in PATH_PARAMETERS if f"{{{name}}}" in self.path]
        for name, (place, text) in self.parameters.items():
            found.append({"name": name, "in": place, "description": text, "schema": {"type": "string"}})
        return found


def _schema(kind: type | None, reference: Callable[[type], Any]) -> Any:
    return {"type": "string"} if kind is None else reference(kind)
