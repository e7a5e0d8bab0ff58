"""Queries in one process: events are pushed by stream, rows emitted, derived streams go to the queries that read them.

The network is driven from outside, by `push`, `advance`, `close` and `finish`; it reads no file and no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL
from arrays.wanted import check_wanted
from automata.plan.program import TooManyRuns
from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.shared import Slice
from spaseq.errors import InputError
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.audience import Audience, OnRows, Order, Reader
from spaseq.runtime.embedded.audiences import Audiences
from spaseq.runtime.embedded.derived import DerivedStream
from spaseq.runtime.embedded.dormant import DormantOperator
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.embedded.pausing import waits_too_long
from spaseq.runtime.embedded.pieces import InPieces, at_once
from spaseq.runtime.embedded.reader_state import HoldsIds, ReaderState, reader_state, restore_reader
from spaseq.runtime.embedded.readers import Readers
from spaseq.runtime.embedded.saving import Restoring, saved_states, unreadable
from spaseq.runtime.embedded.stopped import Stopped
from spaseq.runtime.order.reorder import NO_EVENTS
from spaseq.runtime.state.saved_states import InputState, QueryState

_TERMS_KEPT_MIN = 200_000
"""Terms below which unneeded ones are not released."""


class Network:
    """Some queries over some streams. They share a dictionary and, where they read the same streams, one merged input.

    delay_ns    by how much an event may be late on its stream
    isolating   a query that fails, whatever the reason, is stopped, and the others go on; else only one that has too
                many partial matches is
    """

    def __init__(self, dictionary: Dictionary, delay_ns: int, isolating: bool = False) -> None:
        self._dictionary = dictionary
        self._failures: type[Exception] = Exception if isolating else TooManyRuns
        self._readers = Readers(dictionary)
        self._audiences = Audiences(delay_ns)
        self._by_iri = self._audiences.by_iri
        self._changed: dict[Audience, None] = {}
        self._kept = _TERMS_KEPT_MIN
        self._stopped = Stopped()

    def add(self, operator: QueryOperator | DormantOperator, on_rows: OnRows, text: str | None = None) -> Reader:
        """Adds a query, which sees events from now on; InputError if its stream had two producers, or fed itself.

        text    by which its state knows it; None: as it was written
        """
        reader = self._readers.enter(operator, on_rows, self._by_iri)
        reader.text = reader.text if text is None else text
        self._audiences.open_to_new(reader.iris).add(reader)
        for iri in reader.iris:
            producer = self._readers.producers.get(iri)
            if producer is not None and producer.operator is not None:
                reader.audience.hear(iri, producer)
        return reader

    def add_restored(self, operator: QueryOperator, on_rows: OnRows, state: ReaderState) -> Reader:
        """Adds a query in the state of another reader of it, over the same dictionary."""
        reader = self._readers.enter(operator, on_rows, self._by_iri)
        merged, running, derived = state
        restore_reader(reader, running, derived)
        self._audiences.restored(reader.iris, merged).add(reader)
        return reader

    def state_of(self, reader: Reader) -> ReaderState:
        """The state of a query between two slices: its input, its operator, the stream that it makes."""
        self._settle()
        self._wake(reader)
        return [reader.audience.input.snapshot(), *reader_state(reader)]

    def remove(self, reader: Reader, keep_readers: bool = False) -> None:
        """Takes a query out between two events, what it holds is released; InputError if others read its stream.

        keep_readers    they wait until another query makes the stream
        """
        made = None if reader.derived is None else reader.derived.iri
        if made is not None and made in self._by_iri and not keep_readers:
            names = ", ".join(sorted(f"'{each.query.name}'" for one in self._by_iri[made] for each in one.readers))
            raise InputError(
                f"query '{reader.query.name}' makes the stream <{made}>, which is read by {names}",
                hint="unregister the queries that read it before",
            )
        self._readers.remove(reader)
        audience = reader.audience
        audience.remove(reader)
        if not audience.readers:
            self._audiences.remove(audience)
            self._changed.pop(audience, None)
        self._stopped.pop(reader.query.name, None)
        reader.release()

    def pause(self, reader: Reader) -> None:
        """Lets the events of a query wait until `resume`; so do the queries that read the stream that it makes."""
        self._settle()
        self._wake(reader)
        if len(reader.audience.readers) > 1:
            shared = reader.audience
            own = self._audiences.restored(reader.iris, shared.input.snapshot())
            shared.remove(reader)
            own.add(reader)
        reader.audience.paused = True
        self._changed.pop(reader.audience, None)

    def resume(self, reader: Reader) -> None:
        """Lets a paused query read what has come meanwhile."""
        if reader.audience.paused:
            reader.audience.paused = False
            self._changed[reader.audience] = None
            at_once(self._drain())

    @property
    def readers(self) -> Collection[Reader]:
        """The queries, producers first."""
        return self._readers.ordered()

    @property
    def operators(self) -> list[QueryOperator]:
        """The queries that are awake and have not been stopped; they have seen all events."""
        self._settle()
        return [reader.operator for reader in self._readers.ordered() if reader.operator is not None]

    def silent(self, most: int) -> tuple[list[QueryOperator], int]:
        """The first queries without a row, which have seen all events and are awake, and the number of all of them."""
        self._settle()
        readers = [each for each in self._readers.ordered() if each.silent]
        some = []
        for reader in readers[:most]:
            self._wake(reader)
            assert reader.operator is not None
            some.append(reader.operator)
        return some, len(readers)

    @property
    def streams(self) -> frozenset[str]:
        """The IRIs of the streams that events can be pushed to: those that no query produces."""
        return frozenset(self._by_iri.keys() - self._readers.producers.keys())

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Takes events of a stream as they arrived; returns the indices of those that are late for some query."""
        return at_once(self.pushing(iri, batch))

    def pushing(self, iri: str, batch: EventBatch) -> InPieces[Ids]:
        """`push`, which stops after each piece of rows."""
        late = [each.input.push(iri, batch) for each in self._reading(iri)]
        yield from self._drain()
        if len(late) == 1:
            return late[0]
        return np.unique(np.concatenate(late)) if late else np.zeros(0, dtype=np.int64)

    def push_event(self, iri: str, event: RowEvent) -> bool:
        """Takes one event as it arrived; returns whether it is late for some query."""
        late = False
        for each in self._by_iri.get(iri, ()):
            if iri in each.input.open:
                late |= each.input.push_event(iri, event)
                if not each.paused or waits_too_long(each, self._stopped):
                    self._changed[each] = None
        if not self._read_alone():
            at_once(self._drain())
        return late

    def advance(self, iri: str, time: int) -> None:
        """No event before `time` will arrive on the stream."""
        for each in self._reading(iri):
            each.input.advance(iri, time)
        at_once(self._drain())

    def close(self, iri: str) -> None:
        """No event will arrive on the stream."""
        at_once(self.closing(iri))

    def closing(self, iri: str) -> InPieces[None]:
        """`close`, which stops after each piece of rows."""
        for each in self._reading(iri):
            each.input.close(iri)
        yield from self._drain()

    def finish(self) -> None:
        """The input has ended: closes what is open, producers first, and emits the last rows."""
        at_once(self.finishing())

    def finishing(self) -> InPieces[None]:
        """`finish`, which stops after each piece of rows."""
        released: dict[Audience, Slice] = {}
        for reader in self._readers.ordered():
            audience = reader.audience
            if audience.paused:
                continue
            if audience not in released:
                audience.input.close_all()
                released[audience] = audience.release()
            yield from self._visit(reader, released[audience], finished=True)
        self._changed.clear()

    @property
    def goes_on(self) -> bool:
        """False once every query has been stopped."""
        return not self._readers or not all(reader.stopped for reader in self._readers)

    def take_stopped(self) -> dict[str, Exception]:
        """The reasons of the queries that have been stopped since the last call, by name."""
        return self._stopped.take()

    def raise_stopped(self) -> None:
        """Raises RunError if queries have been stopped since the last call."""
        self._stopped.raise_any()

    def watermark(self, iri: str) -> int:
        """The time before which no event will arrive on a stream."""
        reading = (each.input for each in self._by_iri.get(iri, ()) if iri in each.input.open)
        return min((each.watermark_of(iri) for each in reading), default=AFTER_ALL)

    def newest(self, iri: str) -> int | None:
        """The largest time of an event of a stream that some query has seen; None if there is none."""
        return self._audiences.newest(iri)

    def slowest(self, iri: str) -> int:
        """The time before which no event will be released to any query that reads a stream."""
        return self._audiences.slowest(iri)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that is still needed."""
        self._settle()
        held = [each for reader in self._readers for each in (reader.operator, reader.derived) if each is not None]
        return [ids for each in (*held, *(a.input for a in self._each_audience())) for ids in each.live_ids()]

    def release_terms(self, always: bool = False, beside: Sequence[HoldsIds] = ()) -> None:
        """Releases the terms that nothing needs, once there are many (or `always`); only between batches.

        beside  what else holds ids of the same dictionary
        """
        if len(self._dictionary) < 2 * self._kept and not always:
            return
        self._dictionary.retain([*self.live_ids(), *(ids for each in beside for ids in each.live_ids())])
        self._kept = max(_TERMS_KEPT_MIN, len(self._dictionary))

    def snapshot(self) -> tuple[list[InputState], dict[Reader, QueryState]]:
        """The states of the inputs, and of each query."""
        self._settle()
        for reader in self._readers.ordered():
            self._wake(reader)
        return saved_states(self._readers.ordered(), self._dictionary)

    def restore(self, inputs: Sequence[InputState], states: Mapping[Reader, QueryState], way_back: str) -> None:
        """Continues from the states of the same queries; a query whose state cannot be read is stopped.

        way_back    what to do about that
        """
        self._audiences.clear()
        restoring = Restoring(inputs, self._audiences, self._dictionary)
        for reader in self._readers.ordered():
            joined = reader.audience
            try:
                restoring.restore(reader, states.get(reader))
            except Exception as error:  # whatever is wrong with one state, the others are sound
                self._stopped.stop(reader, unreadable(reader, error, way_back))
                if reader.audience is joined:
                    self._audiences.open_to_new(reader.iris).add(reader)

    def _each_audience(self) -> list[Audience]:
        return list(dict.fromkeys(reader.audience for reader in self._readers.ordered()))

    # --- events -----------------------------------------------------------------------------------

    def _reading(self, iri: str) -> list[Audience]:
        """The audiences that read a stream, which is about to change."""
        found = [each for each in self._by_iri.get(iri, ()) if iri in each.input.open]
        self._changed.update({each: None for each in found if not each.paused or waits_too_long(each, self._stopped)})
        return found

    def _drain(self) -> InPieces[None]:
        """Lets the queries that they concern read the events that can be released, producers first."""
        if len(self._changed) == 1:
            (audience,) = self._changed
            if audience.alone is not None:
                self._changed.clear()
                yield from self._visit(audience.alone, audience.input.release(), finished=False)
        if self._changed:
            yield from self._drain_in_order()
        if self._audiences.apart:
            self._audiences.unite()

    def _read_alone(self) -> bool:
        """`_drain` where one query alone is concerned, at the least cost; returns whether that is so."""
        if len(self._changed) != 1 or self._audiences.apart:
            return False
        (audience,) = self._changed
        if (reader := audience.alone) is None or reader.derived is not None:
            return False
        self._changed.clear()
        slice_ = audience.input.release()
        for rows in self._rows(reader, slice_, audience.input.watermark, finished=False):
            reader.on_rows(rows)
        return True

    def _drain_in_order(self) -> InPieces[None]:
        """The same for several readers."""
        waiting: list[tuple[Order, int, Reader | None, Audience, Slice | None]] = []
        numbers, unread = count(), set[Audience]()
        try:
            while waiting or self._changed:
                for each in self._changed:
                    if each not in unread:  # a producer may have changed it once more
                        unread.add(each)
                        heappush(waiting, (each.order, next(numbers), None, each, None))
                self._changed.clear()
                _, _, reader, audience, slice_ = heappop(waiting)
                if reader is not None and slice_ is not None:
                    yield from self._visit(reader, slice_, finished=False)
                    continue
                unread.remove(audience)
                slice_ = audience.release()
                for reader in audience.reached(slice_):
                    heappush(waiting, (reader.order, next(numbers), reader, audience, slice_))
        finally:
            for _, _, reader, audience, _ in waiting:
                if reader is None:
                    self._changed[audience] = None
                else:
                    audience.postpone(reader)

    def _settle(self) -> None:
        """Tells all queries of the events that they have missed."""
        for audience in self._each_audience():
            if audience.alone is None:
                audience.pause()
                for reader in list(audience.readers):
                    if reader.derived is None and reader.dormant is None:  # those that derive streams have missed none
                        at_once(self._visit(reader, Slice(NO_EVENTS), finished=False))

    def _wake(self, reader: Reader) -> None:
        """Makes the operator of a dormant query; all queries have been told of the events that they have missed."""
        if reader.dormant is not None:
            reader.wake()
            at_once(self._visit(reader, Slice(NO_EVENTS), finished=False))

    def _visit(self, reader: Reader, slice_: Slice, finished: bool) -> InPieces[None]:
        """Lets a query read a slice, and emits its rows, as long as they are wanted."""
        if reader.dormant is not None:
            if not len(slice_) or not reader.dormant.patterns.touched(slice_):
                return
            reader.wake()
        audience = reader.audience
        watermark, several = audience.input.watermark, audience.alone is None
        if several:
            audience.catch_up(reader)
        found: list[Row] = []
        check_wanted()
        for rows in self._rows(reader, slice_, watermark, finished):
            check_wanted()
            reader.on_rows(rows)
            if reader.derived is not None:  # other queries may read them
                found += rows
            yield
        if reader.derived is not None and watermark != BEFORE_ALL:
            self._derive(reader, reader.derived, watermark, found)
        if several:
            audience.visited(reader)

    def _rows(self, reader: Reader, slice_: Slice, watermark: int, finished: bool) -> Iterator[Rows]:
        """The rows of a query as they are found, each time some; one with too many partial matches is stopped."""
        if (operator := reader.operator) is None:
            return
        try:
            for rows in operator.on_batch(slice_):
                if rows:
                    yield rows
            if finished or BEFORE_ALL < watermark < AFTER_ALL:
                for rows in operator.finish() if finished else operator.on_watermark(watermark - 1):
                    if rows:
                        yield rows
        except self._failures as reason:
            self._stopped.stop(reader, reason)

    def _derive(self, reader: Reader, derived: DerivedStream, watermark: int, found: Sequence[Row]) -> None:
        """Hands rows on to the readers of the stream that they make up."""
        oldest = reader.oldest_output_time
        # rows of events at `watermark` have later triggering events than all there are
        batch = derived.events(found, oldest(watermark + 1))
        for other in self._reading(derived.iri):
            other.input.push(derived.iri, batch)
            other.hear(derived.iri, reader)
