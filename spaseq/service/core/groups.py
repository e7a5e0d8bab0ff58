"""Queries that have read the log up to the same record.

Nearly all queries are in one group, which follows the log. A query that is paused, or catches up afterwards, is in a
group of its own, with the queries that read its stream. The producers of the streams that these read are in it as
*shadows*: their rows are only handed on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from arrays.times import BEFORE_ALL
from sparql_gpm.algebra.analysis import takes_long
from sparql_gpm.columns import EventBatch
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import RunError
from spaseq.outputs.ndjson import NdjsonLines
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.embedded.network import Network
from spaseq.service.core.meanings import streams_read
from spaseq.service.core.records import Accepted, Advanced, SetAside
from spaseq.service.core.rest import READ_AGAIN_S
from spaseq.service.core.state import State
from spaseq.service.store import faults

_logger = logging.getLogger("spaseq.service")
Batches = Callable[[Accepted], EventBatch]
"""The events of a record that are not late, with the ids of the service's dictionary."""


@dataclass(eq=False)
class Running:
    """A query that reads the log.

    number      of the record that made the query: its rows are kept under it
    put         number of the record with the text
    rows        the number of its newest row
    error       the reason for which it was stopped; "" while it runs
    shadow      its rows are not reported
    found       lines of NDJSON of rows that are not stored yet
    lines       makes them: the ids of rows hold no longer than the events are read
    waiting     the queries of its group that have some
    state_bytes of its state when it was measured last; None: never
    measured_at the monotonic time of that, seconds
    """

    name: str
    number: int
    put: int
    meaning: TemporalQuery
    text: str
    max_runs: int
    rows: int = 0
    error: str = ""
    shadow: bool = False
    found: list[str] = field(default_factory=list)
    waiting: dict[Running, None] = field(default_factory=dict)
    state_bytes: int | None = None
    measured_at: float = 0.0
    reader: Reader = field(init=False)
    lines: NdjsonLines = field(init=False)

    @property
    def runs(self) -> int:
        """Its partial matches now."""
        operator = self.reader.operator
        return 0 if operator is None else operator.runs

    @cached_property
    def is_costly(self) -> bool:
        """True if a condition of it may take so long that it has to be set back."""
        conditions = [each for pattern in self.meaning.patterns for each in pattern.conditions]
        return any(map(takes_long, (*conditions, *(each.expression for each in self.meaning.filters))))

    @property
    def has_state(self) -> bool:
        """False before the first event touches it, and after it was stopped."""
        return self.reader.operator is not None

    @property
    def memory(self) -> int | None:
        """The bytes of its state when it was measured last; None: never."""
        return self.state_bytes if self.has_state else 0

    def take(self, rows: Rows) -> None:
        """Keep rows until the records that decided them have been read."""
        if not self.shadow:
            self.found += self.lines.of(rows)
            self.waiting[self] = None


class Expected(msgspec.Struct, array_like=True):
    """A query that runs nowhere until a group that is behind has reached the record of its text.

    reads   the streams of its first text there
    makes   the streams that its texts make
    first, last     the numbers of the first and the last record with a text
    rows    the number of its newest row
    deleted the query was deleted since, and only what reads its stream needs it
    """

    reads: set[str]
    makes: set[str]
    last: int
    rows: int
    deleted: bool = False
    first: int = 0


@dataclass(slots=True, eq=False)
class Group:
    """Queries in one network; they have read all records up to `number`.

    members     by name
    watermarks  of the streams, by IRI, as far as the group has read
    pausing     the names of its queries that are paused; while there are some, it waits
    expected    the queries that are made, by name, where it reaches the records of their texts
    waiting     its queries that have found rows which are not stored yet
    failing     queries have failed, which is not stored yet
    checked     the number up to which it is known which queries had failed before a restart
    asleep_until    the monotonic time before which it does not read, as an endpoint that it waits for is away
    failures    of the endpoint, one after the other
    fault       of the disk, for which it does not read on; "" while it can
    rebuilding  queries whose states are to be rebuilt from the log before it reads on
    singly      the events are evaluated one by one, so that it is known which a condition is too costly for
    costly      the names of queries that have been members, with conditions that may take long
    producers   by an expected query, and the number of the record of a text: shadows of what that reads, as they were
                there in the group that had reached it
    """

    network: Network
    number: int
    members: dict[str, Running] = field(default_factory=dict)
    watermarks: dict[str, int] = field(default_factory=dict)
    pausing: set[str] = field(default_factory=set)
    expected: dict[str, Expected] = field(default_factory=dict)
    waiting: dict[Running, None] = field(default_factory=dict)
    failing: bool = False
    checked: int = -1
    asleep_until: float = 0.0
    failures: int = 0
    fault: str = ""
    rebuilding: set[str] = field(default_factory=set)
    singly: bool = False
    producers: dict[str, dict[int, Group]] = field(default_factory=dict)
    costly: set[str] = field(default_factory=set)

    def enter(self, running: Running) -> None:
        """Have a query as a member, in place of one of its name."""
        self.members[running.name] = running
        (self.costly.add if running.is_costly else self.costly.discard)(running.name)
        running.waiting = self.waiting
        if running.found:
            self.waiting[running] = None

    def fail(self, running: Running, reason: Exception) -> None:
        """Stop a query."""
        running.reader.stop(reason)
        running.error, self.failing = in_words(reason), True

    def fail_by(self, record: SetAside, state: State) -> None:
        """Stop the queries for which too many events have been set aside."""
        for name, put in (each for event in record.events for each in event.queries.items()):
            running, declared = self.members.get(name), state.queries.get(name)
            if running is None or running.error or declared is None or not running.put == declared.put == put:
                continue
            if reason := declared.too_many_aside:
                self.fail(running, RunError(reason))

    def read(self, records: Sequence[Accepted | Advanced], batches: Batches) -> None:
        """Read consecutive records that only bring events and watermarks."""
        read = self.network.streams
        taken: dict[str, list[EventBatch]] = {}
        moved: dict[str, int] = {}
        for record in records:
            moved[record.iri] = record.watermark
            if isinstance(record, Accepted) and record.events is not None and record.iri in read:
                taken.setdefault(record.iri, []).append(batches(record))
        self.watermarks |= moved
        for iri, parts in taken.items():
            self.network.push(iri, EventBatch.concatenate(parts))
        for iri, watermark in moved.items():
            self.network.advance(iri, watermark)

    def advance(self, meaning: TemporalQuery, watermarks: Mapping[str, int]) -> None:
        """Tell the readers of the streams of a query how far those are, by IRI."""
        for iri in streams_read(meaning):
            if watermarks.get(iri, BEFORE_ALL) != BEFORE_ALL:
                self.network.advance(iri, watermarks[iri])

    def wait_for_disk(self, fault: OSError) -> None:
        """Read on after a pause."""
        if not self.fault:
            names = ", ".join(name for name, running in self.members.items() if not running.shadow)
            _logger.error("the log cannot be read for %s: %s; trying again", names, fault)
        self.fault, self.asleep_until = faults.in_words(fault), time.monotonic() + READ_AGAIN_S

    def take_found(self) -> Iterator[tuple[Running, list[str]]]:
        """The rows since the last call."""
        members = [each for each in self.waiting if self.members.get(each.name) is each]
        self.waiting.clear()
        for running in members:
            found, running.found = running.found, []
            yield running, found

    @property
    def made(self) -> set[str]:
        """The streams that its queries make, and that the expected queries will make."""
        found = {each.meaning.register for each in self.members.values() if not each.shadow}.union(
            *(each.makes for each in self.expected.values())
        )
        return {iri for iri in found if iri is not None}

    def has(self, name: str) -> bool:
        """True if a query runs here, or is expected."""
        known, expected = self.members.get(name), self.expected.get(name)
        return (expected is not None and not expected.deleted) or (known is not None and not known.shadow)

    def expect(self, meaning: TemporalQuery, number: int, rows: int, elsewhere: Expected | None) -> None:
        """Make or replace a query when a record is reached, and also by the records that were expected elsewhere."""
        expected = self.expected.setdefault(
            meaning.name, Expected(set(streams_read(meaning)), set(), number, rows, first=number)
        )
        expected.last, expected.deleted = number, False
        if meaning.register is not None:
            expected.makes.add(meaning.register)
        if elsewhere is not None:
            expected.makes |= elsewhere.makes
            expected.last, expected.deleted = max(number, elsewhere.last), elsewhere.deleted

    def forget_expected(self, name: str) -> tuple[Expected | None, dict[int, Group]]:
        """Expect a query no more; returns what was expected, and the producers that it needs."""
        return self.expected.pop(name, None), self.producers.pop(name, {})

    def take_expected(self, other: Group, moved: Sequence[Running]) -> None:
        """Expect in this one what has moved here from another, and what reads the streams of that, directly or not.

        Later texts of a query that stays in the other one are expected there.
        """
        names, made = {each.name for each in moved}, {each.meaning.register for each in moved}
        waiting = {name: each for name, each in other.expected.items() if name not in other.members}
        while more := [
            name for name in other.expected if name in names or (name in waiting and waiting[name].reads & made)
        ]:
            self.expected |= {name: other.expected.pop(name) for name in more}
            self.producers |= {name: other.producers.pop(name) for name in more if name in other.producers}
            made = made.union(*(self.expected[name].makes for name in more))

    @property
    def networks(self) -> list[Network]:
        """Its own, and those of producers."""
        return [self.network, *(each.network for those in self.producers.values() for each in those.values())]

    def downstream(self, running: Running) -> list[Running]:
        """A query of the group, and those that read its stream, directly or not."""
        found, made = [running], {running.meaning.register} - {None}
        while more := [each for each in self.members.values() if each not in found and reads(each, made)]:
            found += more
            made |= {each.meaning.register for each in more} - {None}
        return found

    def upstream(self, some: Sequence[Running]) -> list[Running]:
        """The other queries of the group whose streams some read, directly or not, producers first."""
        found: list[Running] = []
        wanted = list(some)
        while wanted:
            read = {iri for each in wanted for _, iri in each.meaning.streams}
            others = (each for each in self.members.values() if each.meaning.register in read)
            wanted = [each for each in others if each not in found and each not in some]
            found = wanted + found
        return found

    def first_paused(self) -> str:
        """The name of a paused query that reads no stream of another one, so that none has it for a shadow."""
        paused = [self.members[name] for name in sorted(self.pausing)]
        return next(each.name for each in paused if not any(other in paused for other in self.upstream([each])))

    @property
    def is_idle(self) -> bool:
        """True if no query of it reports rows, or is expected to."""
        expected = (each.deleted for each in self.expected.values())
        return all(expected) and all(each.shadow for each in self.members.values())


def reads(running: Running, made: set[str | None]) -> bool:
    """True if a query reads one of these streams."""
    return any(iri in made for _, iri in running.meaning.streams)


def in_words(reason: Exception) -> str:
    """The reason for which a query was stopped, with the way out."""
    return ": ".join(filter(None, (str(reason) or type(reason).__name__, getattr(reason, "hint", ""))))
