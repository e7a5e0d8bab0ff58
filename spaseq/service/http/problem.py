"""Answers that say what is wrong: `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from spaseq.errors import Problem
from spaseq.service.errors import Refused

MEDIA_TYPE = "application/problem+json"
_LATER = frozenset({429, 503})
"""Refusals of what may be asked again."""
_MESSAGE_MAX = 4_000
"""Characters of a detail: parts of it were sent by the client."""


def problem_response(refused: Refused) -> Response:
    """The answer to a refused request."""
    headers = dict(refused.headers)
    if refused.status in _LATER:
        headers.setdefault("Retry-After", "1")
    return Response(problem_body(refused), refused.status, headers, MEDIA_TYPE)


def problem_body(refused: Refused) -> bytes:
    """The document of a refusal."""
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": refused.title,
        "status": refused.status,
        "detail": refused.detail[:_MESSAGE_MAX],
    }
    if refused.problems:
        document["problems"] = located(refused.problems)
    return msgspec.json.encode(dict(refused.members) | document)


def located(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems of a text as members of a document."""
    names = ("code", "line", "column", "message", "hint")
    return [{name: getattr(problem, name) for name in names} for problem in problems]


def plain(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Refused:
    """A refusal whose title is the phrase of its status."""
    return Refused(status, HTTPStatus(status).phrase, detail, headers=headers)


def unprocessable(detail: str) -> Refused:
    """The refusal of a value that is no good."""
    return Refused(422, "Unusable value", detail)


def later(detail: str, seconds: int = 1) -> Refused:
    """The refusal of what may be asked again."""
    return Refused(503, "Not now", detail, headers={"Retry-After": str(seconds)})
