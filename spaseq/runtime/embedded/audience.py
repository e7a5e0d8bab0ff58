"""The queries that read one merged input, found by the patterns that events touch and by the times when rows are due.

A query that nothing touches is not visited: at its next visit it is told how many events it has missed. So an event
costs what the queries that it touches cost (a discrimination index over patterns, like the alpha network of Rete).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.protocol import ALWAYS_DUE, NEVER_DUE
from automata.slices.events import Gap
from sparql_gpm.shared import Entailed, PatternPool, Slice
from spaseq.algebra.nodes import TemporalQuery
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.derived import DerivedStream
from spaseq.runtime.embedded.dormant import DormantOperator
from spaseq.runtime.embedded.operator import QueryOperator, group_together
from spaseq.runtime.embedded.touched_index import TouchedIndex
from spaseq.runtime.order.merged_input import MergedInput
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.stages.run_counts import RunCounts, WaitingRun

_STALE_MIN = 64
"""Entries that may be out of date, beside as many as are not."""
OnRows = Callable[[Rows], None]
"""Takes the rows of one query as they are found."""
Order = tuple[int, int]
"""The level of a query, which is above those of the producers of its streams, and its place there."""


class Passed(NamedTuple):
    """The events that have passed: their number, that of their distinct times, of those on each stream; the last time.

    Nothing is counted as long as one reader is alone.
    """

    events: int
    slots: int
    streams: tuple[int, ...]
    time: int

    def shifted(self, here: Passed, there: Passed) -> Passed:
        """As long before `there` as this is before `here`."""
        streams = [mine + new - old for mine, old, new in zip(self.streams, here.streams, there.streams, strict=True)]
        events, slots = there.events - here.events, there.slots - here.slots
        return Passed(self.events + events, self.slots + slots, tuple(streams), self.time)


@dataclass(slots=True, eq=False)
class Reader:
    """A query with the audience that it belongs to, and the stream that it derives, if any.

    operator    None: it is dormant, or reached the bound on partial matches and was stopped: it holds nothing
    dormant     what is there before the first event touches it
    patterns    they tell which events touch it; None: it must see every event
    seen        the events that had passed when it was visited last
    due         it must be visited once no event before this time is to come, whatever is touched
    text        by which its state knows it
    reason      for which it was stopped
    """

    query: TemporalQuery
    made: InitVar[QueryOperator | DormantOperator]
    on_rows: OnRows
    derived: DerivedStream | None
    order: Order
    operator: QueryOperator | None = field(default=None, init=False)
    dormant: DormantOperator | None = field(default=None, init=False)
    patterns: PatternStage | None = field(init=False)
    audience: Audience = field(init=False)
    seen: Passed = field(init=False)
    due: int = field(default=NEVER_DUE, init=False)
    text: str = field(init=False)
    reason: Exception | None = field(default=None, init=False)

    _release: Callable[[], None] = field(init=False)

    def __post_init__(self, made: QueryOperator | DormantOperator) -> None:
        self.text = self.query.parsed.text
        if isinstance(made, DormantOperator):
            self.dormant, self.patterns = made, made.patterns
        else:
            self.operator, self.patterns = made, made.touching
        self._release = made.patterns.release if isinstance(made.patterns, PatternStage) else _nothing

    @property
    def iris(self) -> tuple[str, ...]:
        """The streams that it reads, in the order of FROM."""
        return tuple(iri for _, iri in self.query.streams)

    @property
    def stopped(self) -> bool:
        """True if it reached the bound on partial matches, or was released."""
        return self.operator is None and self.dormant is None

    @property
    def silent(self) -> bool:
        """True if it has had no row, and has not been stopped."""
        return self.dormant is not None or (self.operator is not None and self.operator.observed is not None)

    def move(self, order: Order) -> None:
        """Gives it another place."""
        self.order = order
        if hasattr(self, "audience"):
            self.audience.level = order[0]

    def stop(self, reason: Exception | None = None) -> None:
        """Lets go of all that it holds but its patterns."""
        self.reason = reason
        if self.operator is not None:
            self.operator.stop()
        self.operator = self.dormant = None

    def release(self) -> None:
        """Lets go of all that it holds; nobody asks for it again."""
        self.stop()
        self._release()

    def wake(self) -> None:
        """Makes the operator of a dormant query, which is to be told of the events that have passed."""
        if self.dormant is not None:
            self.operator, self.dormant = self.dormant.wake(), None

    def run_counts(self, time: int) -> RunCounts | None:
        """Its partial matches now, given that no event before `time` is to come; None: it was stopped."""
        if self.dormant is not None:
            return RunCounts.none_yet(self.dormant.plan.compiled.plan)
        return None if self.operator is None else self.operator.run_counts(time)

    def waiting(self, state: int, limit: int, time: int) -> list[WaitingRun] | None:
        """As `SequenceStage.waiting`; None also of one that was stopped."""
        if self.dormant is not None:
            return []
        return None if self.operator is None else self.operator.waiting(state, limit, time)

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come, given that no event before `watermark` will arrive."""
        return AFTER_ALL if self.operator is None else self.operator.oldest_output_time(watermark)

    def next_due(self) -> int:
        """The time of its next visit; a derived stream has to hear of all times, as those who read it wait."""
        if self.derived is not None:
            return ALWAYS_DUE
        return NEVER_DUE if self.operator is None else self.operator.due()


class Audience:
    """The readers of one merged input.

    readers in the order in which they have joined
    level   of the queries: above those of the producers of their streams
    alone   the only reader, which is visited with every event; None: there are several, or it is dormant
    paused  what arrives waits: its only reader is paused
    """

    def __init__(self, merged: MergedInput) -> None:
        self.input = merged
        self.alone: Reader | None = None
        self.level = 0
        self.paused = False
        self.readers: dict[Reader, None] = {}
        self._passed = self._before = Passed(0, 0, (0,) * len(merged.iris), BEFORE_ALL)
        self._indexes: dict[tuple[PatternPool, Entailed | None], TouchedIndex[Reader]] = {}
        self._due: list[tuple[int, int, Reader]] = []
        self._numbers = count()
        self._heard = BEFORE_ALL
        self._groups_form = False

    @property
    def order(self) -> Order:
        """A place before those of its readers, after those of the producers of its streams."""
        return self.level, -1

    def add(self, reader: Reader) -> None:
        """One more reader, which sees events from now on."""
        if self.alone is not None:
            self.visited(self.alone)
        self.readers[reader] = None
        reader.audience, reader.due, self.level = self, NEVER_DUE, reader.order[0]
        self._groups_form |= reader.operator is not None and reader.operator.shareable is not None
        if (patterns := reader.patterns) is not None:
            self._index(patterns.pool, patterns.entailed).add(reader, patterns.numbers)
        self.visited(reader)

    def hear(self, iri: str, producer: Reader) -> None:
        """Learns how far the stream is that a query makes, which is not dormant."""
        watermark = producer.audience.input.watermark
        if watermark == BEFORE_ALL:
            return
        oldest = producer.oldest_output_time(watermark)
        if oldest == AFTER_ALL:
            self.input.close(iri)
        else:
            self.input.advance(iri, oldest)

    def remove(self, reader: Reader) -> None:
        """Takes a reader out, between two slices."""
        del self.readers[reader]
        reader.due, self.alone = NEVER_DUE, None
        if (patterns := reader.patterns) is not None:
            self._index(patterns.pool, patterns.entailed).remove(reader, patterns.numbers)
        if len(self.readers) == 1:
            (left,) = self.readers
            if left.dormant is None:
                self.pause()
                self.catch_up(left)
                self.visited(left)

    def absorb(self, other: Audience) -> None:
        """Takes over the readers of an audience whose input is in the same state."""
        other.pause()
        for (pool, entailed), index in other._indexes.items():
            self._index(pool, entailed).take_over(index, self._passed.events)
        for reader in other.readers:
            if other.alone is None:
                other.catch_up(reader)
            seen, passed = reader.seen, other._passed
            self.add(reader)
            if reader.dormant is not None:
                reader.seen = seen.shifted(passed, self._passed)

    def release(self) -> Slice:
        """Takes out all events that nothing can precede; possibly none."""
        slice_ = self.input.release()
        if self.alone is None:
            if self._groups_form:
                self._group()
            self.pause()
            if len(slice_):
                self._passed = self._with(slice_)
        return slice_

    def pause(self) -> None:
        """All events that were released have been read by those whom they concern."""
        self._before = self._passed

    def reached(self, slice_: Slice) -> Iterable[Reader]:
        """The readers that must be visited with the slice that was just released, in any order."""
        if self.alone is not None:
            return (self.alone,)
        watermark = self.input.watermark
        if not len(slice_) and watermark == self._heard:
            return ()
        self._heard = watermark
        found: dict[Reader, None] = {}
        if len(slice_):
            for index in self._indexes.values():
                found.update(dict.fromkeys(index.touched(slice_, self._passed.events)))
        while self._due and self._due[0][0] <= watermark:
            due, _, reader = heappop(self._due)
            if due == reader.due and reader in self.readers:
                found[reader], reader.due = None, NEVER_DUE
        return found

    def catch_up(self, reader: Reader) -> None:
        """Tells a reader of the events before the slice that was just released, or before `pause`."""
        if reader.dormant is not None:
            return
        seen, before = reader.seen, self._before
        patterns = reader.patterns
        if seen.events < before.events and reader.operator is not None and patterns is not None:
            tell = partial(self._index(patterns.pool, patterns.entailed).tell, seen.events)
            streams = [now - then for now, then in zip(before.streams, seen.streams, strict=True)]
            gap = Gap(before.events - seen.events, before.slots - seen.slots, before.time)
            reader.operator.skip(gap, streams, tell)
        reader.seen = before

    def visited(self, reader: Reader) -> None:
        """A reader has read everything that was released."""
        reader.seen, due = self._passed, reader.next_due()
        told, reader.due = reader.due, due
        if due != NEVER_DUE and due != told:
            heappush(self._due, (due, next(self._numbers), reader))
            if len(self._due) > 2 * len(self.readers) + _STALE_MIN:
                self._forget_stale()
        self.alone = reader if len(self.readers) == 1 and reader.dormant is None else None

    def postpone(self, reader: Reader) -> None:
        """A reader could not be visited with what was just released: it is at the next occasion."""
        reader.due = ALWAYS_DUE
        heappush(self._due, (ALWAYS_DUE, next(self._numbers), reader))

    def _forget_stale(self) -> None:
        """Drops the times at which readers are not due any more."""
        left = ((due, number, reader) for due, number, reader in self._due if reader in self.readers)
        known = {reader: (due, number, reader) for due, number, reader in left if due == reader.due}
        self._due = list(known.values())
        heapify(self._due)

    def _group(self) -> None:
        """Lets queries that have nothing open be propagated together."""
        operators = [reader.operator for reader in self.readers if reader.operator is not None]
        alone = [each for each in operators if each.shareable is not None and each.shareable.group is None]
        self._groups_form = len(alone) > 1 and not group_together(alone)

    def _index(self, pool: PatternPool, entailed: Entailed | None) -> TouchedIndex[Reader]:
        if (pool, entailed) not in self._indexes:
            self._indexes[pool, entailed] = TouchedIndex(pool, entailed)
        return self._indexes[pool, entailed]

    def _with(self, slice_: Slice) -> Passed:
        """The events that have passed, with those of a slice."""
        events, slots, streams, _ = self._passed
        count, last = len(slice_), slice_.last_time
        if len(streams) == 1:
            return Passed(events + count, slots + count, (events + count,), last)
        batch = slice_.batch
        on_each = np.bincount(batch.streams, minlength=len(streams)).tolist()
        new = 1 + int(np.count_nonzero(batch.times[1:] != batch.times[:-1]))
        every = tuple([before + more for before, more in zip(streams, on_each, strict=True)])
        return Passed(events + count, slots + new, every, last)


def _nothing() -> None:
    """A source of solutions that is no pattern stage has nothing to release."""
