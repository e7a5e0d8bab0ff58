"""Counters of what streams have given, to find one of which nothing could be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sparql_gpm.columns import EventBatch
from sparql_gpm.reading.event_builder import Malformed
from spaseq.errors import RunError
from spaseq.outputs.dead_letters import LATE

_SORTED = "'spaseq sort' groups the quads by graph and sorts the events by time; --unordered does so on the way"
_HINTS = {
    "reopened": _SORTED,
    LATE: _SORTED,
    "two timestamps": "--time-choice earliest, or latest, says which one of those in the graph counts",
    "no timestamp": "--time-predicate names the property, or the path <IRI>/<IRI>, that gives the time",
    "bad timestamp": "--time-predicate names another property; of numbers, --time-unit and --time-origin say more",
}
"""The way out, by the kind of what was lost; the first kind that occurs counts."""


def way_out(lost: Mapping[str, int]) -> str:
    """The option that helps where events were lost, by kind."""
    kind = next((kind for kind in _HINTS if lost.get(kind)), "")
    return _HINTS.get(kind, "--dead-letter PATH keeps them, with file, line and reason")


class StreamIntake:
    """The events of one stream: those that were taken, and those that were lost, by kind.

    with_triples    of the events taken, those that have a triple
    reason          of the first event lost
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._taken = self._with_triples = 0
        self._lost: Counter[str] = Counter()
        self._reason: dict[str, str] = {}

    def take(self, events: EventBatch, late: int, emptied: int) -> None:
        """Count a batch, of which so many events are late, and so many have no triple that anybody wants."""
        self._taken += len(events) - late
        self._with_triples += max(0, events.with_triples + emptied - late)
        if late:
            self._lost[LATE] += late
            self._reason.setdefault(LATE, "late")

    def lose(self, fault: Malformed) -> None:
        """Count an event that was left out; a fault that costs only a part of one does not count."""
        if fault.whole_event:
            self._lost[fault.kind] += 1
            self._reason.setdefault(fault.kind, fault.reason)

    def check(self) -> None:
        """Raises RunError if it had several events, and none after the first was taken.

        The part of a graph before it was reopened is no event on its own.
        """
        taken = self._with_triples if self._lost["reopened"] else self._taken
        if taken > 1 or not self._lost or self._taken + self._lost.total() < 2:
            return
        kind = next((kind for kind in _HINTS if self._lost[kind]), next(iter(self._lost)))
        counts = ", ".join(f"{count:,} {each}" for each, count in self._lost.most_common() if count)
        message = f"stream {self._name}: no event after the first could be used ({counts}): {self._reason[kind]}"
        raise RunError(message, hint=way_out(self._lost))
