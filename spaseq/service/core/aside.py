"""Events that are set aside: which could not be matched within their bounds, and are not tried again.

A decision stands in the log before anything that was found without the event is stored. It names queries by the
number of the record with their text, so that another text sees the event as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sparql_gpm.bounds import Exceeded, MatchBounds
from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.labels import PatternLabel
from sparql_gpm.shared import PatternPool
from spaseq.outputs.dead_letters import DeadLetter, left_out_letter
from spaseq.runtime.stages.conditions import CostlyCondition
from spaseq.service.core.records import EventAside, SetAside, Tried
from spaseq.service.core.state import State
from spaseq.service.core.watch import EventKey, key_of
from spaseq.service.settings.configuration import Limits

DEADLY = "been matched when the service died, twice in a row,"


def bounds_of(limits: Limits) -> MatchBounds:
    """The bounds on matching an event that the limits of a service say."""
    names = "event_solutions", "event_seconds"
    return MatchBounds(limits.event_solutions, limits.event_seconds, names, conditions=True)


class Decided:
    """The events that are set aside, by pattern.

    put     by the name of a query that is read now, the number of the record with its text
    """

    def __init__(self, put: Mapping[str, int], events: Iterable[EventAside]) -> None:
        self.put = put
        self._known: dict[Tried, dict[int, set[EventKey]]] = {}
        self.know(events)

    @staticmethod
    def of_state(state: State) -> Decided:
        """All that was decided about queries as they are."""
        return Decided({name: each.put for name, each in state.queries.items()}, (each for _, each in state.aside))

    def know(self, events: Iterable[EventAside]) -> None:
        """Do not match these events again with the patterns that they exceeded a bound of."""
        for event in events:
            for pattern in event.patterns:
                times = self._known.setdefault(pattern, {})
                times.setdefault(event.time, set()).add(EventKey(event.iri, event.name, event.time))

    def __bool__(self) -> bool:
        return bool(self._known)

    def tried(self, label: PatternLabel) -> Tried:
        """A pattern of a query that is read now, as decisions name it."""
        return Tried(label.query, self.put.get(label.query, 0), label.pattern)

    def of(self, label: PatternLabel, batch: EventBatch) -> Mask | None:
        """The events of a batch that are set aside for a pattern; None: none of them is."""
        times = self._known.get(self.tried(label))
        if times is None:
            return None
        aside: Mask = np.zeros(len(batch), dtype=np.bool_)
        for index in np.flatnonzero(np.isin(batch.times, list(times))).tolist():
            key = key_of(label, batch, index)
            aside[index] = key in times[key.time]
        return aside if aside.any() else None


@dataclass(slots=True)
class _Found:
    """An event that has exceeded a bound: the patterns, and the dead letter of the first of them."""

    letter: DeadLetter
    patterns: dict[Tried, None] = field(default_factory=dict)


class Aside:
    """The events that are set aside for the patterns of a pool, and those that were found since `take`."""

    def __init__(self, dictionary: Dictionary, pool: PatternPool) -> None:
        self.decided = Decided({}, ())
        self._dictionary, self._pool = dictionary, pool
        self._found: dict[EventKey, _Found] = {}
        self._deadly: EventKey | None = None
        pool.left_out = self._leave_out

    def know(self, events: Iterable[EventAside], deadly: EventKey | None = None) -> None:
        """Set these events aside; a deadly one for all queries that read it: the service has died of it."""
        self.decided.know(events)
        self._deadly = self._deadly if deadly is None else deadly
        if self.decided or self._deadly is not None:
            self._pool.supervision.set_aside = self._of

    def know_only(self, events: Iterable[EventAside]) -> None:
        """Forget all others: nobody reads them again."""
        self.decided = Decided(self.decided.put, events)
        if not self.decided and self._deadly is None:
            self._pool.supervision.set_aside = None

    def leave_out(self, costly: CostlyCondition) -> None:
        """Set aside the events for which a condition is too costly."""
        assert costly.events is not None
        for label in costly.labels:
            for index in range(len(costly.events)):
                self._leave_out(label, costly.events, Exceeded(index, costly.reason))

    def take(self, at: int) -> SetAside | None:
        """The record of what was found since the last call, which is known from now on; None: nothing was."""
        if not self._found:
            return None
        found, self._found = self._found, {}
        events = tuple(EventAside(*key, tuple(each.patterns)) for key, each in found.items())
        self.know(events)
        return SetAside(at, events, tuple(_with_queries(each) for each in found.values()))

    def _of(self, label: PatternLabel, batch: EventBatch) -> Mask | None:
        aside, deadly = self.decided.of(label, batch), self._deadly
        if deadly is None:
            return aside
        for index in np.flatnonzero(batch.times == deadly.time).tolist():
            if key_of(label, batch, index) == deadly and (aside is None or not aside[index]):
                self._leave_out(label, batch, Exceeded(index, DEADLY))
                aside = np.zeros(len(batch), dtype=np.bool_) if aside is None else aside
                aside[index] = True
        return aside

    def _leave_out(self, label: PatternLabel, batch: EventBatch, exceeded: Exceeded) -> None:
        key = key_of(label, batch, exceeded.event)
        if key not in self._found:
            self._found[key] = _Found(left_out_letter(label, batch, exceeded, self._dictionary))
        self._found[key].patterns[self.decided.tried(label)] = None


def _with_queries(found: _Found) -> DeadLetter:
    return found.letter.of_queries(dict.fromkeys(each.query for each in found.patterns))
