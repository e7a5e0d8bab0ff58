"""What a pattern may ask of the world outside its event: knowledge bases and endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sparql_gpm.columns import Ids, Solutions
from sparql_gpm.pattern import Pattern


class BackgroundError(Exception):
    """Background knowledge cannot be used: what was attempted, on what, and the way out."""


class Background(Protocol):
    """Named knowledge bases, and SPARQL endpoints.

    Solutions are multisets here, and their ids must be pinned or computed anew for every call.
    """

    def names(self) -> Sequence[str]:
        """The IRIs that `GRAPH ?g` ranges over."""

    def solve(self, name: str, pattern: Pattern, given: Mapping[str, Ids] | None = None, rows: int = 1) -> Solutions:
        """The solutions of the pattern over a knowledge base; raises BackgroundError.

        given   values substituted for variables, `rows` of each: the pattern is solved once for each row, and
                `events` of the answer says for which. Without them the one row is 0.
        """

    def service(self, endpoint: str, pattern: Pattern) -> Solutions:
        """The solutions of the pattern at a SPARQL endpoint, `events` all 0; raises BackgroundError."""
