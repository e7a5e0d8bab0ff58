"""The queries of the service: registered, replaced, paused and removed as the records of the log say."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from sparql_gpm.background import BackgroundError
from sparql_gpm.bounds import MatchBounds
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.stages.conditions import CostlyCondition
from spaseq.runtime.stages.run_counts import RunCounts
from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.counted import counts_of, waiting_at
from spaseq.service.core.groups import Group, Running, in_words
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.meanings import meaning_of, producers, streams_read, uses_knowledge, with_producers
from spaseq.service.core.moving import (
    Kept,
    apart,
    caught_up,
    keep_producers,
    kept_before,
    move_all,
    set_back,
    shadow_of,
    use_producers,
)
from spaseq.service.core.operators import Knowledge, Operators
from spaseq.service.core.records import Accepted, Advanced, Deleted, KnowledgePut, Paused, QueryPut, Record, SetAside
from spaseq.service.core.rest import UntilFault
from spaseq.service.core.sizes import Sizes
from spaseq.service.core.state import DeclaredKnowledge, DeclaredQuery, State
from spaseq.service.core.stopped import StoppedBefore
from spaseq.service.core.watch import Watch

ASLEEP_S_MIN, ASLEEP_S_MAX = 0.5, 30.0
"""Seconds after which an endpoint that was away is asked again, twice as many each time."""
_logger = logging.getLogger("spaseq.service")
Past = Callable[[Sequence[TemporalQuery], Group], Iterator[list[Accepted | Advanced]]]
"""The records from which the state of some queries can be rebuilt, up to the last one of the group, in pieces."""


class Queries:
    """All queries that read the log.

    main        the group that follows the log
    aside       groups whose queries are paused, or catch up
    replaced    knowledge bases that groups use which lag behind
    sources     the knowledge bases
    past        of the log
    """

    def __init__(
        self,
        state: State,
        replaced: Sequence[tuple[int, DeclaredKnowledge]],
        sources: KnowledgeSources,
        past: Past,
        kernels: Kernels,
        bounds: MatchBounds,
        watch: Watch,
    ) -> None:
        self._past = past
        newest = {each.settings.iri: each for each in state.knowledge.values()}
        self.operators = Operators(Knowledge(newest, replaced), sources, kernels, bounds, watch)
        self.main = Group(self.operators.network(), state.number)
        self.aside: list[Group] = []
        self.sizes = Sizes(self.operators.dictionary)
        self._stopped = StoppedBefore()

    def stop_before(self, stopped: StoppedBefore) -> None:
        """Do not go on with queries that were stopped while the service recovered before."""
        self._stopped = stopped
        for group in self.groups:
            for running in [each for each in group.members.values() if not each.shadow]:
                if running.number in stopped.deleted:
                    self._delete(running.name)
                elif running.number in stopped.paused and running.name not in group.pausing:
                    self._pause(group, running.name)

    @property
    def lagging(self) -> list[Group]:
        """The groups that have more to read."""
        now = time.monotonic()
        able = (group for group in self.aside if not group.pausing and group.asleep_until <= now)
        return [group for group in able if group.number < self.main.number or group.rebuilding]

    @property
    def groups(self) -> list[Group]:
        """All groups, the main one first."""
        return [self.main, *self.aside]

    def running(self, name: str) -> Running | None:
        """A query by its name."""
        found = (group.members.get(name) for group in self.groups)
        return next((each for each in found if each is not None and not each.shadow), None)

    def has_failed(self, name: str) -> bool:
        """True if a query was stopped by an error."""
        running = self.running(name)
        return running is not None and bool(running.error)

    def runs(self, name: str) -> int:
        """The number of partial matches of a query that its window, as far as it has been read, lets go on."""
        running, counts = self.running(name), self.run_counts(name)
        if running is None or counts is None:
            return 0
        return running.runs if counts.standing is None else sum(counts.standing)

    def measured(self, names: Sequence[str]) -> dict[str, int | None]:
        """The bytes of the states of queries that are there, as they were measured last; now, as far as that is due."""
        found = {name: running for name in names if (running := self.running(name)) is not None}
        self.sizes.measure([each for each in found.values() if each.has_state])
        return {name: running.memory for name, running in found.items()}

    def run_counts(self, name: str) -> RunCounts | None:
        """The partial matches of a query now; None: it is not there, or was stopped."""
        running = self.running(name)
        return None if running is None else counts_of(self._group_of(name), running)

    def waiting(self, name: str, state: int, limit: int) -> list[dict[str, Any]]:
        """The newest partial matches at a state of a query, `limit` at most; Refused (409)."""
        running = self.running(name)
        return [] if running is None else waiting_at(self._group_of(name), running, state, limit)

    def close(self) -> None:
        """Close the knowledge bases."""
        self.operators.close()

    # --- events -----------------------------------------------------------------------------------

    def read(self, group: Group, records: Sequence[Accepted | Advanced]) -> None:
        """Let a group read records that bring events and watermarks.

        A query that fails is stopped; one that waits for an endpoint which is away is set aside, as it was before.
        """
        if not records:
            return
        self.operators.use_kernels()
        before = kept_before(self.operators, group)
        with self.operators.reading(group):
            group.read(records, self.operators.on_time)
        stopped = group.network.take_stopped()
        for name, reason in stopped.items():
            if name not in group.members:
                continue
            kept = before is not None and name in before.states
            if before is not None and kept and isinstance(reason, BackgroundError):
                self._wait(group, name, before)
            elif before is not None and kept and isinstance(reason, CostlyCondition) and self._is_new(group, reason):
                self.aside.append(set_back(self.operators, group, name, before, singly=True))
            else:
                group.members[name].error, group.failing = in_words(reason), True
        if not stopped:
            group.failures = 0
        self.main.network.release_terms(beside=[network for each in self.aside for network in each.networks])

    def _is_new(self, group: Group, reason: CostlyCondition) -> bool:
        """True if the query can read on, one event after the other, without the events of which it is known now."""
        if reason.events is not None:
            self.operators.aside.leave_out(reason)
        return not group.singly or reason.events is not None

    def _wait(self, group: Group, name: str, before: Kept) -> None:
        """Let a query, and those that read its stream, wait for an endpoint; all others go on."""
        other = set_back(self.operators, group, name, before)
        other.failures = group.failures + 1
        other.asleep_until = time.monotonic() + min(ASLEEP_S_MAX, ASLEEP_S_MIN * 2 ** min(group.failures, 10))
        self.aside.append(other)
        _logger.warning("query %s waits for an endpoint that does not answer", name)

    @property
    def next_look_s(self) -> float | None:
        """Seconds until a group that waits for an endpoint is to ask it again; None: none waits."""
        times = [group.asleep_until for group in self.aside if group.asleep_until and not group.pausing]
        return max(0.01, min(times) - time.monotonic()) if times else None

    # --- changes ----------------------------------------------------------------------------------

    def change(self, number: int, record: Record, state: State) -> None:
        """Carry out a change of what is declared, for the main group; `state` has it already."""
        self.main.number = number
        match record:
            case QueryPut(_, _, _, since) if since != "kept":
                self._place(self.main, record, number, state)
            case Paused(name, _, True) if name in self.main.members:
                self._pause(self.main, name)
            case Paused(name, _, False):
                self._resume(name)
            case Deleted("query", name):
                self._delete(name)
            case SetAside():
                self.main.fail_by(record, state)
            case KnowledgePut(name):
                self.operators.supply(state.knowledge[name], number)
                self._use(self.main, state.knowledge[name].settings.iri)
                self._close_replaced()
            case _:
                pass

    def change_aside(self, group: Group, number: int, record: Record, state: State) -> None:
        """Carry out a change that a group which catches up has reached; `state` is that of the main group."""
        group.number = number
        match record:
            case QueryPut(_, _, _, since) if since != "kept":
                self._place(group, record, number, state)
            case Paused(name, _, True) if name in group.members and name in state.queries:
                if state.queries[name].paused_by == number:  # otherwise it was resumed since
                    self._pause(group, name)
            case Deleted("query", name) if name in group.members:
                self._drop(group, group.members[name])
            case SetAside():
                group.fail_by(record, state)
            case KnowledgePut(_, _, settings):
                self._use(group, settings.iri)
                self._close_replaced()
            case _:
                pass

    def _close_replaced(self) -> None:
        self.operators.close_replaced(min(group.number for group in self.groups))

    def join(self, group: Group) -> None:
        """Let a group that has caught up go on with the main group, unless a producer of it lags behind."""
        if group.is_idle or (caught_up(group, self.main) and not group.rebuilding):
            move_all(self.operators, group, self.main)
            self.aside.remove(group)
            self._close_replaced()

    def _place(self, group: Group, record: QueryPut, number: int, state: State) -> None:
        """Make or replace a query in a group, or leave that to one which is behind: there it runs, or reads from it."""
        name, known, expected = record.name, group.members.get(record.name), group.expected.get(record.name)
        if (declared := state.queries.get(name)) is not None and number >= declared.number in self._stopped.deleted:
            return
        elsewhere = expected is None or number < expected.first if known is None else known.put >= number
        if group is not self.main and elsewhere:
            return
        meaning, rows = meaning_of(name, record.settings.text), 0 if expected is None else expected.rows
        if known is not None:
            rows = known.rows
        behind = None if known is not None and known.shadow else self._behind(group, meaning, number)
        if behind is not None and (known is None or len(group.downstream(known)) == 1):
            before, producers = group.forget_expected(name)
            behind.expect(meaning, number, rows, before)
            reader = Running(name, 0, number, meaning, record.settings.text, record.settings.max_runs, shadow=True)
            keep_producers(self.operators, group, behind, reader, producers)
            if known is not None:
                self._drop(group, known)
        else:
            if group is not self.main:
                self._shadow(group, meaning, number, state)
            self._put(group, record, number, declared, rows)
        if expected is not None and expected.last <= number:
            group.forget_expected(name)

    def _behind(self, group: Group, meaning: TemporalQuery, number: int) -> Group | None:
        """Another group, which has not reached a record, where its query runs or whose streams that reads."""
        behind = [each for each in self.aside if each is not group and each.number < number]
        runs = [each for each in behind if group is self.main and each.has(meaning.name)]
        read = set(streams_read(meaning))
        return next(chain(runs, (each for each in behind if read & each.made)), None)

    def _shadow(self, group: Group, meaning: TemporalQuery, number: int, state: State) -> None:
        """Have the producers of what a query reads in a group that is behind: as they were, or else from the log."""
        use_producers(self.operators, group, meaning.name, number)
        for each in with_producers(producers(state), meaning)[:-1]:
            running = self.running(each.name)
            if running is not None and each.name not in group.members and running.put <= number:
                self._rebuild(group, shadow_of(running))

    def _put(self, group: Group, record: QueryPut, number: int, declared: DeclaredQuery | None, rows: int) -> None:
        """Make or replace a query in a group; one that was deleted since is a shadow."""
        known = group.members.get(record.name)
        text, max_runs = record.settings.text, record.settings.max_runs
        meaning = meaning_of(record.name, text)
        if declared is not None and declared.number > number:
            declared = None  # it is another one of this name
        made = 0 if declared is None else declared.number
        shadow = declared is None if known is None else known.shadow
        rows = self._stopped.rows(made, number, rows)
        running = Running(record.name, made, number, meaning, text, max_runs, rows, shadow=shadow)
        if known is not None:
            running.found = known.found
            group.network.remove(known.reader, keep_readers=True)
        if record.since == "window":
            self._rebuild(group, running)
        else:
            self.operators.add(group, running)
        is_here = record.name in group.members  # it is apart if the log could not be read
        # release 0.1.0 did not note by which record
        paused = made in self._stopped.paused or (declared and declared.paused and not declared.paused_by)
        if is_here and known is None and paused:
            self._pause(group, record.name)

    def rebuild(self, group: Group, running: Running) -> None:
        """Let a query of a group go on from a state that comes from the log."""
        group.network.remove(running.reader, keep_readers=True)
        self._rebuild(group, running)

    def has_rebuilt(self, group: Group) -> bool:
        """Rebuild the states of a group that could not be read from the log before; False if that fails again."""
        group.asleep_until = 0.0
        for name in sorted(group.rebuilding):
            group.rebuilding.discard(name)
            if name in group.members:
                self.rebuild(group, group.members[name])
        return not group.rebuilding

    def _rebuild(self, group: Group, running: Running) -> None:
        """Let a group read a query whose state comes from the log; what it found there is not reported.

        If the log cannot be read, the query waits apart until it can be, and others go on.
        """
        again = Group(self.operators.network(), group.number)
        for each in [*group.upstream([running]), running]:
            shadow = Running(each.name, 0, each.put, each.meaning, each.text, each.max_runs, shadow=True)
            self.operators.add(again, shadow)
        past = UntilFault(self._past([each.meaning for each in again.members.values()], group))
        for records in past:
            with self.operators.reading(again):
                again.read(records, self.operators.on_time)
        if past.fault is None:
            self._use_state(group, running, again)
        else:
            self.operators.add(group, running)
            group = self._apart(group, running.name) if group is self.main else group
            group.rebuilding.add(running.name)
            group.wait_for_disk(past.fault)
        for each in again.members.values():
            again.network.remove(each.reader, keep_readers=True)

    def _use_state(self, group: Group, running: Running, again: Group) -> None:
        """Let a group read a query that goes on as it is in another group."""
        for each in list(again.members.values()):  # a stream may have been still since before what was read
            again.advance(each.meaning, group.watermarks)
        running.error, group.failing = _failures(again).get(running.name, ""), True
        self.operators.put_in(group, running, again.network.state_of(again.members[running.name].reader))

    def _pause(self, group: Group, name: str) -> None:
        """Pause a query of a group: it waits in another group, and so do the queries that read its stream."""
        other = self._apart(group, name)
        other.pausing.add(name)
        if other.is_idle:  # a shadow, which nothing waits for
            self.join(other)

    def _apart(self, group: Group, name: str) -> Group:
        """Move a query, and the queries that read its stream or are going to, from a group to a new one."""
        moved = group.downstream(group.members[name])
        other = apart(self.operators, group, moved)
        other.take_expected(group, moved)
        other.rebuilding = group.rebuilding & other.members.keys()
        group.rebuilding &= group.members.keys()
        self.aside.append(other)
        return other

    def _resume(self, name: str) -> None:
        """Let a query catch up; those beside it that are paused themselves stay so, with their readers."""
        for group in [each for each in self.aside if name in each.pausing]:
            group.pausing.discard(name)
            while group.pausing:  # as release 0.1.0 has it
                other = self._apart(group, group.first_paused())
                other.pausing = {each for each in group.pausing if each in other.members}
                group.pausing -= other.pausing

    def _delete(self, name: str) -> None:
        """Remove a query; a group that is behind may need its stream until it reaches the record of that."""
        if name in self.main.members:
            self._drop(self.main, self.main.members[name])
        for group in self.aside:
            group.pausing.discard(name)
            if name in group.members:
                group.members[name].shadow = True
            if name in group.expected:
                group.expected[name].rows, group.expected[name].deleted = 0, True
        for group in [each for each in self.aside if each.is_idle]:
            self.join(group)

    def _drop(self, group: Group, running: Running) -> None:
        group.network.remove(running.reader, keep_readers=True)
        del group.members[running.name]

    def _use(self, group: Group, iri: str) -> None:
        """Let the queries of a group that may ask a knowledge base go on with the one that was supplied last."""
        for running in list(group.members.values()):
            if uses_knowledge(running.meaning, iri) and not running.error:
                state = group.network.state_of(running.reader)
                group.network.remove(running.reader, keep_readers=True)
                self.operators.put_in(group, running, state)

    def _group_of(self, name: str) -> Group:
        return next(each for each in self.groups if name in each.members and not each.members[name].shadow)


def _failures(group: Group) -> dict[str, str]:
    """The reasons of the queries that have been stopped since the last call, by name."""
    return {name: in_words(reason) for name, reason in group.network.take_stopped().items()}
