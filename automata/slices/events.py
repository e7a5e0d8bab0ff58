"""A slice of the merged order, and the solutions of one symbol over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from automata.slices.shared_work import SharedWork
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class Events:
    """A slice of the merged order.

    times, streams      one of each per event, in merged order
    shared              results derived from them: evaluators that receive the same object compute each once
    """

    times: Ids
    streams: Ids
    shared: SharedWork = field(default_factory=SharedWork, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Gap:
    """Consecutive events in which no symbol has a solution, known by their number alone; at least one.

    slots       the number of their distinct times
    time        of the last
    """

    events: int
    slots: int
    time: int


@dataclass(frozen=True, slots=True)
class SymbolSolutions:
    """The solutions of one symbol over a slice of events.

    events      int64[k], ascending: the index of the event in the slice
    values      variable → int64[k]
    """

    events: Ids
    values: Mapping[int, Ids]
