"""Events in columns, built of quads in the order of the input.

The readers of each syntax call `open`, `timestamp`, `mark_malformed` and `close`, and append rows to the three columns.
This module decides on timestamps, malformed events, names and batches. The key of a graph is its canonical N-Triples
text, `<iri>` or `_:label`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from sparql_gpm.columns import EventBatch, Ids, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.graph_names import GraphNames
from sparql_gpm.numbered_names import NumberedNames
from sparql_gpm.reading.closed_graphs import ClosedGraphs, Series
from sparql_gpm.reading.decoded import count_events, count_fault
from sparql_gpm.reading.event_times import dated_properties, values_inside
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.raw_text import RawText, shown
from sparql_gpm.regular_batch import RegularBatch
from sparql_gpm.terms import BlankNode, Term, relabelled
from sparql_gpm.times import format_time

if TYPE_CHECKING:
    from arrays.words import Bytes
    from sparql_gpm.reading.closed_graph_table import ClosedGraphTable

CLOSED_GRAPHS_MAX = 250_000
"""Closed graphs of a stream that are kept to detect a reopened one; one closed earlier is a new event."""

BREAKS_OFF = "the input breaks off"
"""The beginning of the reason of the first report about a truncated input."""
TRUNCATED = "truncated"
"""The kind of the reports about a truncated input."""
_REASON_CHARACTERS_MAX = 1_000
"""A parser's reason may repeat what it read."""

_scopes = count()


@dataclass(frozen=True, slots=True)
class Malformed:
    """A part of the input that was left out.

    line, column    counted from 1, columns in code points
    reason          a sentence for the user
    raw             the text left out; bytes that are not UTF-8 are shown as \\xNN
    kind            of the fault: "syntax", "encoding", "term", "default graph", "no timestamp",
                    "bad timestamp", "two timestamps", "reopened", "truncated" or "too long"
    whole_event     it is an event, not a part of one
    raw_length, raw_sha256  bytes and hash of the whole text where `raw` is only its beginning, else 0 and ""
    begins          the line on which an event begins that was open when it was left out; else 0
    """

    line: int
    column: int
    reason: str
    raw: str
    kind: str
    raw_length: int = 0
    raw_sha256: str = ""
    whole_event: bool = field(default=False, compare=False)
    begins: int = field(default=0, compare=False)


Report = Callable[[Malformed], None]


@dataclass(frozen=True, slots=True)
class LocatedBatch:
    """Events, and the line of the input on which each begins.

    emptied     the number of events that have triples, none of which anybody wants
    """

    events: EventBatch
    lines: Ids
    emptied: int = 0


def next_scope() -> int:
    """A number that no event has had in this process: part of the labels of its blank nodes."""
    return next(_scopes)


def scopes_from(first: int) -> None:
    """Numbers below the first one belong to events of another process, of which blank nodes are known here."""
    global _scopes
    _scopes = count(max(first, next(_scopes)))


class EventBuilder:
    """Builds the events of one stream; at most one is open.

    key             the key of the open event, or None
    subjects, predicates, objects   the rows so far; those of the open event are last
    raw             the input of the open event, as lines or larger pieces
    """

    def __init__(self, dictionary: Dictionary, options: ReadOptions, report: Report) -> None:
        self._dictionary, self._report = dictionary, report
        self._batch_events, self._arrival_time = options.batch_events, options.arrival_time
        self._rule, self._reopens = options.time_rule, options.reopens
        self._time_paths = (*((predicate,) for predicate in options.time_predicates), *options.time_rule.paths)
        self._nameless, self._prefix = 0, f"urn:spaseq:event:{options.stream}:"
        self._closed_graphs: ClosedGraphs | ClosedGraphTable = ClosedGraphs(CLOSED_GRAPHS_MAX)
        self._pieces: list[LocatedBatch] = []
        self._events_in_pieces = 0
        self._input = 0
        self.subjects: list[int] = []
        self.predicates: list[int] = []
        self.objects: list[int] = []
        self._times: list[int] = []
        self._event_names: list[str] = []
        self._lines: list[int] = []
        self._offsets: list[int] = [0]
        self.key: bytes | None = None
        self.raw: list[bytes] = []
        self._line = self._scope = 0
        self._time: int | None = None
        self._fault: tuple[int, int, str, str] | None = None
        self._blank_nodes: dict[str, int] = {}

    def start_input(self) -> None:
        """Begin a document, with blank node labels of its own."""
        self._input += 1

    def open(self, key: bytes, line: int) -> None:
        """Close the open event, if any, and begin the one of this graph."""
        self.close()
        self.key, self._line, self._scope = key, line, next(_scopes)
        self._time = self._arrival_time() if self._arrival_time is not None else None
        if not self._reopens and self._document_key(key) in self._closed_graphs:
            reason = f"graph {shown(key)} is reopened after others: its triples must stand together"
            self.mark_malformed(line, 1, reason, "reopened")

    def intern(self, term: Term) -> int:
        """The id of a term of the open event, whose blank nodes are its own."""
        if not isinstance(term, BlankNode):
            return self._dictionary.intern(relabelled(term, self._label))
        identifier = self._blank_nodes.get(term.label)
        if identifier is None:
            identifier = self._blank_nodes[term.label] = self._dictionary.intern(relabelled(term, self._label))
        return identifier

    def _label(self, label: str) -> str:
        return f"e{self._scope}_{label}"

    def timestamp(self, stated: Term | None, line: int, column: Callable[[], int]) -> None:
        """Enter a timestamp triple of the open event with this object, at this place; a fault makes it malformed."""
        if self._arrival_time is not None:
            return
        try:
            time = self._rule.stated(stated)
        except ValueError as error:
            reason = f"the timestamp of {self._shown_key()} cannot be read: {error}"
            self.mark_malformed(line, column(), reason, "bad timestamp")
            return
        known, self._time = self._time, time
        if known is not None and known != time:
            both = f"{format_time(known)} and {format_time(time)}"
            reason = f"{self._shown_key()} has two different timestamps, {both}"
            self.mark_malformed(line, column(), reason, "two timestamps")

    def mark_malformed(self, line: int, column: int, reason: str, kind: str) -> None:
        """Mark the open event as malformed: it is left out, with a report of the first reason."""
        if self._fault is None:
            self._fault = (line, column, reason, kind)

    def close(self) -> None:
        """Complete the open event, if any: it joins the batch, or is reported."""
        if self.key is None:
            return
        if self._time is None and self._fault is None:
            self._look_inside()
        if self._fault is not None:
            self._leave_out(self._fault)
        else:
            self._admit(self._time)
        self._closed_graphs.add(self._document_key(self.key))
        self.key, self._time, self._fault = None, None, None
        self.raw.clear()
        self._blank_nodes.clear()

    def close_timed(self) -> None:
        """Complete the open event, if any, if it has its time: nothing more of it is expected."""
        if self.key is not None and (self._time is not None or self._values_inside()):
            self.close()

    def report(
        self,
        line: int,
        column: int,
        reason: str,
        raw: bytes | RawText,
        kind: str,
        whole_event: bool = False,
        begins: int = 0,
    ) -> None:
        """Report a part of the input that is left out."""
        left_out = RawText(raw) if isinstance(raw, bytes) else raw
        shown_reason = reason if len(reason) <= _REASON_CHARACTERS_MAX else f"{reason[:_REASON_CHARACTERS_MAX]}…"
        count_fault(text := left_out.shown, shown_reason)
        self._report(Malformed(line, column, shown_reason, text, kind, *left_out.whole, whole_event, begins))

    def break_off(self, line: int, error: BrokenOff | None) -> None:
        """End a truncated input, if there is an error: the open event is incomplete unless the text is complete."""
        if error is None:
            return
        self.report(line, 1, f"{BREAKS_OFF}: {error.message}", b"", TRUNCATED)
        if self.key is not None and not error.complete:
            self.mark_malformed(line, 1, f"{self._shown_key()} is incomplete: the input breaks off", TRUNCATED)

    def close_fresh(self, text: Bytes, starts: Ids, stops: Ids) -> GraphNames:
        """The names of graphs whose keys, IRIs, are in a text, up to the first that may not come again.

        They are closed from now on; no event is open.
        """
        assert self.key is None, self.key
        if self._reopens:
            return GraphNames.between(text, starts + 1, stops - 1)
        if isinstance(self._closed_graphs, ClosedGraphs):
            from sparql_gpm.reading.closed_graph_table import ClosedGraphTable  # with numba

            self._closed_graphs = ClosedGraphTable(CLOSED_GRAPHS_MAX, self._closed_graphs)
        return self._closed_graphs.admit(text, starts, stops)

    def arrivals(self, events: int) -> Ids | None:
        """The times of so many events that arrive now, or None if events have timestamps."""
        clock = self._arrival_time
        return as_ids([clock() for _ in range(events)]) if clock is not None else None

    @property
    def stamps_arrivals(self) -> bool:
        """True if events get the time of their arrival."""
        return self._arrival_time is not None

    def new_name(self) -> str:
        """The name of a further event without a graph IRI."""
        self._nameless += 1
        return f"{self._prefix}{self._nameless - 1}"

    def new_names(self, count: int) -> NumberedNames:
        """The names of so many further events without a graph IRI."""
        begin = self._nameless
        self._nameless += count
        return NumberedNames(self._prefix, np.arange(begin, self._nameless, dtype=np.int64))

    def close_numbered(self, series: Series, numbers: Ids) -> NumberedNames | None:
        """The names of graphs that differ in ascending numbers; None if that does not show them to be new.

        They are closed from now on; no event is open.
        """
        assert self.key is None and not self._reopens, self.key
        closed = self._closed_graphs
        if not isinstance(closed, ClosedGraphs) or not closed.ascend(series, numbers):
            return None
        return NumberedNames(series[0], numbers, series[1])

    def is_closed(self, key: bytes) -> bool:
        """True if a graph was closed before; else it is closed from now on, and no event is open."""
        found = key in self._closed_graphs
        self._closed_graphs.add(key)
        return found and not self._reopens

    def new_scope(self) -> int:
        """A number for the blank nodes of another event."""
        return next(_scopes)

    def new_scopes(self, count: int) -> int:
        """The first of so many numbers for the blank nodes of events."""
        first = next(_scopes)
        scopes_from(first + count)
        return first

    def admit(self, piece: LocatedBatch) -> None:
        """Add complete, well-formed events in columns, of closed graphs; there is `room` for them."""
        self._cut_piece()
        count_events(len(piece.events), piece.events.triples_max)
        self._pieces.append(piece)
        self._events_in_pieces += len(piece.events)

    @property
    def room(self) -> int:
        """The number of further events that fill the batch."""
        return max(0, self._batch_events - len(self._times) - self._events_in_pieces)

    @property
    def full(self) -> bool:
        """True if there are enough complete events for a batch."""
        return len(self._times) + self._events_in_pieces >= self._batch_events

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any.

        Meanwhile the dictionary may release all ids but theirs, so the rows of the open event are held as terms.
        """
        if not self._times and not self._pieces:
            return
        batch = self._cut()
        dictionary, columns = self._dictionary, (self.subjects, self.predicates, self.objects)
        waiting = [[dictionary.term(identifier) for identifier in column] for column in columns]
        generation = dictionary.generation
        yield batch
        if dictionary.generation != generation:
            self._blank_nodes.clear()
            for column, terms in zip(columns, waiting, strict=True):
                column[:] = [dictionary.intern(term) for term in terms]

    def _cut(self) -> LocatedBatch:
        """The complete events as a batch; the rows of the open event remain."""
        self._cut_piece()
        events = EventBatch.concatenate([piece.events for piece in self._pieces])
        lines = np.concatenate([piece.lines for piece in self._pieces])
        emptied = sum(piece.emptied for piece in self._pieces)
        self._pieces, self._events_in_pieces = [], 0
        return LocatedBatch(self._distinct(events), lines, emptied)

    def _distinct(self, events: EventBatch) -> EventBatch:
        """The events, each triple once; by a kernel where others are at work already."""
        if not self._dictionary.has_table or isinstance(events, RegularBatch):
            return events.distinct()
        from sparql_gpm.reading.distinct_kernel import distinct  # with numba

        return distinct(events)

    def _cut_piece(self) -> None:
        """Make columns of the complete events in lists, if any."""
        if not self._times:
            return
        end = self._offsets[-1]
        times = as_ids(self._times)
        columns = [as_ids(column[:end]) for column in (self.subjects, self.predicates, self.objects)]
        events = EventBatch(times, np.zeros_like(times), self._event_names, as_ids(self._offsets), *columns)
        self._pieces.append(LocatedBatch(events, as_ids(self._lines)))
        self._events_in_pieces += len(times)
        for column in (self.subjects, self.predicates, self.objects):
            del column[:end]
        self._times, self._event_names, self._lines, self._offsets = [], [], [], [0]

    def _triples(self) -> list[tuple[int, int, int]]:
        """The triples of the open event."""
        begin = self._offsets[-1]
        columns = (column[begin:] for column in (self.subjects, self.predicates, self.objects))
        return list(zip(*columns, strict=True))

    def _values_inside(self) -> list[int]:
        """The values of the properties of time inside the open event."""
        return list(values_inside(self._triples(), self._time_paths, self._dictionary))

    def _look_inside(self) -> None:
        """Find the time of the open event, about whose name no triple states one, inside its graph."""
        triples, values = self._triples(), self._values_inside()
        try:
            times = [self._rule.stated(self._dictionary.term(value)) for value in values]
        except ValueError as error:
            reason = f"the timestamp of {self._shown_key()} cannot be read: {error}"
            self.mark_malformed(self._line, 1, reason, "bad timestamp")
            return
        if not times:
            dated = " and ".join(f"<{iri}>" for iri in dated_properties(triples, self._dictionary))
            beside = f", but dateTime values of {dated}" if dated else ""
            self.mark_malformed(self._line, 1, f"{self._shown_key()} has no timestamp{beside}", "no timestamp")
            return
        try:
            self._time = self._rule.chosen(times)
        except ValueError as both:
            reason = f"{self._shown_key()} has two different timestamps, {both}"
            self.mark_malformed(self._line, 1, reason, "two timestamps")

    def _admit(self, time: int | None) -> None:
        assert time is not None and self.key is not None
        self._times.append(time)
        self._event_names.append(self.key[1:-1].decode() if self.key.startswith(b"<") else self.new_name())
        self._lines.append(self._line)
        count_events(1, len(self.subjects) - self._offsets[-1])
        self._offsets.append(len(self.subjects))

    def _leave_out(self, fault: tuple[int, int, str, str]) -> None:
        line, column, reason, kind = fault
        end = self._offsets[-1]
        del self.subjects[end:], self.predicates[end:], self.objects[end:]
        raw = RawText()
        for number, piece in enumerate(self.raw):
            raw.add(b"\n" + piece if number else piece)
        self.report(line, column, reason, raw, kind, whole_event=True, begins=self._line)

    def _document_key(self, key: bytes) -> bytes:
        """The key of a graph among all documents of the stream: a blank node label belongs to its document."""
        return key if key.startswith(b"<") else b"%b %d" % (key, self._input)

    def _shown_key(self) -> str:
        return f"graph {shown(self.key)}" if self.key else "the event"
