"""Looks at what is matched now, by the thread that matches, between two records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from arrays.wanted import awaited
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.queries import Queries

_T = TypeVar("_T")
LOOK_S_MAX = 5.0
"""Seconds for which a look waits for the thread that matches."""


class Looks:
    """Any thread asks; where the thread that matches is busy for long, has ended or has not begun, nothing is seen."""

    def __init__(self, matcher: Matcher, queries: Queries) -> None:
        self._matcher, self._queries = matcher, queries

    def looked(self, look: Callable[[], _T]) -> _T | None:
        """The answer of the thread that matches; None: there is none now."""
        if self._matcher.failure is not None or not self._matcher.at_work:
            return None
        try:
            return awaited(self._matcher.look(look), LOOK_S_MAX)
        except TimeoutError:
            return None

    def as_now(self, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Queries as they are shown, without the partial matches whose windows have passed, and with their memory."""
        waiting = [each["name"] for each in shown if each["runs"]]
        held = [each["name"] for each in shown if each["memory"] != 0] if self._queries.sizes.due else []
        if not waiting and not held:
            return shown
        look = self.looked(lambda: ({name: self._queries.runs(name) for name in waiting}, self._queries.measured(held)))
        runs, memory = look or ({}, {})
        return [
            {**each, "runs": runs.get(name := each["name"], each["runs"]), "memory": memory.get(name, each["memory"])}
            for each in shown
        ]
