"""The refusal of a request, as an answer over HTTP says it (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spaseq.errors import Problem


class Refused(Exception):
    """A request that is not carried out; nothing has changed.

    status      of HTTP, 400 to 599
    title       the kind of refusal, the same for all requests refused so
    detail      this one, and the way out
    problems    where text is at fault: a query, a template
    members     more members of the answer, such as {"queries": ["cheap"]} or {"oldest": 17}
    headers     of the answer, such as {"Retry-After": "1"}
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        problems: tuple[Problem, ...] = (),
        members: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.problems = problems
        self.members: Mapping[str, Any] = members or {}
        self.headers: Mapping[str, str] = headers or {}
