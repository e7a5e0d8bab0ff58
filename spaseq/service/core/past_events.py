"""The events of a stream in a period of the log, as they are given to what explains rows and missing rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arrays.progress import advance, expect
from arrays.times import BEFORE_ALL
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.given import LeftOut
from spaseq.runtime.state.packed_events import unpacked_events
from spaseq.service.core.records import Accepted, Advanced, decoded
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog

EXPLAINED_EVENTS_MAX, EXPLAINED_TRIPLES_MAX = 1_000_000, 10_000_000
"""Events and triples of a period that are held to explain something in it."""


@dataclass(frozen=True, slots=True)
class PastEvents:
    """The events of a stream with `begin` ≤ time ≤ `end`.

    iri             of the stream
    max_delay_ns    that it allows now
    start           the number of the first record that may have some; those up to `last` are read
    """

    log: SegmentedLog
    iri: str
    max_delay_ns: int
    start: int
    last: int
    begin: int
    end: int

    def read(self, dictionary: Dictionary, left_out: LeftOut) -> Iterator[EventBatch]:
        """Those on time, by body; Refused for more than are held."""
        events = triples = 0
        watermark = BEFORE_ALL
        first = max(self.start, self.log.first)
        expect(max(0, self.last + 1 - first))
        for number, data in self.log.read(first):
            if number > self.last:
                return
            advance()
            record = decoded(data)
            if not isinstance(record, Accepted | Advanced) or record.iri != self.iri:
                continue
            if isinstance(record, Accepted):
                batch = self._on_time(record, watermark, dictionary, left_out)
                events, triples = events + len(batch), triples + len(batch.subjects)
                _check_size(events, triples)
                if len(batch):
                    yield batch
            watermark = record.watermark
            if watermark > self.end:
                return

    def _on_time(self, record: Accepted, watermark: int, dictionary: Dictionary, left_out: LeftOut) -> EventBatch:
        for letter in record.letters:
            left_out.faulty(Malformed(letter.line, letter.column, letter.reason, letter.raw, letter.kind))
        if record.events is None:
            return EventBatch.empty()
        events = unpacked_events(record.events, dictionary)
        inside = (events.times >= self.begin) & (events.times <= self.end)
        late = np.zeros(len(events), dtype=np.bool_)
        late[list(record.late)] = True
        if (late & inside).any():
            indices = np.flatnonzero(late & inside)
            left_out.late(
                events.take(indices), self._delays(events, late, indices.tolist(), max(watermark, BEFORE_ALL))
            )
        return events.take(np.flatnonzero(inside & ~late))

    def _delays(self, events: EventBatch, late: np.ndarray, indices: Sequence[int], watermark: int) -> list[int]:
        """The delays with which these events would not have been late; `watermark`: before the body."""
        newest = np.maximum.accumulate(np.where(late, BEFORE_ALL, events.times))[indices].tolist()
        times = events.times[indices].tolist()
        return [
            max(0, max(last, watermark + self.max_delay_ns) - time) for last, time in zip(newest, times, strict=True)
        ]


def _check_size(events: int, triples: int) -> None:
    if events > EXPLAINED_EVENTS_MAX or triples > EXPLAINED_TRIPLES_MAX:
        size = f"{EXPLAINED_EVENTS_MAX:,} events, or {EXPLAINED_TRIPLES_MAX:,} triples"
        detail = f"the period has more than {size}: name a shorter one with from and to"
        raise Refused(422, "Unusable value", detail)
