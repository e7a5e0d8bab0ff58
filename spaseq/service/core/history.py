"""The past of the service: where in the log a period begins, and what is read again from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from arrays.times import BEFORE_ALL
from spaseq.algebra.nodes import TemporalQuery
from spaseq.service.core.records import Accepted, Advanced, decoded
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.settings.streams import StreamSettings

_EVERY = 256
"""Records between two marks."""
MARKS_MAX = 4_096
"""Marks that are kept; of more every second one is dropped."""
PIECE_EVENTS = 20_000
"""Events that are read again at once."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """A record that has been read, when it was accepted, and the largest times of the streams up to it, by IRI."""

    number: int
    at: int
    largest: dict[str, int]


class Marks:
    """Places in the log: every event up to a mark is at one of its largest times or before."""

    def __init__(self, marks: Sequence[Mark] = ()) -> None:
        self._marks = list(marks)

    def note(self, number: int, at: int, largest: Callable[[], Mapping[str, int]]) -> None:
        """A record has been read, up to which the streams have these largest times."""
        if not self._marks or number >= self._marks[-1].number + _EVERY:
            self._marks.append(Mark(number, at, dict(largest())))
            if len(self._marks) > MARKS_MAX:
                del self._marks[1::2]

    def start(self, streams: Iterable[str], time: int) -> int:
        """The number of a record from which on all events of these streams at or after a time are; 1 if not known."""
        wanted = list(streams)
        passed = (each for each in reversed(self._marks) if _all_passed(each, wanted, time))
        return next((each.number + 1 for each in passed), 1)

    def since(self, at: int) -> int:
        """The number of a record from which on all are that were accepted at or after a time of the wall clock."""
        return next((each.number + 1 for each in reversed(self._marks) if each.at < at), 1)

    def saved(self, first: int) -> list[Mark]:
        """For a snapshot: the marks from the first record of the log on."""
        self._marks = [each for each in self._marks if each.number >= first]
        return list(self._marks)


def _all_passed(mark: Mark, streams: Sequence[str], time: int) -> bool:
    return all(mark.largest.get(iri, BEFORE_ALL) < time for iri in streams)


def window_start(meanings: Sequence[TemporalQuery], marks: Marks, watermarks: Mapping[str, int]) -> int:
    """The number of the first record that the open windows of queries need, which read each other's streams or none.

    watermarks  of the streams now, by IRI
    """
    windows = [meaning.window for meaning in meanings]
    streams = {iri for meaning in meanings for _, iri in meaning.streams if iri in watermarks}
    known = [watermarks[iri] for iri in streams if watermarks[iri] != BEFORE_ALL]
    if not known or any(window.in_events for window in windows):
        return 1
    # a tumbling window may have begun a whole size before what it still has open
    time = min(known) - 2 * sum(max(window.size, window.period) for window in windows)
    return marks.start(streams, time)


def retained_start(marks: Marks, streams: Iterable[StreamSettings], now: int) -> int:
    """The number of the first record that the retention by age of some stream keeps; 1 if one keeps all."""
    ages = [each.retention_age_ns for each in streams]
    known = [age for age in ages if age is not None]
    return marks.since(now - max(known)) if known and len(known) == len(ages) else 1


def retained_bytes(streams: Iterable[StreamSettings]) -> int | None:
    """The bytes of the log that the retention of the streams allows; None: any number."""
    sizes = [each.retention_bytes for each in streams]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def past(log: SegmentedLog, start: int, end: int) -> Iterator[list[Accepted | Advanced]]:
    """The records with events and watermarks from one number to another, both included, in pieces."""
    piece: list[Accepted | Advanced] = []
    events = 0
    for number, data in log.read(max(start, log.first)):
        if number > end:
            break
        record = decoded(data)
        if isinstance(record, Accepted | Advanced):
            piece.append(record)
            events += record.count if isinstance(record, Accepted) else 1
        if events >= PIECE_EVENTS:
            yield piece
            piece, events = [], 0
    yield piece
