"""Queries that reached the bound on partial matches: they stop, and the others go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from automata.values import Ids
from sparql_gpm.shared import Slice
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import RunError
from spaseq.outputs.row_table import Rows
from spaseq.runtime.order.reorder import AFTER_ALL


class StoppedQuery:
    """The place of an operator that cannot go on: it reads its streams, gives no row and holds nothing."""

    replanned: tuple[str, ...] = ()

    def __init__(self, query: TemporalQuery) -> None:
        self.query = query

    def on_batch(self, slice_: Slice) -> Rows:
        """No row."""
        return []

    def on_watermark(self, time: int) -> Rows:
        """No row."""
        return []

    def finish(self) -> Rows:
        """No row."""
        return []

    def oldest_output_time(self, watermark: int) -> int:
        """No row is to come."""
        return AFTER_ALL

    def live_ids(self) -> list[Ids]:
        """No term is needed."""
        return []

    def snapshot(self) -> dict[str, Any]:
        """The mark by which `is_stopped` knows it."""
        return {"stopped": True}

    def restore(self, state: Mapping[str, Any]) -> None:
        """There is nothing to go on from."""


def is_stopped(state: Mapping[str, Any]) -> bool:
    """True for the snapshot of a query that was stopped."""
    return "stopped" in state


def stopped_error(names: Sequence[str], reason: str) -> RunError:
    """The error that names the queries, the bound and the way out."""
    quoted = ", ".join(f"'{name}'" for name in names)
    return RunError(
        f"query {quoted} was stopped: {reason}" if len(names) == 1 else f"queries {quoted} were stopped: {reason}",
        hint="shorten WITHIN, write ';' for ':', add conditions or PARTITION BY; or allow more with --max-runs "
        "(max_runs in Python)",
    )
