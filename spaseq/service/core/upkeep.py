"""Snapshots and retention: the disk holds what recovery, windows and users need, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spaseq.algebra.nodes import TemporalQuery
from spaseq.service.core.admission import Admission
from spaseq.service.core.clock import Clock
from spaseq.service.core.copies import copies
from spaseq.service.core.groups import Group
from spaseq.service.core.history import past, retained_bytes, retained_start, window_start
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.meanings import meanings, producers, with_producers
from spaseq.service.core.records import Accepted, Advanced
from spaseq.service.core.saved_groups import saved_groups
from spaseq.service.core.snapshots import VERSION, Memory, Saved, save
from spaseq.service.core.state import State
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.store.database import Database
from spaseq.service.store.writes import forget_letters, forget_others, forget_rows, store_snapshot

DEAD_LETTERS_MAX = 1_000_000
"""Dead letters that are kept."""


class Upkeep:
    """Work between two records, by the thread that reads.

    copies  the folder with the copies of knowledge bases
    """

    def __init__(self, log: SegmentedLog, database: Database, admission: Admission, clock: Clock, copies: Path) -> None:
        self._log, self._database, self._admission = log, database, admission
        self._clock, self._copies = clock, copies
        self.matcher: Matcher

    def save(self) -> None:
        """Store a snapshot, delete rows past retention, and the part of the log that nobody needs."""
        state = self.matcher.state
        memories = [
            Memory.of(name, *self._admission.remembered(name, each.progress.position))
            for name, each in state.streams.items()
            if self._admission.knows(name)
        ]
        groups, marks = saved_groups(self.matcher.queries), self.matcher.marks.saved(self._log.first)
        parts = save(Saved(VERSION, state, groups, memories, marks, self.matcher.queries.operators.replaced))
        now = self._clock.wall()
        self._log.note_ends()
        with self._database.transaction() as write:
            store_snapshot(write, state.number, self.matcher.place.link, parts)
            for query in state.queries.values():
                age = query.settings.retention_age_ns
                before = None if age is None else now - age
                forget_rows(write, query.number, query.settings.retention_rows, before)
            forget_letters(write, DEAD_LETTERS_MAX)
            running = {query.number for group in groups for query in group.queries}
            forget_others(write, running | {query.number for query in state.queries.values()})
        self._trim(state, now)
        with self._admission.deciding:
            for each in (state, self._admission.decided, self._admission.durable):
                each.forget_aside(self._log.first)
            self.matcher.queries.operators.aside.know_only(each for _, each in self._admission.durable.aside)
        self._forget_copies(state)

    def past_of(self, some: Sequence[TemporalQuery], group: Group) -> Iterator[list[Accepted | Advanced]]:
        """The records from which queries, which read each other's streams or none, get the state that a group needs."""
        return past(self._log, self._past_start(some, group), group.number)

    def _past_start(self, some: Sequence[TemporalQuery], group: Group) -> int:
        return window_start(some, self.matcher.marks, group.watermarks)

    def _trim(self, state: State, now: int) -> None:
        """Delete the segments that no window, no query that is behind, and no retention needs."""
        marks, made, watermarks = self.matcher.marks, producers(state), _watermarks(state)
        needed = [state.number + 1, *(group.number + 1 for group in self.matcher.queries.aside)]
        needed += [window_start(with_producers(made, each), marks, watermarks) for each in meanings(state).values()]
        needed += [
            self._past_start([each.meaning for each in group.members.values()], group)
            for group in self.matcher.queries.aside
            if group.rebuilding
        ]
        settings = [each.settings for each in state.streams.values()]
        retained = retained_start(marks, settings, now)
        self._log.trim(min(needed), retained, retained_bytes(settings))

    def _forget_copies(self, state: State) -> None:
        """Delete the copies of knowledge bases that are not used any more, unless a record may come back that does."""
        if not self._log.sure:
            return
        with self._admission.deciding:
            used = {each.copy for one in (state, self._admission.decided) for each in one.knowledge.values()}
            used |= {each.copy for _, each in self.matcher.queries.operators.replaced}
            for path in copies(self._copies):
                if path.name not in used:
                    path.unlink(missing_ok=True)


def _watermarks(state: State) -> dict[str, int]:
    return {each.settings.iri: each.progress.watermark for each in state.streams.values()}
