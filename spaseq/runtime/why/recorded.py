"""An operator that keeps the events that its query reads, and what the query finds in them afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from automata.protocol import ALWAYS_DUE
from automata.values import UNBOUND
from sparql_gpm.bounds import inseparable
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.shared import Slice
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.stages.pattern_solver import unfiltered
from spaseq.runtime.stages.pattern_stage import PatternStage, SolvedSlice
from spaseq.runtime.why.world import Candidate

EVENTS_MAX = 5_000_000
"""Events that are kept."""


class TooManyEvents(Exception):
    """More events than are kept."""


class RecordingOperator(QueryOperator):
    """A query that keeps what it reads, in merged order; raises TooManyEvents."""

    def __init__(self, *parts: Any, **named: Any) -> None:
        super().__init__(*parts, **named)
        self.kept: list[EventBatch] = []
        self._count = 0

    def on_batch(self, slice_: Slice) -> Iterator[Rows]:
        if len(slice_):
            self._count += len(slice_)
            if self._count > EVENTS_MAX:
                raise TooManyEvents
            self.kept.append(slice_.batch)
        yield from super().on_batch(slice_)

    @property
    def touching(self) -> PatternStage | None:
        """None: it must see every event."""
        return None

    def due(self) -> int:
        return ALWAYS_DUE

    def live_ids(self) -> list[Ids]:
        return [*super().live_ids(), *(column for batch in self.kept for column in batch.terms)]


def solved(patterns: PatternStage, batch: EventBatch) -> SolvedSlice:
    """Every solution of every GPM of a query in some events."""
    with inseparable():
        return patterns.solve(Slice(batch), unfiltered)


def candidates(found: SolvedSlice, symbol: int, first: int = 0) -> list[Candidate]:
    """The solutions of a symbol, by event, where the first event has this position."""
    table = found.solutions[symbol]
    events = (table.events + first).tolist()
    variables = list(table.values)
    rows: Sequence[Sequence[int]] = list(zip(*(table.values[v].tolist() for v in variables), strict=True))
    if not variables:
        rows = [()] * len(events)
    if all(bool((column != UNBOUND).all()) for column in table.values.values()):
        return [(event, dict(zip(variables, row, strict=True))) for event, row in zip(events, rows, strict=True)]
    return [
        (event, {v: value for v, value in zip(variables, row, strict=True) if value != UNBOUND})
        for event, row in zip(events, rows, strict=True)
    ]
