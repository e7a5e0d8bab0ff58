"""The thread that reads the log: records become rows, and rows are on disk before anybody sees them.

    records ──► main group, and groups that catch up ──► rows, dead letters ──► database ──► readers

A replay after a restart reads the same records again: rows get the same numbers, and those that have been stored are
not stored again.
"""

from __future__ import annotations

import errno
import logging
import math
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import TypeVar

from arrays.wanted import NotWanted, while_wanted
from spaseq.service.core.groups import Group, Running
from spaseq.service.core.history import Marks
from spaseq.service.core.queries import Queries
from spaseq.service.core.records import Accepted, Advanced, Deleted, Lost, QueryPut, Record, SetAside, decoded
from spaseq.service.core.rest import Rest, UntilFault
from spaseq.service.core.state import State
from spaseq.service.core.storing import Storing
from spaseq.service.core.watch import Watch
from spaseq.service.errors import Refused
from spaseq.service.log.group_commit import NotDurable
from spaseq.service.log.groups import UNLINKED
from spaseq.service.log.segmented import Place, SegmentedLog
from spaseq.service.store.faults import in_words, is_passing

READ_EVENTS_MAX = 20_000
"""Events that are read before their rows are stored."""
SNAPSHOT_RECORDS, SNAPSHOT_EVENTS = 10_000, 200_000
"""Records, or events in them, after which a snapshot is due: what comes behind it is read again after a crash."""
SNAPSHOT_PART = 20
"""Events alone make a snapshot due only after so many times as long as the last one took, as matching waits for it."""
DECIDE_AGAIN_S = 1.0
"""Pause before a record of what was set aside is written again: nothing is stored before it is on disk."""
SAVE_AGAIN_S_MIN, SAVE_AGAIN_S_MAX = 1.0, 60.0
"""Seconds after which a snapshot that the disk did not take is tried again, twice as many each time."""
_T = TypeVar("_T")


class GivenUp(NotWanted):
    """An end of what was being matched: it is read again from the log."""


_logger = logging.getLogger("spaseq.service")


class Matcher:
    """Reads records on disk as `hand` gives them, in order.

    place       of the last record that was read
    state       what is declared, up to it
    snapshot    is called when one is due, between two records
    failure     of the thread itself: nothing is read any more
    decide_fault    of the log, which does not take what was set aside; "" if it did: nothing is stored before it
    at_work     the thread has been started: what the log had before has been read
    save_fault  of the disk, which did not take the last snapshot; "" if it did
    """

    def __init__(
        self,
        log: SegmentedLog,
        place: Place,
        state: State,
        queries: Queries,
        marks: Marks,
        storing: Storing,
        snapshot: Callable[[], None],
        rest: Rest,
        watch: Watch,
    ) -> None:
        self._watch, self._give_up_at, self.at_work = watch, math.inf, False
        self.place, self.state, self.queries, self.marks = place, state, queries, marks
        self._log, self._storing, self._snapshot, self._rest = log, storing, snapshot, rest
        self._waiting: deque[tuple[Place, Record]] = deque()
        self._events = 0
        self._calls: deque[Callable[[], None]] = deque()
        self._looks: deque[Callable[[], None]] = deque()
        self._changed = Condition()
        self._closed = False
        self._saved, self._unsaved_events, self._rested = state.number, 0, 0.0
        self.failure: Exception | None = None
        self.save_fault = self.decide_fault = ""
        self._save_at, self._save_again_s = 0.0, 0.0
        self._thread = Thread(target=self._run, name="spaseq-matcher", daemon=True)

    @property
    def waiting(self) -> int:
        """Events that have not been read."""
        return self._events

    def start(self) -> None:
        """Begin to read what `hand` gives."""
        self._rest.begin()
        self.at_work = True
        self._thread.start()

    def hand(self, place: Place, record: Record) -> None:
        """Give the next record that is on disk."""
        with self._changed:
            self._waiting.append((place, record))
            self._events += record.count if isinstance(record, Accepted) else 0
            self._changed.notify()

    def call(self, function: Callable[[], _T]) -> Future[_T]:
        """Let the thread that reads call a function between two records, when it has read all that was given.

        Refused, by the future, if matching has ended.
        """
        return self._called(self._calls, function)

    def look(self, function: Callable[[], _T]) -> Future[_T]:
        """Let the thread that reads call a function between two records, soon, however much there is to read."""
        return self._called(self._looks, function)

    def _called(self, calls: deque[Callable[[], None]], function: Callable[[], _T]) -> Future[_T]:
        future: Future[_T] = Future()

        def answered() -> None:
            try:
                self.check()
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)

        with self._changed:
            if self.failure is None:
                calls.append(answered)
                self._changed.notify()
                return future
        answered()
        return future

    def check(self) -> None:
        """Raises Refused (503) if matching has ended by a defect."""
        if self.failure is not None:
            detail = (
                f"matching has ended: {type(self.failure).__name__}: {self.failure}; what is accepted is in the log"
            )
            raise Refused(503, "Matching has ended", detail)

    def begin(self, rebuilt: Sequence[tuple[Group, Running]]) -> None:
        """Rebuild from the log the states that a snapshot does not have, before the thread runs."""
        for group, running in rebuilt:
            self.queries.rebuild(group, running)
        for group in self.queries.groups:
            if group.failing:
                self._storing.store(group, [], self.place)

    def recover(self, records: Sequence[tuple[Place, Record]]) -> None:
        """Read records of the log that were on disk before the service began, before the thread runs."""
        again = deque(records)
        while again:
            self._read(self._next(again))

    def end_by(self, seconds: float) -> None:
        """Give up after so many seconds, whatever is being matched: it is read again from the log."""
        self._give_up_at = time.monotonic() + seconds

    def check_end(self) -> None:
        """Raises GivenUp when it is time to."""
        if time.monotonic() > self._give_up_at:
            raise GivenUp

    def until_durable(self, submit: Callable[[], Future[int]]) -> None:
        """Have a record on disk, as often as it takes; raises GivenUp where the log is closed meanwhile."""
        while True:
            try:
                submit().result()
            except (NotDurable, Refused) as error:
                self.decide_fault = str(error)
                self._rest_after(error)
            else:
                self.decide_fault = ""
                return

    def _rest_after(self, error: NotDurable | Refused) -> None:
        try:
            self._rest.after(error, DECIDE_AGAIN_S)
        except (NotDurable, Refused):
            if self.at_work:  # it ends
                raise GivenUp from error
            raise OSError(errno.EIO, str(error)) from error

    def close(self) -> None:
        """Read what has been given, and end; what the disk does not take now is read again from the log."""
        self._rest.end()
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            with while_wanted(self.check_end):
                while self._step():
                    pass
        except GivenUp:
            self._end(Refused(503, "The service ends", "what is accepted is in the log"))
        except Exception as error:  # a defect: what was accepted is safe in the log
            _logger.exception("matching has ended")
            self._end(error)

    def _end(self, failure: Exception) -> None:
        with self._changed:
            self.failure = failure
            calls = [*self._looks, *self._calls]
            self._looks.clear()
            self._calls.clear()
        for call in calls:
            call()

    def _step(self) -> bool:
        """Wait for work and do some of it; False at the end. Calls are made when what was given has been read."""
        with self._changed:
            while not (self._waiting or self._calls or self._looks or self._closed or self.queries.lagging):
                if self.save_fault and self._is_snapshot_due:
                    break
                self._changed.wait(self._next_look_s)
            records = self._taken()
            looks, calls = len(self._looks), 0 if self._waiting else len(self._calls)
            if self._closed and not (calls or looks or records):
                return False
        self._read(records)
        for _ in range(looks):
            self._looks.popleft()()
        for _ in range(calls):
            self._calls.popleft()()
        for group in self.queries.lagging:
            self._catch_up(group)
        if self._is_snapshot_due:
            self._try_save()
        return True

    @property
    def _next_look_s(self) -> float | None:
        """Seconds until a snapshot or an endpoint that failed is to be tried again; None: neither has failed."""
        save = max(0.01, self._save_at - time.monotonic()) if self.save_fault else None
        return min((each for each in (save, self.queries.next_look_s) if each is not None), default=None)

    @property
    def _is_snapshot_due(self) -> bool:
        if self.save_fault:
            return time.monotonic() >= self._save_at
        if self.state.number >= self._saved + SNAPSHOT_RECORDS:
            return True
        return self._unsaved_events >= SNAPSHOT_EVENTS and time.monotonic() >= self._rested

    def save(self) -> None:
        """Store a snapshot; what the disk does not take is tried again after a pause. Raises OSError, sqlite3.Error."""
        begin = time.monotonic()
        try:
            self._snapshot()
        except (OSError, sqlite3.Error) as error:
            if is_passing(error):
                self._save_later(error)
            raise
        self.save_fault = ""
        self._saved, self._unsaved_events = self.state.number, 0
        self._rested = time.monotonic() + SNAPSHOT_PART * (time.monotonic() - begin)

    def _save_later(self, error: Exception) -> None:
        if not self.save_fault:
            _logger.error("the state cannot be written: %s; trying again", in_words(error))
            self._save_again_s = SAVE_AGAIN_S_MIN / 2
        self._save_again_s = min(SAVE_AGAIN_S_MAX, 2 * self._save_again_s)
        self.save_fault, self._save_at = in_words(error), time.monotonic() + self._save_again_s

    def _try_save(self) -> None:
        """Store a snapshot, or later."""
        try:
            self.save()
        except (OSError, sqlite3.Error) as error:
            if not is_passing(error):
                raise

    @property
    def unsaved(self) -> bool:
        """True if records have been read since the last snapshot."""
        return self.state.number > self._saved

    def _taken(self) -> list[tuple[Place, Record]]:
        """The next records, of a bounded number of events; those whose dead letters are stored apart from others."""
        taken = self._next(self._waiting)
        self._events -= sum(record.count for _, record in taken if isinstance(record, Accepted))
        return taken

    def _next(self, waiting: deque[tuple[Place, Record]]) -> list[tuple[Place, Record]]:
        taken, events = list[tuple[Place, Record]](), 0
        while waiting and events < READ_EVENTS_MAX:
            place, record = waiting.popleft()
            taken.append((place, record))
            count = record.count if isinstance(record, Accepted) else 0
            self._unsaved_events += count
            events += max(1, count)
            if place.number == self._storing.read:
                break
        return taken

    def _read(self, records: list[tuple[Place, Record]]) -> None:
        """Read consecutive records, and store their rows."""
        part: list[Accepted | Advanced] = []
        for place, record in records:
            if isinstance(record, Accepted | Advanced):
                part.append(record)
                self.state.apply(place.number, record)
                continue
            self._read_events(part)
            part = []
            self._before(place, record)
            self._storing.letters += record.letters if isinstance(record, Lost | SetAside) else ()
            self.state.apply(place.number, record)
            self.queries.change(place.number, record, self.state)
        self._read_events(part)
        if records:
            self.place, _ = records[-1]
            self.queries.main.number = self.place.number
            self._storing.store_main(self.queries.main, self.place)
            for group in self.queries.aside:  # what its queries found before they were put aside
                self._storing.store(group, [], self.place)

    def _before(self, place: Place, record: Record) -> None:
        """Store what is found before a query is replaced or deleted, and forget one before it is deleted."""
        if isinstance(record, QueryPut):
            self._storing.store(self.queries.main, [], place)
        if isinstance(record, Deleted) and record.kind == "query" and record.name in self.state.queries:
            for group in self.queries.groups:
                self._storing.store(group, [], place)
            self._storing.forget(self.state.queries[record.name].number)

    def _read_events(self, records: list[Accepted | Advanced]) -> None:
        if not records:
            return
        for record in records:
            if isinstance(record, Accepted):
                self._storing.letters += [*record.letters, *self.queries.operators.late_letters(record)]
        self._watch.until = self.state.number
        self.queries.read(self.queries.main, records)
        self.marks.note(self.state.number, records[-1].at, self.state.largest)

    def _catch_up(self, group: Group) -> None:
        """Let a group read some more of the log, or later; one that has caught up joins the main group."""
        if not self.queries.has_rebuilt(group):
            return
        part: list[Accepted | Advanced] = []
        events, last = 0, Place(group.number, UNLINKED)
        records = UntilFault(self._log.read_linked(group.number + 1))
        for place, data in records:
            if place.number > self.queries.main.number or events >= READ_EVENTS_MAX or group.rebuilding:
                break
            last, record = place, decoded(data)
            if isinstance(record, Accepted | Advanced):
                part.append(record)
                events += record.count if isinstance(record, Accepted) else 1
                continue
            self.queries.read(group, part)
            part = []
            self._storing.store(group, [], place)
            self.queries.change_aside(group, place.number, record, self.state)
        self.queries.read(group, part)
        group.number = last.number
        self._storing.store(group, [], last)
        if records.fault is not None:
            group.wait_for_disk(records.fault)
        else:
            group.fault = ""
            self.queries.join(group)
