"""Matches that a trailing negation may still remove, for one event at a time (LANGUAGE 3.2, trailing `!`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from automata.nfa import Automaton
from automata.program import Match, Program
from automata.runs.reporting import Reporter
from automata.runs.single.forbidden import Forbidden
from automata.runs.single.store import Store
from automata.runs.table import FIRST_RANK, FIRST_TIME, WINDOW
from automata.selection import AFTER, BEFORE, Candidate
from automata.timeline import Timeline, window_ends

_SEEN_MIN = 256
"""Matches remembered as reported before they are looked through."""
Reached = tuple[int, int]
"""The row of a run, and the number of the accept that it has come to."""
Read = Callable[[int, tuple[int, ...] | None], Candidate]
"""The match that ends at a row, with its moment; None: that of its last event."""


class Waiting:
    """Puts matches among the reporter's pending ones, and takes them out when their windows have passed."""

    def __init__(
        self, program: Program, automaton: Automaton, reporter: Reporter, forbidden: Forbidden, store: Store, read: Read
    ) -> None:
        self._window = program.window
        self._partitioned = bool(program.partition)
        self._trailing = [bool(accept.passed) for accept in automaton.accepts]
        self._reporter = reporter
        self._forbidden = forbidden
        self._store = store
        self._read = read

    def is_due(self, time: int, timeline: Timeline) -> bool:
        """Whether the window of a match that waits for its end may have passed."""
        pending = self._reporter.pending
        if not len(pending):
            return not self._reporter.idle
        if self._window.in_events:
            return self._partitioned or timeline.rank(0) > pending.earliest + 1
        return pending.earliest < time

    def matches(self, reached: Sequence[Reached], time: int, timeline: Timeline) -> list[Match]:
        """What can be reported once the event has been taken in; no other negation removes what was reached."""
        ready = self._passed(time, timeline) if self.is_due(time, timeline) else []
        ready += [self._read(row, None) for row, accept in reached if not self._trailing[accept]]
        for row, accept in reached:
            if self._trailing[accept]:
                self._add(row, accept)
        fresh = [candidate for candidate in ready if self._is_new(candidate.match)]
        self._store.sync()
        if not len(self._reporter.pending) or len(self._reporter.seen) > _SEEN_MIN:
            self._reporter.forget_seen()
        return self._reporter.release(fresh)

    def _passed(self, time: int, timeline: Timeline) -> list[Candidate]:
        """Those whose windows have passed and that nothing has removed."""
        self._store.sync()
        over = self._reporter.pending.pop(self._reporter.over(time, timeline))
        late, place = (0, AFTER) if self._window.sliding and not self._window.in_events else (1, BEFORE)
        rows = zip(over.rows.tolist(), over.accepts.tolist(), over.deadlines.tolist(), strict=True)
        return [
            self._read(row, (deadline + late, place))
            for row, accept, deadline in rows
            if not self._forbidden.violated_after(row, accept)
        ]

    def _add(self, number: int, accept: int) -> None:
        row, window = self._store.rows[number], self._window
        if window.sliding:
            deadline = row[FIRST_RANK] + window.size - 1 if window.in_events else row[FIRST_TIME] + window.size
        else:
            deadline = int(window_ends(window, np.array([row[WINDOW]]))[0]) - 1
        one = np.array([number], dtype=np.int64)
        self._reporter.pending.add(one, accept, np.array([deadline], dtype=np.int64))

    def _is_new(self, match: Match) -> bool:
        """Whether it has not been found before, with another deadline."""
        seen = self._reporter.seen
        if match.entries in seen:
            return False
        seen[match.entries] = match.last
        return True
