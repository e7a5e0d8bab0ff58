"""Queries that were stopped while the service recovered before: later recoveries begin without them."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StoppedBefore:
    """The numbers of queries that were deleted, and paused.

    rows_before     the number of the last row of a query that is stored, of those from before a record
    """

    deleted: Set[int] = field(default_factory=frozenset)
    paused: Set[int] = field(default_factory=frozenset)
    rows_before: Callable[[int, int], int] = lambda query, record: 0

    def rows(self, query: int, record: int, found: int) -> int:
        """The rows of a query that gets another text; those of the text before may have read what is not made now."""
        return max(found, self.rows_before(query, record)) if self.deleted else found
