"""Stage 1 in one task: the rows of one partition of one stream's DataFrame become pieces for the shards.

Every task that has seen anything also tells every shard how far it has come, so that the time of a shard goes on
where it gets no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby

import numpy as np

from automata.values import Ids, Mask
from kb.base import KnowledgeBases
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, LocatedBatch, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.formats import FORMATS
from spaseq.inputs.texts import InputText, LineStream
from spaseq.outputs.dead_letters import DeadLetter, late_letter, malformed_letter
from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.spark.blobs import Contents, packed
from spaseq.runtime.spark.matching import Matching
from spaseq.runtime.spark.pieces import Piece
from spaseq.runtime.spark.signals import Signal, signal

_NO_EVENTS = EventBatch.empty()
_NO_MASK: Mask = np.zeros(0, dtype=np.bool_)
_TERMS_MAX = 200_000
"""Terms in the dictionary of a task, after which it is emptied between two batches."""


@dataclass(frozen=True, slots=True)
class StreamInput:
    """The input of one stream.

    number, iri, name   of the stream; the number is any that differs from those of the other streams
    format      one of spaseq.inputs.formats
    rows        "auto", "lines" or "documents"
    delay_ns    by how much events may be late in their own task; None: nothing is late
    compiled    N-Quads are read by compiled kernels
    max_line    the longest line, or statement of TriG, in bytes
    """

    number: int
    iri: str
    name: str
    format: str
    rows: str
    time_predicates: tuple[str, ...]
    batch_events: int
    delay_ns: int | None
    strict: bool
    shards: int
    compiled: bool
    max_line: int

    def is_document(self, text: InputText) -> bool:
        """True if a text is read by itself; else the next text may continue its last event."""
        if text.format is not None:
            return True
        if self.rows == "auto":
            return not FORMATS[self.format].lines or b"\n" in text.text.rstrip(b"\n")
        return self.rows == "documents"


class Task:
    """The work of one task.

    place   number of the task among those of its micro-batch
    label   the same for a task that is run again, and for no other
    """

    def __init__(
        self,
        source: StreamInput,
        matching: Matching,
        dictionary: Dictionary,
        bases: KnowledgeBases,
        place: int,
        label: str,
    ) -> None:
        self._input = source
        self._matching = matching
        self._dictionary = dictionary
        self._bases = bases
        self._place = place << 32
        self._blank_suffix = f".{source.number}.{label}"
        self._newest = BEFORE_ALL
        self._signal = Signal()
        self._letters: list[DeadLetter] = []
        self._source, self._line = source.name, 0
        name = f"{source.name}:{label}"
        options = ReadOptions(
            source.time_predicates, None, source.batch_events, name, source.compiled or None, source.max_line
        )
        self._reader = EventReader(dictionary, options, self._malformed)

    def pieces(self, rows: Iterable[InputText]) -> Iterator[Piece]:
        """The pieces for the shards, in order."""
        seen = False
        for batch in self._batches(rows):
            seen = True
            self._bases.refresh()
            yield from self._divided(batch)
            if len(self._dictionary) > _TERMS_MAX:
                self._dictionary.retain([])
        if seen or self._letters or self._signal != Signal():
            yield from self._closing()

    # --- reading ------------------------------------------------------------------------------------

    def _batches(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        data = (row for row in rows if not self._is_signal(row))
        by_kind = groupby(data, self._input.is_document)
        for documents, group in by_kind:
            yield from self._documents(group) if documents else self._lines(group)

    def _is_signal(self, row: InputText) -> bool:
        found = signal(row.text)
        if found is None:
            return False
        self._signal = Signal(self._signal.ended or found.ended, max(self._signal.advance, found.advance))
        return True

    def _documents(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        for row in rows:
            self._source, self._line = row.source, row.line
            with row.open() as stream:
                yield from self._reader.read(stream, row.format or self._input.format)

    def _lines(self, rows: Iterable[InputText]) -> Iterator[LocatedBatch]:
        rows = iter(rows)
        first = next(rows)
        self._source, self._line = first.source, first.line
        yield from self._reader.read(LineStream(chain([first], rows)), self._input.format)

    def _malformed(self, fault: Malformed) -> None:
        self._add(malformed_letter("malformed", self._input.name, self._source, fault.line + self._line, fault))

    # --- lateness, division -------------------------------------------------------------------------

    def _divided(self, located: LocatedBatch) -> Iterator[Piece]:
        late = self._late(located.events.times)
        for index in np.flatnonzero(late).tolist():
            line = int(located.lines[index]) + self._line
            self._add(late_letter(self._input.name, self._source, line, located.events, index, self._dictionary))
        events = located.events if not late.any() else located.events.take(np.flatnonzero(~late))
        if not len(events):
            return
        for shard, batch, reporting in self._matching.divide(events):
            letters, self._letters = tuple(self._letters), []
            blob = packed(Contents(batch, reporting, letters), self._dictionary, self._blank_suffix)
            yield self._piece(shard, len(batch), blob)

    def _late(self, times: Ids) -> Mask:
        """Those more than the delay below the largest time that the task has seen before."""
        seen = np.maximum.accumulate(np.concatenate(([self._newest], times)))
        self._newest = int(seen[-1])
        delay = self._input.delay_ns
        if delay is None:
            return np.zeros(len(times), dtype=np.bool_)
        late: Mask = (seen[:-1] > BEFORE_ALL + delay) & (times < seen[:-1] - delay)
        return late

    def _add(self, letter: DeadLetter) -> None:
        if self._input.strict:
            raise letter.error()
        self._letters.append(letter)

    def _closing(self) -> Iterator[Piece]:
        for shard in range(self._input.shards):
            letters, self._letters = tuple(self._letters), []
            contents = Contents(_NO_EVENTS, _NO_MASK, letters)
            blob = packed(contents, self._dictionary, self._blank_suffix) if letters else None
            yield replace(self._piece(shard, 0, blob), ended=self._signal.ended, advance=self._signal.advance)

    def _piece(self, shard: int, events: int, blob: bytes | None) -> Piece:
        self._place += 1
        return Piece(shard, self._input.iri, self._place, self._newest, events, False, BEFORE_ALL, blob)
