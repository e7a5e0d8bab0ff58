"""The rows of a query on their way to a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spaseq.service.peers.pauses import State

ROWS_MAX = 1_000
"""Rows that are delivered together."""


@dataclass(frozen=True, slots=True)
class SinkPosition:
    """The number of the last row that is delivered, and a note that the sink makes for itself (JSON)."""

    n: int = 0
    note: bytes = b""


class RowFeed(Protocol):
    """A query as a sink sees it."""

    async def after(self, n: int, limit: int) -> list[tuple[int, bytes]]:
        """Rows in order from the one after `n`, or from the oldest that is kept; waits until there is one.

        Each is its number and its line of NDJSON without the line's end. All are on disk.
        """

    def newest(self) -> int:
        """The number of the newest row; 0: there was none."""

    def position(self) -> SinkPosition:
        """The position that was stored last."""

    async def done(self, position: SinkPosition) -> None:
        """Store a position; returns when it is on disk."""

    def report(self, state: State, error: str | None) -> None:
        """Say what the sink does, for GET and metrics; it may be called often."""


class Sink(Protocol):
    """A place to which rows of a query go."""

    async def run(self, feed: RowFeed) -> None:
        """Deliver rows until it is cancelled; failures are reported, and it is tried again."""
