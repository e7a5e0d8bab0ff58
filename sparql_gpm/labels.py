"""Names of patterns in reports, and who is told of events that are matched, or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import EventBatch, Mask, RowEvent


@dataclass(frozen=True, slots=True)
class PatternLabel:
    """The name of a pattern and of its query, and name and IRI of the query's streams, by position."""

    pattern: str = ""
    query: str = ""
    streams: tuple[tuple[str, str], ...] = ()


OnLeftOut = Callable[[PatternLabel, EventBatch, Exceeded], object]
"""Takes an event, by its place in a batch, that was not matched with a pattern, and why."""
SetAside = Callable[[PatternLabel, EventBatch], Mask | None]
"""The events of a batch that are not to be matched with a pattern, as was decided before; None: all are."""


@dataclass(slots=True)
class Supervision:
    """Those who are asked, and told, before events are matched with a pattern.

    set_aside   knows the events that are not to be matched; None: there are none
    watch       is told the pattern and the events that are matched next; None: nobody asks
    """

    set_aside: SetAside | None = None
    watch: Callable[[PatternLabel, EventBatch | RowEvent], object] | None = None

    def looks_at(self, label: PatternLabel, batch: EventBatch) -> Mask | None:
        """The events of a batch that are set aside; None: there are none."""
        if self.watch is not None:
            self.watch(label, batch)
        return self._aside(label, batch)

    def mask(self, label: PatternLabel, batch: EventBatch) -> bytes:
        """The events of a batch that are set aside, as bytes: two queries for which they differ share no results."""
        aside = self._aside(label, batch)
        return b"" if aside is None else aside.tobytes()

    def lets(self, label: PatternLabel, event: RowEvent) -> bool:
        """True unless an event, which is matched by itself, is set aside."""
        if self.watch is not None:
            self.watch(label, event)
        return self._aside(label, event.batch) is None

    def _aside(self, label: PatternLabel, batch: EventBatch) -> Mask | None:
        return None if self.set_aside is None else self.set_aside(label, batch)
