"""Inputs in any order as events in the order of time: the quads of a graph are brought together, the graphs are sorted.

Two external sorts follow each other: fragments by graph, then events by time. The result is N-Quads, in which the time
of an event stands before its graph unless it is inside it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby

import msgspec

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.blocks import TOO_LONG, Blocks
from sparql_gpm.reading.document_terms import TermIds
from sparql_gpm.reading.event_builder import BREAKS_OFF, TRUNCATED, EventBuilder, LocatedBatch, Malformed
from sparql_gpm.reading.event_lines import event_lines
from sparql_gpm.reading.fragments import Fragment, LeftOut, Line, Part, TriGFragments, nquads_fragments
from sparql_gpm.reading.lines import NQuadsReader
from sparql_gpm.reading.raw_text import RawText, shown
from spaseq.inputs.external_sort import ExternalSort, Record
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import InputFile, source_name
from spaseq.inputs.reading import StreamFormat, StreamReader

MEMORY = 256 << 20
"""Bytes that a sort takes for records, if nothing else is said."""
_EVENTS_MAX = 10_000
"""Events whose times are read at once."""
_LABEL = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<[^<>]*>|_:([^\s<>"]+)')
_NUMBERED = re.compile(rb"x\d+\.")

OnMalformed = Callable[[str, Malformed], None]


class _Stored(msgspec.Struct, array_like=True):
    """A fragment in a file: the number of its source, and the fields of Fragment."""

    source: int
    line: int
    times: list[Line]
    quads: list[Line]
    fault: tuple[str, int, str] | None


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Stored)


@dataclass(frozen=True, slots=True)
class SortOptions:
    """The options of a sorting.

    read        by which property events have their times; how long lines may be; names of events without a graph
    how         formats and templates
    memory      bytes that records may take
    on_malformed    called with a source and a fault
    drop        triples of the default graph that are no time are dropped and counted, not reported
    """

    read: ReadOptions
    on_malformed: OnMalformed
    how: StreamFormat = field(default_factory=StreamFormat)
    memory: int = MEMORY
    drop: bool = True


_Placed = tuple[int, int, bytes]
"""A line of N-Quads after the numbers of its source and line."""


@dataclass(slots=True)
class _Group:
    """The fragments of one graph, in the order of the input."""

    key: bytes
    first: int
    stored: list[_Stored] = field(default_factory=list)

    def lines(self) -> list[_Placed]:
        """Its lines with the numbers of source and line: those in the default graph first."""
        times = [(each.source, *line) for each in self.stored for line in each.times]
        return times + [(each.source, *line) for each in self.stored for line in each.quads]


class Sorting:
    """The events of some files, sorted by time.

    dropped     triples of the default graph that state no time, so far
    events      events in the result, so far
    """

    def __init__(self, files: Iterable[InputFile], options: SortOptions) -> None:
        self._files, self._options = list(files), options
        self._sources = [source_name(file.path) for file in self._files]
        read = options.read
        self._predicates = frozenset(f"<{iri}>".encode() for iri in read.time_predicates)
        self._dictionary = Dictionary()
        self._reading = StreamReader(self._dictionary, read, options.how, self._report_current)
        self._current = 0
        self._memory = options.memory // 2
        self.dropped = self.events = 0

    def texts(self) -> Generator[bytes, None, None]:
        """The events in N-Quads, one by one; the whole input is read before the first."""
        with closing(ExternalSort(self._memory)) as by_graph, closing(ExternalSort(self._memory)) as by_time:
            self._sort(by_graph, by_time)
            for _, _, text in by_time:
                self.events += 1
                yield text

    def _sort(self, by_graph: ExternalSort, by_time: ExternalSort) -> None:
        for number, fragment in enumerate(self._fragments()):
            stored = _Stored(self._current, fragment.line, fragment.times, fragment.quads, fragment.fault)
            by_graph.add((self._graph(fragment.key), number, _ENCODER.encode(stored)))
        for record in _TimedEvents(self._options, self._sources, self._memory).records(_groups(by_graph)):
            by_time.add(record)

    def _graph(self, key: bytes) -> bytes:
        """The key of a graph in all inputs: a blank node belongs to its file."""
        return key if key.startswith(b"<") else b"%b %d" % (key, self._current)

    def _fragments(self) -> Iterator[Fragment]:
        for number, file in enumerate(self._files):
            self._current = number
            with opened(file) as unpacked:
                blocks = Blocks(unpacked.stream, False, self._options.read.line_bytes_max)
                match unpacked.format:
                    case "nquads":
                        yield from self._kept(nquads_fragments(blocks, self._predicates), blocks)
                    case "trig":
                        yield from self._kept(iter(TriGFragments(blocks, self._predicates)), blocks)
                    case _:
                        for batch in self._reading.read(unpacked, self._sources[number]):
                            yield from self._whole(batch)

    def _kept(self, parts: Iterator[Part], blocks: Blocks) -> Iterator[Fragment]:
        """The fragments; what has no graph is reported, or dropped, and the last of a truncated input is malformed."""
        last: Fragment | None = None
        for part in parts:
            if isinstance(part, Fragment):
                if last is not None:
                    yield self._renamed(last)
                last = part
            elif part.kind == "default graph" and self._options.drop:
                self.dropped += 1
            else:
                self._report_current(_malformed(part))
        if broken := blocks.broken_off:
            line = max((at for at, _ in (last.times + last.quads)), default=last.line) if last else 1
            self._report_current(Malformed(line, 1, f"{BREAKS_OFF}: {broken.message}", "", TRUNCATED))
            if last is not None and not broken.complete and last.fault is None:
                last.fault = (
                    f"graph {last.key.decode(errors='replace')} is incomplete: the input breaks off",
                    1,
                    TRUNCATED,
                )
        if last is not None:
            yield self._renamed(last)

    def _whole(self, batch: LocatedBatch) -> Iterator[Fragment]:
        """Events of formats in which an event always stands together."""
        for index in range(len(batch.events)):
            line = int(batch.lines[index])
            lines = event_lines(batch.events, index, self._dictionary, self._options.read)
            times, quads = ([(line, text.encode()) for text in part] for part in lines)
            yield Fragment(f"<{batch.events.names[index]}>".encode(), line, times, quads)
        self._dictionary.retain([])

    def _renamed(self, fragment: Fragment) -> Fragment:
        """The fragment with labels of blank nodes that no other file uses."""
        if len(self._files) == 1:
            return fragment
        times, quads = (
            [(at, self._relabelled(line)) for at, line in lines] for lines in (fragment.times, fragment.quads)
        )
        return replace(fragment, times=times, quads=quads)

    def _relabelled(self, line: bytes) -> bytes:
        def name(found: re.Match[bytes]) -> bytes:
            label = found[1]
            if label is None or (self._current == 0 and not _NUMBERED.match(label)):
                return found[0]
            return b"_:x%d.%b" % (self._current, label)

        return _LABEL.sub(name, line) if b"_:" in line else line

    def _report_current(self, fault: Malformed) -> None:
        self._options.on_malformed(self._sources[self._current], fault)


class SortedStream:
    """The events of a sorting as a stream of N-Quads, as readers take it."""

    def __init__(self, texts: Iterator[bytes]) -> None:
        self._texts = texts
        self._left = b""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; b"" at the end."""
        parts, length = [self._left], len(self._left)
        while length < size and (text := next(self._texts, None)) is not None:
            parts.append(text)
            length += len(text)
        found = b"".join(parts)
        self._left = found[size:]
        return found[:size]


class _TimedEvents:
    """The events of groups with their times, by the rules of `EventBuilder`."""

    def __init__(self, options: SortOptions, sources: list[str], memory: int) -> None:
        self._options, self._sources, self._memory = options, sources, memory
        read = replace(options.read, batch_events=_EVENTS_MAX, arrival_time=None)
        self._dictionary = Dictionary()
        self._builder = EventBuilder(self._dictionary, read, self._report)
        self._terms = TermIds(self._dictionary, self._builder, read)
        self._reader = NQuadsReader(self._dictionary, self._terms, self._builder, read)
        self._starts: list[int] = []
        self._groups: list[int] = []
        self._lines: list[_Placed] = []
        self._bad: set[int] = set()

    def records(self, groups: Iterable[_Group]) -> Iterator[Record]:
        """Time, place and N-Quads of each well-formed event; the others are reported."""
        size = 0
        for group in groups:
            lines = group.lines()
            length = sum(len(text) for _, _, text in lines)
            if fault := self._fault(group, lines, length):
                self._options.on_malformed(self._sources[group.stored[0].source], fault)
                continue
            self._builder.start_input()
            self._starts.append(len(self._lines))
            self._groups.append(group.first)
            self._lines += lines
            for _ in self._reader.take([text for _, _, text in lines], self._starts[-1]):
                raise AssertionError("a batch before it is asked for")
            self._builder.close()
            size += length
            if len(self._groups) >= _EVENTS_MAX - 1 or size > self._memory:
                yield from self._taken()
                size = 0
        yield from self._taken()

    def _fault(self, group: _Group, lines: Sequence[_Placed], length: int) -> Malformed | None:
        """The fault of a group that is known before it is read."""
        first, name = group.stored[0], shown(group.key)
        if found := next((each for each in group.stored if each.fault is not None), None):
            assert found.fault is not None
            reason, column, kind = found.fault
            return _event_fault(found.line, column, reason, lines, kind)
        if not lines:
            return _event_fault(first.line, 1, f"graph {name} has no timestamp", lines, "no timestamp")
        if length > self._options.read.line_bytes_max:
            reason = TOO_LONG % (f"event of {name}", f"{length:,}")
            return _event_fault(first.line, 1, reason, lines, "too long")
        return None

    def _taken(self) -> Iterator[Record]:
        for batch in self._reader.flush():
            for time, line in zip(batch.events.times.tolist(), batch.lines.tolist(), strict=True):
                index = bisect_right(self._starts, line - 1) - 1
                begin = self._starts[index]
                end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._lines)
                texts = [
                    text + b"\n" for at, (_, _, text) in enumerate(self._lines[begin:end], begin) if at not in self._bad
                ]
                yield time, self._groups[index], b"".join(texts)
        self._starts, self._groups, self._lines = [], [], []
        self._bad.clear()
        self._dictionary.retain([])
        self._terms.refresh()

    def _report(self, fault: Malformed) -> None:
        """A fault at a line of the groups, at its place in the input; the event goes on without a line that is bad."""
        source, line, _ = self._lines[fault.line - 1]
        if not fault.whole_event:
            self._bad.add(fault.line - 1)
        self._options.on_malformed(self._sources[source], replace(fault, line=line))


def _groups(by_graph: ExternalSort) -> Iterator[_Group]:
    for key, records in groupby(by_graph, key=lambda record: record[0]):
        group = _Group(key, -1)
        for _, number, stored in records:
            group.first = number if group.first < 0 else group.first
            group.stored.append(_DECODER.decode(stored))
        yield group


def _event_fault(line: int, column: int, reason: str, lines: Sequence[_Placed], kind: str) -> Malformed:
    raw = RawText(b"\n".join([text for _, _, text in lines]))
    return Malformed(line, column, reason, raw.shown, kind, *raw.whole, True)


def _malformed(part: LeftOut) -> Malformed:
    raw = RawText(part.raw) if isinstance(part.raw, bytes) else part.raw
    return Malformed(part.line, part.column, part.reason, raw.shown, part.kind, *raw.whole)
