"""Recovery: the log is read from the snapshot on, first for all that it decides, then again to match.

What is decided is known before anything is matched: what is declared, which events are set aside, and which queries
were stopped while an earlier recovery went on. So a service answers, and takes a DELETE or a pause, while it matches.
"""

from __future__ import annotations

from collections.abc import Callable

from arrays.wanted import NotWanted
from spaseq.service.core.admission import Admission
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.meanings import can_take
from spaseq.service.core.records import Accepted, Deleted, Paused, Record, decoded
from spaseq.service.core.snapshots import Saved
from spaseq.service.core.state import State
from spaseq.service.core.stopped import StoppedBefore
from spaseq.service.log.segmented import Place, SegmentedLog

KERNEL_REPLAY_EVENTS_MIN = 100_000
"""Events, and records without some, that are read again after a crash, which repay loading kernels.

So many are held before they are matched.
"""


class Stopped(NotWanted):
    """A query was deleted or paused while the service recovered: it begins again without it."""


class Recovery:
    """The records behind a snapshot; when it is made, `admission` has taken them over.

    of      the number of the last one
    deleted, paused     the numbers of queries that were stopped while an earlier recovery went on
    """

    def __init__(self, saved: Saved, log: SegmentedLog, admission: Admission) -> None:
        self._log, self._first, self.of = log, saved.state.number + 1, log.next - 1
        self.deleted, self.paused = set[int](), set[int]()
        self._unusable = set[int]()
        for memory in saved.memories:
            admission.restore(memory.stream, memory.restored(), memory.answers)
        for place, data in log.read_linked(self._first):
            record = decoded(data)
            if log.has_lost and not can_take(admission.durable, record):
                self._unusable.add(place.number)  # what it needs was declared in a record that is lost
                continue
            self._note_stopped(record, admission.durable)
            admission.replay(place.number, record)
        admission.recovered()

    def read(self, matcher: Matcher, kernels: Kernels) -> None:
        """Match them; what comes to the log meanwhile is read later."""
        held, part = 0, list[tuple[Place, Record]]()
        for place, data in self._log.read_linked(self._first):
            if place.number > self.of:
                break
            if place.number in self._unusable:
                continue
            record = decoded(data)
            part.append((place, record))
            held += max(1, record.count) if isinstance(record, Accepted) else 1
            if held >= KERNEL_REPLAY_EVENTS_MIN:
                held = 0
                if not kernels.ready:
                    kernels.load()
                matcher.recover(part)
                part = []
        matcher.recover(part)

    def stopped(self, rows_before: Callable[[int, int], int]) -> StoppedBefore:
        """The queries that are not to be begun with."""
        return StoppedBefore(self.deleted, self.paused, rows_before)

    def _note_stopped(self, record: Record, before: State) -> None:
        match record:
            case Deleted("query", name, _, True) if name in before.queries:
                self.deleted.add(before.queries[name].number)
            case Paused(name, _, True, True):
                self.paused.add(before.queries[name].number)
            case _:
                pass
