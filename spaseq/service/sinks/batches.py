"""Rows in the batches in which sinks deliver them."""

from __future__ import annotations

import logging

from spaseq.service.sinks.feed import ROWS_MAX, RowFeed

_log = logging.getLogger(__name__)
Batch = list[tuple[int, bytes]]
"""Numbers of rows and their lines, in order; at least one."""


async def next_batch(what: str, feed: RowFeed, n: int) -> Batch:
    """The rows after the one with this number; it is told which ones retention has taken away before that."""
    rows = await feed.after(n, ROWS_MAX)
    if (oldest := rows[0][0]) > n + 1:
        lost = f"the rows {n + 1} to {oldest - 1} were past retention before they were delivered"
        _log.warning("%s: %s", what, lost)
        feed.report("running", lost)
    return rows


def lines_of(rows: Batch) -> bytes:
    """The rows as NDJSON."""
    return b"".join(line + b"\n" for _, line in rows)
