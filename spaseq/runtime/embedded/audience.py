"""The queries that read one merged input, found by the patterns that events touch and by the times when rows are due.

A query that nothing touches is not visited: at its next visit it is told how many events it has missed. So an event
costs what the queries that it touches cost (a discrimination index over patterns, like the alpha network of Rete).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from automata.protocol import ALWAYS_DUE, NEVER_DUE
from automata.slices.events import Gap
from sparql_gpm.matching.needs import Need
from sparql_gpm.matching.unseen import Unseen, Vocabulary
from sparql_gpm.shared import Entailed, PatternPool, Slice
from spaseq.algebra.nodes import TemporalQuery
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.derived import DerivedStream
from spaseq.runtime.embedded.dormant import DormantOperator
from spaseq.runtime.embedded.operator import QueryOperator, group_together
from spaseq.runtime.order.merged_input import MergedInput
from spaseq.runtime.order.reorder import AFTER_ALL, BEFORE_ALL
from spaseq.runtime.stages.pattern_stage import PatternStage

OnRows = Callable[[Rows], None]
"""Takes the rows of one query as they are found."""
Order = tuple[int, int]
"""The level of a query, which is above those of the producers of its streams, and its place there."""


class _Passed(NamedTuple):
    """The events that have passed: their number, that of their distinct times, of those on each stream; the last time.

    Nothing is counted as long as one reader is alone.
    """

    events: int
    slots: int
    streams: tuple[int, ...]
    time: int

    def shifted(self, here: _Passed, there: _Passed) -> _Passed:
        """As long before `there` as this is before `here`."""
        streams = [mine + new - old for mine, old, new in zip(self.streams, here.streams, there.streams, strict=True)]
        events, slots = there.events - here.events, there.slots - here.slots
        return _Passed(self.events + events, self.slots + slots, tuple(streams), self.time)


@dataclass(slots=True, eq=False)
class Reader:
    """A query with the audience that it belongs to, and the stream that it derives, if any.

    operator    None: it is dormant, or reached the bound on partial matches and was stopped: it holds nothing
    dormant     what is there before the first event touches it
    seen        the events that had passed when it was visited last
    due         it must be visited once no event before this time is to come, whatever is touched
    """

    query: TemporalQuery
    operator: QueryOperator | None
    on_rows: OnRows
    derived: DerivedStream | None
    order: Order
    dormant: DormantOperator | None = None
    audience: Audience = field(init=False)
    seen: _Passed = field(init=False)
    due: int = field(default=NEVER_DUE, init=False)

    @property
    def touching(self) -> PatternStage | None:
        """The stage that knows which patterns touch the query; None: it must see every event."""
        if self.dormant is not None:
            return self.dormant.patterns
        return None if self.operator is None else self.operator.touching

    def wake(self) -> None:
        """Makes the operator of a dormant query, which is to be told of the events that have passed."""
        if self.dormant is not None:
            self.operator, self.dormant = self.dormant.wake(), None

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come, given that no event before `watermark` will arrive."""
        return AFTER_ALL if self.operator is None else self.operator.oldest_output_time(watermark)

    def next_due(self) -> int:
        """The time of its next visit; a derived stream has to hear of all times, as those who read it wait."""
        if self.derived is not None:
            return ALWAYS_DUE
        return NEVER_DUE if self.operator is None else self.operator.due()


@dataclass(slots=True, eq=False)
class _Index:
    """Readers whose patterns are in one pool, and from whose events the same triples follow.

    by_pattern  number of a pattern → the readers that it touches
    sighted     need of a pattern → the events that had passed with the last one that met it
    vocabulary  of the events
    """

    pool: PatternPool
    entailed: Entailed | None
    by_pattern: dict[int, list[Reader]] = field(default_factory=dict)
    sighted: dict[Need, int] = field(default_factory=dict)
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        self.vocabulary = Vocabulary(self.pool.dictionary)

    def touched(self, slice_: Slice, events: int) -> Iterable[Reader]:
        """The readers that a slice touches; with it so many events have passed."""
        slice_ = slice_.entailed(self.entailed)
        if (present := slice_.present(self.pool)) is not None:
            self.sighted.update(dict.fromkeys(present, events))
        if self.vocabulary.looks_now():
            self.vocabulary.remember(slice_.batch)
        readers = self.by_pattern
        return [each for pattern in slice_.touched(self.pool) & readers.keys() for each in readers[pattern]]

    def tell(self, since: int, unseen: Unseen) -> None:
        """Lets the constants that no event has had know of those after so many events."""
        unseen.sighted(self.sighted, since + 1)
        unseen.vocabulary.look_beside(self.vocabulary)

    def take_over(self, other: _Index, events: int) -> None:
        """All that another index knows has happened with the last of so many events."""
        self.sighted.update(dict.fromkeys(other.sighted, events))
        self.vocabulary.take_over(other.vocabulary)


class Audience:
    """The readers of one merged input.

    alone   there is one reader, which is visited with every event; it is not dormant
    """

    def __init__(self, merged: MergedInput) -> None:
        self.input = merged
        self.alone = False
        self.readers: list[Reader] = []
        self._passed = self._before = _Passed(0, 0, (0,) * len(merged.iris), BEFORE_ALL)
        self._indexes: dict[tuple[PatternPool, Entailed | None], _Index] = {}
        self._due: list[tuple[int, int, Reader]] = []
        self._numbers = count()
        self._heard = BEFORE_ALL
        self._groups_form = False

    @property
    def order(self) -> Order:
        """The place of its first reader."""
        return self.readers[0].order

    def add(self, reader: Reader) -> None:
        """One more reader, which sees events from now on."""
        if self.alone:
            self.visited(self.readers[0])
        self.readers.append(reader)
        reader.audience, reader.due = self, NEVER_DUE
        self._groups_form |= reader.operator is not None and reader.operator.shareable is not None
        patterns = reader.touching
        if patterns is not None:
            index = self._index(patterns.pool, patterns.entailed)
            for pattern in patterns.numbers:
                index.by_pattern.setdefault(pattern, []).append(reader)
        self.visited(reader)

    def absorb(self, other: Audience) -> None:
        """Takes over the readers of an audience whose input is in the same state."""
        other.pause()
        for (pool, entailed), index in other._indexes.items():
            self._index(pool, entailed).take_over(index, self._passed.events)
        for reader in other.readers:
            if not other.alone:
                other.catch_up(reader)
            seen, passed = reader.seen, other._passed
            self.add(reader)
            if reader.dormant is not None:
                reader.seen = seen.shifted(passed, self._passed)
        self.readers.sort(key=attrgetter("order"))

    def release(self) -> Slice:
        """Takes out all events that nothing can precede; possibly none."""
        slice_ = self.input.release()
        if not self.alone:
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
        if self.alone:
            return self.readers
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
            if due == reader.due:
                found[reader], reader.due = None, NEVER_DUE
        return found

    def catch_up(self, reader: Reader) -> None:
        """Tells a reader of the events before the slice that was just released, or before `pause`."""
        if reader.dormant is not None:
            return
        seen, before = reader.seen, self._before
        if seen.events < before.events and reader.operator is not None and reader.operator.touching is not None:
            patterns = reader.operator.touching
            tell = partial(self._index(patterns.pool, patterns.entailed).tell, seen.events)
            streams = [now - then for now, then in zip(before.streams, seen.streams, strict=True)]
            gap = Gap(before.events - seen.events, before.slots - seen.slots, before.time)
            reader.operator.skip(gap, streams, tell)
        reader.seen = before

    def visited(self, reader: Reader) -> None:
        """A reader has read everything that was released."""
        reader.seen, due = self._passed, reader.next_due()
        if due != NEVER_DUE and due != reader.due:
            heappush(self._due, (due, next(self._numbers), reader))
        reader.due = due
        self.alone = len(self.readers) == 1 and reader.dormant is None

    def postpone(self, reader: Reader) -> None:
        """A reader could not be visited with what was just released: it is at the next occasion."""
        reader.due = ALWAYS_DUE
        heappush(self._due, (ALWAYS_DUE, next(self._numbers), reader))

    def _group(self) -> None:
        """Lets queries that have nothing open be propagated together."""
        operators = [reader.operator for reader in self.readers if reader.operator is not None]
        alone = [each for each in operators if each.shareable is not None and each.shareable.group is None]
        self._groups_form = len(alone) > 1 and not group_together(alone)

    def _index(self, pool: PatternPool, entailed: Entailed | None) -> _Index:
        if (pool, entailed) not in self._indexes:
            self._indexes[pool, entailed] = _Index(pool, entailed)
        return self._indexes[pool, entailed]

    def _with(self, slice_: Slice) -> _Passed:
        """The events that have passed, with those of a slice."""
        events, slots, streams, _ = self._passed
        count, last = len(slice_), slice_.last_time
        if len(streams) == 1:
            return _Passed(events + count, slots + count, (events + count,), last)
        batch = slice_.batch
        on_each = np.bincount(batch.streams, minlength=len(streams)).tolist()
        new = 1 + int(np.count_nonzero(batch.times[1:] != batch.times[:-1]))
        every = tuple([before + more for before, more in zip(streams, on_each, strict=True)])
        return _Passed(events + count, slots + new, every, last)
