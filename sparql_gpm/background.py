"""Background knowledge of patterns, outside of their event: knowledge bases and endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sparql_gpm.columns import Ids, Solutions
from sparql_gpm.pattern import Pattern


class BackgroundError(Exception):
    """Background knowledge cannot be used; the text says what was attempted, on what, and the way out."""


class Background(Protocol):
    """Named knowledge bases; the endpoint of a SERVICE is one too, by its IRI.

    A knowledge base is either *solved*: each pattern once, its solutions kept and looked up; or, where it is remote or
    large, *bind-joined*: it gives the solutions for some values. Solutions are multisets here; their ids must be pinned
    or made anew for every call.
    """

    def names(self) -> Sequence[str]:
        """The IRIs that `GRAPH ?g` ranges over."""

    def version(self) -> int:
        """The number of changes of solved knowledge bases so far; constant inside a batch."""

    def is_bind_joined(self, name: str, pattern: Pattern) -> bool:
        """True if the pattern is bind-joined; raises BackgroundError if that is impossible, or nothing was supplied."""

    def solve(self, name: str, pattern: Pattern, given: Mapping[str, Ids] | None = None, rows: int = 1) -> Solutions:
        """The solutions of the pattern over a knowledge base; raises BackgroundError.

        given   values substituted for variables, `rows` of each: the pattern is solved once for each row, and
                `events` of the result is that row. Without them the one row is 0.
        """

    def bind_join(self, name: str, pattern: Pattern, given: Mapping[str, Ids]) -> Solutions:
        """At least the solutions that agree with some row of the given values, `events` all 0; raises BackgroundError.

        given   columns of the same length, of variables in scope, without UNBOUND; none of them: every solution
        """
