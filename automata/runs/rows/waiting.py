"""Matches that a trailing negation may still remove, for one event at a time (specification 3.2, trailing `!`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from arrays.times import AFTER_ALL, later
from automata.chains import columns as col
from automata.matches.pending import PendingMatches
from automata.matches.reporting import Reporter
from automata.matches.selection import Candidate
from automata.protocol import ALWAYS_DUE, NEVER_DUE
from automata.runs.rows.negation import RowNegationIndex
from automata.runs.rows.store import Store
from automata.slices.timeline import Timeline, deadline
from automata.values import Match

_SEEN_MIN = 256
"""Matches remembered as reported below which none is dropped; then twice as many as were left."""
Reached = tuple[int, int]
"""The row of a run, and the number of the accept that it has reached."""
Read = Callable[[int, int | None], Candidate]
"""The match that ends at a row, and when it is decided; None: by its last event."""


class _Pending(NamedTuple):
    """A match that may still be removed, as in `automata.matches.pending`.

    end     the last time, or in a window of events the last rank, at which it may be, whichever comes first
    """

    end: int
    row: int
    accept: int
    deadline: int
    limit: int


class Waiting:
    """The reporter's pending matches while runs are lists: by their ends, and as they came."""

    def __init__(self, reporter: Reporter, negations: RowNegationIndex, store: Store, read: Read) -> None:
        plan = store.core.plan
        self._window = plan.program.window
        self._after_deadline = 0 if plan.program.window.sliding else 1
        self._patience = plan.patience
        self._in_turn = plan.selects
        self._trailing = [bool(accept.passed) for accept in plan.accepts]
        self._reporter = reporter
        self._negations = negations
        self._store = store
        self._read = read
        self._ways = reporter.ways
        self._pending: list[_Pending] = []
        self._by_last: deque[_Pending] = deque()
        self._soonest = AFTER_ALL
        self._seen_max = _SEEN_MIN
        self._changed = False

    def enter(self) -> None:
        """Take over what the reporter has."""
        pending = self._reporter.pending
        columns = (pending.rows, pending.accepts, pending.deadlines, pending.limits)
        self._pending = []
        for row, accept, last, limit in zip(*(column.tolist() for column in columns), strict=True):
            self._pending.append(_Pending(self._end(last, limit), row, accept, last, limit))
        self._by_last = deque(sorted(self._pending, key=attrgetter("row")) if self._window.in_events else ())
        heapify(self._pending)
        self._soonest = min([each.limit for each in self._pending], default=AFTER_ALL)
        self._changed = False

    def sync(self) -> None:
        """Let the reporter have it, too."""
        if self._changed:
            columns = np.array(self._pending, dtype=np.int64).reshape(-1, len(_Pending._fields)).T[1:]
            self._reporter.pending = PendingMatches(*(np.ascontiguousarray(column) for column in columns))
            self._changed = False

    def is_due(self, time: int, timeline: Timeline) -> bool:
        """True if a match may be released now."""
        if not self._pending or self._reporter.held or self._reporter.ready:
            return not self._reporter.idle
        if self._window.in_events:
            return self._pending[0].end < timeline.rank(0) - 1 or self._soonest < time
        return self._pending[0].end < time

    def due(self) -> int:
        """As `automata.protocol.Evaluator`, of the matches here."""
        if not self._pending:
            return NEVER_DUE
        return ALWAYS_DUE if self._window.in_events else self._pending[0].end

    def matches(self, reached: Sequence[Reached], time: int, timeline: Timeline) -> list[Match]:
        """The matches that can be reported once the event has been consumed; `reached` passed all other negations."""
        decided = [self._read(row, None) for row, accept in reached if not self._trailing[accept]]
        decided += self._passed(time, timeline)
        for row, accept in reached:
            if self._trailing[accept]:
                self._wait(row, accept)
        fresh = [candidate for candidate in decided if self._reporter.is_new(candidate.match)]
        self._forget_seen()
        if self._in_turn:
            self._store.sync()
            self.sync()
        return self._reporter.release(fresh, self._reporter.next_decision(time, self._earliest()), self._first_of)

    def _wait(self, row: int, accept: int) -> None:
        own, patience = self._store.rows[row], self._patience[accept]
        last = deadline(self._window, own[col.FIRST_TIME], own[col.FIRST_RANK], own[col.WINDOW])
        limit = AFTER_ALL if patience is None else later(own[col.HIGH_TIME], patience)
        pending = _Pending(self._end(last, limit), row, accept, last, limit)
        heappush(self._pending, pending)
        if self._window.in_events:
            self._by_last.append(pending)
        self._soonest = min(self._soonest, limit)
        self._changed = True

    def _end(self, last: int, limit: int) -> int:
        return last if self._window.in_events else min(last, limit)

    def _decided(self, pending: _Pending, time: int) -> int:
        """The time at which one is decided, where that is by now if a window of events decides it."""
        passed = time if self._window.in_events else pending.deadline + self._after_deadline
        return min(passed, pending.limit)

    def _earliest(self) -> int:
        return self._decided(self._pending[0], 0) if self._pending else AFTER_ALL

    def _first_of(self, time: int) -> int:
        """As the reporter, of the matches here."""
        if self._window.in_events:
            return self._store.rows[self._by_last[0].row][col.HIGH]
        return min(self._store.rows[each.row][col.HIGH] for each in self._pending if self._decided(each, 0) == time)

    def _passed(self, time: int, timeline: Timeline) -> list[Candidate]:
        """Those whose windows or limits have passed and that nothing has removed, in the order of their decisions."""
        over: list[_Pending] = []
        now = timeline.rank(0) - 1 if self._window.in_events else time
        while self._pending and self._pending[0].end < now:
            over.append(heappop(self._pending))
        if self._soonest < time:
            over += [each for each in self._pending if each.limit < time]
            self._pending = [each for each in self._pending if each.limit >= time]
            heapify(self._pending)
            self._soonest = min([each.limit for each in self._pending], default=AFTER_ALL)
        while self._by_last and (self._by_last[0].end < now or self._by_last[0].limit < time):
            self._by_last.popleft()
        self._changed |= bool(over)
        if self._ways.several:
            over.sort(key=lambda each: self._ways.of_row(self._store.rows.__getitem__, each.row))
        else:
            over.sort(key=attrgetter("row", "accept"))
        decided = sorted(((self._decided(each, time), each.row, each.accept) for each in over), key=itemgetter(0))
        return [self._read(row, at) for at, row, accept in decided if not self._negations.violated_after(row, accept)]

    def _forget_seen(self) -> None:
        """As the reporter forgets what was found before, but not at every event."""
        seen = self._reporter.seen
        if not self._pending:
            seen.clear()
        elif len(seen) > self._seen_max:
            oldest = min([self._store.rows[each.row][col.HIGH] for each in self._pending])
            self._reporter.seen = {entries: last for entries, last in seen.items() if last >= oldest}
            self._seen_max = _SEEN_MIN + 2 * len(self._reporter.seen)
