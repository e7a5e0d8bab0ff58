"""Events that are set aside: which could not be matched within their bounds, and are not tried again.

A decision stands in the log before anything that was found without the event is stored. It names queries by the
number of the record with their text, so that another text sees the event as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.shared import PatternLabel, PatternPool
from spaseq.outputs.dead_letters import DeadLetter, left_out_letter
from spaseq.service.core.records import EventAside, SetAside, Tried
from spaseq.service.core.watch import EventKey, key_of

SET_ASIDE_MAX = 1_000
"""Events that may be set aside for a query with one text; beyond, it is failed."""
DEADLY = "been matched when the service died, twice in a row,"


def too_many_aside(count: int) -> str:
    """The error of a query for which too many events were set aside."""
    return (
        f"{count:,} events could not be matched within event_seconds or event_solutions, more than {SET_ASIDE_MAX:,}: "
        "the dead letters of the kind 'bound' have them; PUT another text, or raise the limits, and PUT it again"
    )


@dataclass(slots=True)
class _Found:
    """An event that has exceeded a bound: the patterns, the queries, and the dead letter of the first of them."""

    letter: DeadLetter
    patterns: dict[Tried, None] = field(default_factory=dict)


class Aside:
    """The events that are set aside for queries with their texts, and those that were found since `take`.

    put     by the name of a query that is read now, the number of the record with its text
    """

    def __init__(self, dictionary: Dictionary, pool: PatternPool) -> None:
        self._dictionary, self._pool = dictionary, pool
        self._known: dict[Tried, dict[int, set[EventKey]]] = {}
        self._found: dict[EventKey, _Found] = {}
        self._deadly: EventKey | None = None
        self.put: Mapping[str, int] = {}
        pool.left_out = self._leave_out

    def know(self, events: Iterable[EventAside]) -> None:
        """Do not match these events again with the patterns that they exceeded a bound of."""
        for event in events:
            for pattern in event.patterns:
                times = self._known.setdefault(pattern, {})
                times.setdefault(event.time, set()).add(EventKey(event.iri, event.name, event.time))
        if self._known:
            self._pool.set_aside = self.of

    def know_deadly(self, event: EventKey | None) -> None:
        """Set this event aside for all queries that read it: the service has died of it."""
        self._deadly = event
        if event is not None:
            self._pool.set_aside = self.of

    def take(self, at: int) -> SetAside | None:
        """The record of what was found since the last call, which is known from now on; None: nothing was."""
        if not self._found:
            return None
        found, self._found = self._found, {}
        events = tuple(EventAside(*key, tuple(each.patterns)) for key, each in found.items())
        self.know(events)
        return SetAside(at, events, tuple(_with_queries(each) for each in found.values()))

    def tried(self, label: PatternLabel) -> Tried:
        """A pattern of a query that is read now, as decisions name it."""
        return Tried(label.query, self.put.get(label.query, 0), label.pattern)

    def of(self, label: PatternLabel, batch: EventBatch) -> Mask | None:
        """The events of a batch that are set aside for a pattern; None: none of them is."""
        times = self._known.get(self.tried(label), {})
        deadly = self._deadly
        wanted = list(times) if deadly is None else [*times, deadly.time]
        aside: Mask = np.zeros(len(batch), dtype=np.bool_)
        for index in np.flatnonzero(np.isin(batch.times, wanted)).tolist():
            key = key_of(label, batch, index)
            aside[index] = key in times.get(key.time, ())
            if key == deadly and not aside[index]:
                self._leave_out(label, batch, Exceeded(index, DEADLY))
                aside[index] = True
        return aside if aside.any() else None

    def _leave_out(self, label: PatternLabel, batch: EventBatch, exceeded: Exceeded) -> None:
        key = key_of(label, batch, exceeded.event)
        if key not in self._found:
            self._found[key] = _Found(left_out_letter(label, batch, exceeded, self._dictionary))
        self._found[key].patterns[self.tried(label)] = None


def _with_queries(found: _Found) -> DeadLetter:
    return found.letter.of_queries(dict.fromkeys(each.query for each in found.patterns))
