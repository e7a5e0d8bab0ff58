"""Events of a slice in the forms that all queries share: one alone, and some with the names of their graphs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sparql_gpm import graph_names
from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import Ids, RowEvent
from sparql_gpm.matching.row_matcher import Triples, by_predicate
from sparql_gpm.relations.rows_by_key import SolutionTuple

_LOOKUPS_MIN = 16
"""From one name in so many events on, names are looked up in columns."""


class SingleEvent:
    """An event with the solutions found in it row at a time, shared by all queries that read it.

    exceeded    by pattern and columns as `found`, the reason for which it was left out
    """

    __slots__ = ("_triples", "event", "exceeded", "found")

    def __init__(self, event: RowEvent) -> None:
        self.event = event
        self.found: dict[tuple[int, tuple[str, ...]], Sequence[SolutionTuple]] = {}
        self.exceeded: dict[tuple[int, tuple[str, ...]], Exceeded] = {}
        self._triples: Triples | None = None

    @property
    def triples(self) -> Triples:
        """The triples of the event."""
        if self._triples is None:
            self._triples = by_predicate(self.event)
        return self._triples


@dataclass(frozen=True, slots=True)
class NamedEvents:
    """Events of a slice, ascending, with the names of their graphs.

    column  the same events as a column; None: it is made where many names are asked for
    """

    events: Sequence[int]
    names: Sequence[str]
    column: Ids | None = field(default=None, repr=False, compare=False)
    _made: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, events: Ids) -> list[str]:
        """The names of some of the events, each made once; KeyError for others."""
        made, wanted = self._made, events.tolist()
        missing = [event for event in wanted if event not in made]
        if self.column is None and _LOOKUPS_MIN * len(missing) < len(self.events):
            made.update((event, self.name(event)) for event in missing)
        elif missing:
            every = np.array(self.events, dtype=np.int64) if self.column is None else self.column
            places = np.minimum(np.searchsorted(every, missing), len(every) - 1)
            if (others := every[places] != missing).any():
                raise KeyError(int(np.array(missing)[others][0]))
            made.update(zip(missing, graph_names.take(self.names, places), strict=True))
        return [made[event] for event in wanted]

    def name(self, event: int) -> str:
        """The name of one of the events; KeyError for another."""
        place = bisect_left(self.events, event)
        if place == len(self.events) or self.events[place] != event:
            raise KeyError(event)
        return self.names[place]
