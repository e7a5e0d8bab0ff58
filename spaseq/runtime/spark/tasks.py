"""Stage 1 in one task: from the rows of one partition of one stream's DataFrame to blocks for the shards.

A task that has read anything also sends its progress to every shard, so that the time of a shard advances without an
event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any

import numpy as np

from arrays.times import BEFORE_ALL
from automata.values import Ids, Mask
from kb.base import KnowledgeBases
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, LocatedBatch, ReadOptions
from sparql_gpm.reading.event_builder import TRUNCATED, Malformed
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from spaseq.errors import RunError
from spaseq.inputs.event_times import TimeReading
from spaseq.inputs.formats import is_of_lines
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.texts import InputText, LineStream, OpenInput
from spaseq.outputs.dead_letters import MALFORMED, DeadLetter, late_letter, malformed_letter
from spaseq.runtime.order.reorder import lateness_bounds
from spaseq.runtime.spark.shard_partitioner import ShardPartitioner
from spaseq.runtime.spark.shuffle_blocks import BlockContents, ShuffleBlock, packed

_NO_EVENTS = EventBatch.empty()
_NO_MASK: Mask = np.zeros(0, dtype=np.bool_)
_SIGNAL = b"#!spaseq"
_TERMS_MAX = 200_000
"""Terms in the dictionary of a task, above which it is emptied between two batches."""


@dataclass(frozen=True, slots=True)
class StreamInput:
    """The input of one stream.

    number, iri, name   of the stream; the number is any that differs from those of the other streams
    format      one of spaseq.inputs.formats
    rows        "auto", "lines" or "documents"
    delay_ns    by how much events may be late in their own task; None: no event is late
    compiled    N-Quads are read by compiled kernels
    max_line    the longest line, or statement of TriG, in bytes
    how         the template of tables and how they are written
    contexts    of JSON-LD, by URL
    """

    number: int
    iri: str
    name: str
    format: str
    rows: str
    time: TimeReading
    batch_events: int
    delay_ns: int | None
    strict: bool
    shards: int
    compiled: bool
    max_line: int
    how: StreamFormat = field(default_factory=StreamFormat)
    contexts: Mapping[str, Any] = field(default_factory=dict)

    def is_document(self, text: InputText) -> bool:
        """True if a text holds whole events; else the next text may continue its last event."""
        if text.format is not None or text.breaks_off is not None:
            return True
        if self.rows == "auto":
            return not is_of_lines(self.format) or b"\n" in text.text.rstrip(b"\n")
        return self.rows == "documents"


@dataclass(frozen=True, slots=True)
class Signal:
    """Comment lines on the progress of a stream: it has ended, or no event before `advance` will follow.

    partition, active   as in `ShuffleBlock`
    """

    ended: bool = False
    advance: int = BEFORE_ALL
    partition: str = ""
    active: tuple[str, ...] | None = None

    def joined(self, later: Signal) -> Signal:
        """Both signals as one."""
        active = self.active if later.active is None else later.active
        ended, advance = self.ended or later.ended, max(self.advance, later.advance)
        return Signal(ended, advance, later.partition or self.partition, active)


def signal(text: bytes) -> Signal | None:
    """The signal in a text of one line that begins like a signal, else None; raises RunError for an unknown one."""
    if not text.startswith(_SIGNAL) or b"\n" in text.rstrip():
        return None
    words = text.strip().decode("utf-8", errors="backslashreplace").split()
    match words:
        case ["#!spaseq", "end"]:
            return Signal(ended=True)
        case ["#!spaseq", "advance", time]:
            with suppress(ValueError):
                return Signal(advance=parse_time(Literal(time, XSD + "dateTime")))
        case ["#!spaseq", "partition", name]:
            return Signal(partition=name)
        case ["#!spaseq", "partitions", *names]:
            return Signal(active=tuple(names))
    if words[0] == _SIGNAL.decode():
        hint = "write '#!spaseq end' or '#!spaseq advance 2026-01-01T00:00:10Z'"
        raise RunError(f"the input has an unknown signal: {' '.join(words)}", hint=hint)
    return None


class Task:
    """The work of one task, at a place in its micro-batch; run again it has the same label, and no other has it."""

    def __init__(
        self,
        source: StreamInput,
        partitioner: ShardPartitioner,
        dictionary: Dictionary,
        bases: KnowledgeBases,
        place: int,
        label: str,
    ) -> None:
        self._input = source
        self._partitioner = partitioner
        self._dictionary = dictionary
        self._bases = bases
        self._place = place << 32
        self._blank_suffix = f".{source.number}.{label}"
        partitioner.begin(self._blank_suffix)
        self._max_time = BEFORE_ALL
        self._signal = Signal()
        self._passed: list[tuple[str, int]] = []
        self._letters: list[DeadLetter] = []
        self._source, self._line = source.name, 0
        name = f"{source.name}:{label}"
        options = ReadOptions(
            source.time.predicates or (PROV_TIME,), None, source.batch_events, name, source.compiled or None,
            source.max_line, time_rule=source.time.rule, contexts=source.contexts,
        )  # fmt: skip
        self._reader = StreamReader(dictionary, options, source.how, self._malformed)

    def blocks(self, rows: Iterable[InputText]) -> Iterator[ShuffleBlock]:
        """The blocks for the shards, in order."""
        read = False
        for batch in self._batches(rows):
            read = True
            self._bases.refresh()
            yield from self._partitioned(batch)
            if len(self._dictionary) > _TERMS_MAX:
                self._dictionary.retain([])
        if read or self._letters or self._signal != Signal():
            yield from self._closing()

    def _batches(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        data = (row for row in rows if not self._is_signal(row))
        by_kind = groupby(data, self._input.is_document)
        for documents, group in by_kind:
            yield from self._documents(group) if documents else self._lines(group)

    def _is_signal(self, row: InputText) -> bool:
        found = signal(row.text)
        if found is None:
            return False
        if found.partition and self._signal.partition:
            self._passed.append((self._signal.partition, self._max_time))
            self._max_time = BEFORE_ALL
        self._signal = self._signal.joined(found)
        return True

    def _documents(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        for row in rows:
            self._source, self._line = row.source, row.line
            with row.open(self._input.format) as source:
                yield from self._reader.read(source, row.source)

    def _lines(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        rows = iter(rows)
        first = next(rows)
        self._source, self._line = first.source, first.line
        source = OpenInput(LineStream(chain([first], rows)), self._input.format, live=False)
        yield from self._reader.read(source, first.source)

    def _malformed(self, fault: Malformed) -> None:
        line = fault.line + self._line
        kind = TRUNCATED if fault.kind == TRUNCATED else MALFORMED
        self._add(malformed_letter(kind, self._input.name, self._input.iri, self._source, line, fault))

    def _partitioned(self, located: LocatedBatch) -> Iterator[ShuffleBlock]:
        late = self._late(located.events.times)
        for index in np.flatnonzero(late).tolist():
            line = int(located.lines[index]) + self._line
            place = self._input.name, self._input.iri, self._source, line
            self._add(late_letter(*place, located.events, index, self._dictionary))
        events = located.events if not late.any() else located.events.take(np.flatnonzero(~late))
        if not len(events):
            return
        for shard, batch, reporting in self._partitioner.partition(events):
            self._add_all(self._partitioner.letters())
            letters, self._letters = tuple(self._letters), []
            blob = packed(BlockContents(batch, reporting, letters), self._dictionary, self._blank_suffix)
            yield self._block(shard, len(batch), blob)
        self._add_all(self._partitioner.letters())

    def _late(self, times: Ids) -> Mask:
        """The events more than the delay below the largest time that the task has read before.

        One of several partitions has none: the watermark is the least of them all, which only stage 2 knows.
        """
        bounds, self._max_time = lateness_bounds(times, self._max_time, self._input.delay_ns or 0)
        late: Mask = (times < bounds) & (self._input.delay_ns is not None and not self._signal.partition)
        return late

    def _add(self, letter: DeadLetter) -> None:
        if self._input.strict:
            raise letter.error()
        self._letters.append(letter)

    def _add_all(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            self._add(letter)

    def _closing(self) -> Iterator[ShuffleBlock]:
        for shard in range(self._input.shards):
            letters, self._letters = tuple(self._letters), []
            contents = BlockContents(_NO_EVENTS, _NO_MASK, letters)
            blob = packed(contents, self._dictionary, self._blank_suffix) if letters else None
            for partition, newest in self._passed:
                yield replace(self._block(shard, 0, None), partition=partition, max_ts=newest)
            closing, told = self._block(shard, 0, blob), self._signal
            yield replace(closing, ended=told.ended, advance=told.advance, active=told.active)

    def _block(self, shard: int, events: int, blob: bytes | None) -> ShuffleBlock:
        self._place += 1
        place, newest, partition = self._place, self._max_time, self._signal.partition
        return ShuffleBlock(shard, self._input.iri, place, newest, events, False, BEFORE_ALL, blob, partition)
