"""Queries in one process: events are pushed by stream, rows emitted, derived streams go to the queries that read them.

The network is driven from outside, by `push`, `advance`, `close` and `finish`; it reads no file and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from automata.plan.program import TooManyRuns
from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.shared import Slice
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError, RunError
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.derived import DerivedStream
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.order.merged_input import MergedInput
from spaseq.runtime.order.reorder import AFTER_ALL, BEFORE_ALL

_TERMS_KEPT_MIN = 200_000
"""Terms below which unneeded ones are not released."""

OnRows = Callable[[Rows], None]
"""Takes the rows of one query as they are found."""
_STOPPED = {"stopped": True}
"""The snapshot of a query that was stopped."""


@dataclass(slots=True, eq=False)
class _Reader:
    """A query with the merged input that it reads, and the stream that it derives, if any.

    operator    None: it reached the bound on partial matches and was stopped, and holds nothing
    """

    query: TemporalQuery
    operator: QueryOperator | None
    input: MergedInput
    on_rows: OnRows
    derived: DerivedStream | None

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come, given that no event before `watermark` will arrive."""
        return AFTER_ALL if self.operator is None else self.operator.oldest_output_time(watermark)


class Network:
    """Some queries over some streams. They share a dictionary and, where they read the same streams, one merged input.

    delay_ns    by how much an event may be late on its stream
    """

    def __init__(self, dictionary: Dictionary, delay_ns: int) -> None:
        self._dictionary = dictionary
        self._delay = delay_ns
        self._readers: list[_Reader] = []
        self._inputs: list[MergedInput] = []
        self._kept = _TERMS_KEPT_MIN
        self._stopped: dict[str, TooManyRuns] = {}

    def add(self, operator: QueryOperator, on_rows: OnRows) -> None:
        """Adds a query, which sees events from now on; InputError if its stream had two producers, or fed itself."""
        query = operator.query
        iris = tuple(iri for _, iri in query.streams)
        known = (each for each in self._inputs if each.iris == iris and each.untouched)
        derived = None if query.register is None else DerivedStream(query.register, self._dictionary)
        reader = _Reader(query, operator, next(known, None) or MergedInput(iris, self._delay), on_rows, derived)
        self._readers = producers_first([*self._readers, reader])
        self._collect_inputs()

    @property
    def operators(self) -> list[QueryOperator]:
        """The queries that have not been stopped."""
        return [reader.operator for reader in self._readers if reader.operator is not None]

    @property
    def streams(self) -> frozenset[str]:
        """The IRIs of the streams that events can be pushed to: those that no query produces."""
        derived = {reader.query.register for reader in self._readers}
        return frozenset(iri for each in self._inputs for iri in each.iris) - derived

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Takes events of a stream as they arrived; returns the indices of those that are late for some query."""
        late = [each.push(iri, batch) for each in self._reading(iri)]
        self._drain()
        if len(late) == 1:
            return late[0]
        return np.unique(np.concatenate(late)) if late else np.zeros(0, dtype=np.int64)

    def push_event(self, iri: str, event: RowEvent) -> bool:
        """Takes one event as it arrived; returns whether it is late for some query."""
        late = False
        for each in self._inputs:
            if iri in each.open:
                late |= each.push_event(iri, event)
        self._drain()
        return late

    def advance(self, iri: str, time: int) -> None:
        """No event before `time` will arrive on the stream."""
        for each in self._reading(iri):
            each.advance(iri, time)
        self._drain()

    def close(self, iri: str) -> None:
        """No event will arrive on the stream."""
        for each in self._reading(iri):
            each.close(iri)
        self._drain()

    def finish(self) -> None:
        """The input has ended: closes what is open, producers first, and emits the last rows."""
        released: dict[MergedInput, Slice] = {}
        for reader in self._readers:
            if reader.input not in released:
                reader.input.close_all()
                released[reader.input] = reader.input.release()
            self._evaluate(reader, released[reader.input], finished=True)

    @property
    def goes_on(self) -> bool:
        """False once every query has been stopped."""
        return not self._readers or any(reader.operator for reader in self._readers)

    def raise_stopped(self) -> None:
        """Raises RunError if queries have been stopped since the last call."""
        if self._stopped:
            stopped, self._stopped = self._stopped, {}
            names, reason = ", ".join(f"'{name}'" for name in stopped), next(iter(stopped.values()))
            who = f"query {names} was" if len(stopped) == 1 else f"queries {names} were"
            raise RunError(f"{who} stopped: {reason}", hint=reason.hint)

    def watermark(self, iri: str) -> int:
        """The time before which no event will arrive on a stream."""
        return min((each.watermark_of(iri) for each in self._reading(iri)), default=AFTER_ALL)

    def release_terms(self, always: bool = False) -> None:
        """Releases the terms that nothing needs, once there are many (or `always`); only between batches."""
        if len(self._dictionary) < 2 * self._kept and not always:
            return
        live = [ids for reader in self._readers if reader.operator for ids in reader.operator.live_ids()]
        live += [ids for each in self._inputs for ids in each.live_ids()]
        live += [ids for reader in self._readers if reader.derived for ids in reader.derived.live_ids()]
        self._dictionary.retain(live)
        self._kept = max(_TERMS_KEPT_MIN, len(self._dictionary))

    def snapshot(self) -> list[Any]:
        """The state of every input and of every query, for `spaseq.runtime.state.snapshot`."""
        numbers = {each: number for number, each in enumerate(self._inputs)}
        readers = []
        for reader in self._readers:
            running = reader.operator.snapshot() if reader.operator else _STOPPED
            readers.append([numbers[reader.input], running, reader.derived and reader.derived.snapshot()])
        return [[each.snapshot() for each in self._inputs], readers]

    def restore(self, state: list[Any]) -> None:
        """Continues from a snapshot of the same queries."""
        inputs: dict[int, MergedInput] = {}
        for reader, (number, running, derived) in zip(self._readers, state[1], strict=True):
            if number not in inputs:
                inputs[number] = MergedInput(reader.input.iris, self._delay)
                inputs[number].restore(state[0][number])
            reader.input = inputs[number]
            if running == _STOPPED:
                reader.operator = None
            elif reader.operator is not None:
                reader.operator.restore(running)
            if reader.derived is not None:
                reader.derived.restore(derived)
        self._collect_inputs()

    def _reading(self, iri: str) -> list[MergedInput]:
        return [each for each in self._inputs if iri in each.open]

    def _collect_inputs(self) -> None:
        self._inputs = list(dict.fromkeys(reader.input for reader in self._readers))

    def _drain(self) -> None:
        """Evaluates the events that can be released, producers first."""
        released: dict[MergedInput, Slice] = {}
        for reader in self._readers:
            if reader.input not in released:
                released[reader.input] = reader.input.release()
            self._evaluate(reader, released[reader.input], finished=False)
        self._unite()

    def _evaluate(self, reader: _Reader, slice_: Slice, finished: bool) -> None:
        """Lets a query read a slice, and emits its rows; a query with too many partial matches is stopped."""
        operator, watermark = reader.operator, reader.input.watermark
        found: list[Row] = []
        try:
            if operator is not None:
                self._hand_out(reader, operator.on_batch(slice_), found)
                if finished:
                    self._hand_out(reader, operator.finish(), found)
                elif BEFORE_ALL < watermark < AFTER_ALL:
                    self._hand_out(reader, operator.on_watermark(watermark - 1), found)
        except TooManyRuns as reason:
            reader.operator = None
            self._stopped[reader.query.name] = reason
        if reader.derived is not None and watermark != BEFORE_ALL:
            self._derive(reader, reader.derived, watermark, found)

    def _hand_out(self, reader: _Reader, parts: Iterable[Rows], found: list[Row]) -> None:
        """Hands rows out as they are found; those of a stream that other queries read are kept."""
        for rows in parts:
            if rows:
                reader.on_rows(rows)
                if reader.derived is not None:
                    found += rows

    def _derive(self, reader: _Reader, derived: DerivedStream, watermark: int, found: Sequence[Row]) -> None:
        """Hands rows on to the readers of the stream that they make up."""
        oldest = reader.oldest_output_time
        # rows of events at `watermark` have later triggering events than all there are
        batch = derived.events(found, oldest(watermark + 1))
        for other in self._reading(derived.iri):
            other.push(derived.iri, batch)
            if oldest(watermark) == AFTER_ALL:
                other.close(derived.iri)
            else:
                other.advance(derived.iri, oldest(watermark))

    def _unite(self) -> None:
        """Lets queries that began at different times share an input once theirs are in the same state."""
        if len(self._inputs) < 2 or len(self._inputs) == len({each.iris for each in self._inputs}):
            return
        for reader in self._readers:
            reader.input = next(each for each in self._inputs if each.same_from_now_on(reader.input))
        self._collect_inputs()


class _HasQuery(Protocol):
    """A thing with a query."""

    @property
    def query(self) -> TemporalQuery:
        """Its meaning."""


R = TypeVar("R", bound=_HasQuery)


def producers_first(readers: Sequence[R]) -> list[R]:
    """The queries in an order in which each derived stream is made before it is read; raises InputError."""
    produced = [reader.query.register for reader in readers if reader.query.register]
    for iri in produced:
        if produced.count(iri) > 1:
            raise InputError(f"two queries REGISTER the stream <{iri}>", hint="give each stream an IRI of its own")
    waiting, ordered = list(readers), []
    while waiting:
        missing = {reader.query.register for reader in waiting}
        ready = [reader for reader in waiting if missing.isdisjoint(iri for _, iri in reader.query.streams)]
        if not ready:
            names = ", ".join(f"'{reader.query.name}'" for reader in waiting)
            raise InputError(
                f"queries {names} read each other's streams in a circle",
                hint="a query may read a REGISTERed stream only if that does not come from its own output",
            )
        ordered += ready
        waiting = [reader for reader in waiting if reader not in ready]
    return ordered
