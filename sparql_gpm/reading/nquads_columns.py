"""N-Quads to events, block by block: the usual lines by kernels, the others by the line reader.

A block is scanned into runs of lines about one graph. A run is taken into columns if it is one complete event with
nothing unusual about it; any other run, be it malformed or only written in another way, is read line by line, so that
what it means, and what is reported, does not depend on how it was read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arrays.words import Bytes
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.graph_names import GraphNames
from sparql_gpm.interning.term_table import ByteStrings, as_bytes
from sparql_gpm.reading.blocks import BLOCK_BYTES
from sparql_gpm.reading.document_terms import parse_token
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.nquads_forms import WrittenForms, mark_doubtful
from sparql_gpm.reading.nquads_kernel import (
    BEGIN,
    CONFLICT,
    KEY_START,
    KEY_STOP,
    LINE,
    ODD,
    ROW,
    ROWS,
    RUNS,
    STAMP_START,
    STAMP_STOP,
    STAMPED,
    STATE,
    TIME,
    UNCERTAIN,
    UNREAD,
    WRITTEN,
    Scan,
    Source,
    Strings,
    scan,
)
from sparql_gpm.reading.token_kernels import NEWLINE
from sparql_gpm.terms import Literal
from sparql_gpm.times import parse_time

RUNS_MAX = 1024
"""Runs that are taken into columns at once."""


class LineReader(Protocol):
    """Reads what is unusual, into the same builder."""

    def take(self, lines: list[bytes], before: int) -> Iterator[LocatedBatch]:
        """Take lines; `before` of them have gone before."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Give out the complete events, if any."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that have been scanned.

    data        the text, as kernels take it
    count       how many
    before      the number of lines before them
    rows, runs  as in Scan, cut to what there is; the rows hold ids of terms
    """

    text: bytes
    data: Bytes
    count: int
    before: int
    rows: Ids
    runs: Ids

    def lines(self, run: int) -> list[bytes]:
        """The lines of a run."""
        return self.since(run, run + 1).removesuffix(b"\n").split(b"\n")

    def since(self, run: int, stop: int) -> bytes:
        """The text of the runs from one on."""
        return self.text[self._begin(run) : self._begin(stop)]

    def _begin(self, run: int) -> int:
        return int(self.runs[run, BEGIN]) if run < len(self.runs) else len(self.text)

    def line(self, run: int) -> int:
        """The number of lines before a run, or, if there is none, up to the end."""
        return self.before + (int(self.runs[run, LINE]) if run < len(self.runs) else self.count)

    def key(self, run: int) -> bytes:
        """The key of the graph of a run."""
        return self.text[self.runs[run, KEY_START] : self.runs[run, KEY_STOP]]

    def piece(self, run: int, names: GraphNames, times: Ids | None) -> LocatedBatch:
        """As events the runs from one on, with these names, at these times or those stated; another run follows."""
        stop = run + len(names)
        offsets = self.runs[run : stop + 1, ROW]
        subjects, predicates, objects = self.rows[:, offsets[0] : offsets[-1]]
        stated = np.ascontiguousarray(self.runs[run:stop, TIME]) if times is None else times
        streams = np.zeros_like(stated)
        events = EventBatch(stated, streams, names, offsets - offsets[0], subjects, predicates, objects)
        return LocatedBatch(events, self.runs[run:stop, LINE] + (self.before + 1))


class ColumnReader:
    """Reads the blocks of one stream, one after the other.

    left            the last lines, of an event that may go on in the next block; they have not been taken
    lines_taken     the number of lines before those, of the text given last
    """

    def __init__(
        self, dictionary: Dictionary, builder: EventBuilder, time_predicates: frozenset[bytes], lines: LineReader
    ) -> None:
        self._dictionary, self._builder, self._lines = dictionary, builder, lines
        predicates = sorted(time_predicates)
        self._predicates = as_bytes(b"".join(predicates))
        self._predicate_ends = np.cumsum([0, *map(len, predicates)], dtype=np.int64)
        self._forms = WrittenForms(dictionary, builder.new_scope)
        self.left, self.lines_taken = b"", 0

    def take(self, text: bytes, before: int) -> Iterator[LocatedBatch]:
        """Take whole lines, `before` of which have gone before, apart from those left."""
        self.left, line = b"", before
        while text:
            block = self._scan(text, line)
            done = yield from self._take(block)
            text, line = block.since(done, len(block.runs)), block.line(done)
        self.lines_taken = line - self.left.count(b"\n") - before

    def _take(self, block: Block) -> Generator[LocatedBatch, None, int]:
        """Take runs; gives how many. Not all, if the dictionary has released terms meanwhile: the ids are stale."""
        generation, builder = self._dictionary.generation, self._builder
        last = len(block.runs) - 1
        odd = self._odd_runs(block)
        run = 0
        while run < last and self._dictionary.generation == generation:
            stop = min(int(odd[np.searchsorted(odd, run)]), run + RUNS_MAX)
            if stop > run and block.key(run) != builder.key:
                builder.close()
                taken = self._admit(block, run, min(stop, run + builder.room))
            else:
                taken = 0
            if taken == 0 and not builder.full:
                yield from self._lines.take(block.lines(run), block.line(run))
                taken = 1
            run += taken
            if builder.full:
                yield from self._lines.flush()
        if run == last and self._dictionary.generation == generation:
            yield from self._leave(block, last)
            run += 1
        return run

    def _admit(self, block: Block, run: int, stop: int) -> int:
        """Take the runs into columns, as far as their graphs are not reopened; gives how many."""
        starts, stops = (np.ascontiguousarray(block.runs[run:stop, column]) for column in (KEY_START, KEY_STOP))
        names = self._builder.close_fresh(block.data, starts, stops)
        if names:
            self._builder.admit(block.piece(run, names, self._builder.arrivals(len(names))))
        return len(names)

    def _leave(self, block: Block, last: int) -> Iterator[LocatedBatch]:
        """Keep the last run for the next block, or, if it is long, take its lines now."""
        text = block.since(last, last + 1)
        if len(text) <= BLOCK_BYTES:
            self.left = text
        else:
            yield from self._lines.take(block.lines(last), block.line(last))

    def _odd_runs(self, block: Block) -> Ids:
        """The runs, in order, that have to be read by line; the last one is always among them."""
        states = block.runs[:, STATE]
        odd = states & (ODD | CONFLICT) != 0
        if not self._builder.stamps_arrivals:
            odd |= states & STAMPED == 0
        odd[-1:] = True
        return np.flatnonzero(odd)

    def _scan(self, text: bytes, before: int) -> Block:
        source = Source(as_bytes(text), len(text), self._predicates, self._predicate_ends)
        lines = int(np.count_nonzero(source.text == NEWLINE))
        table, forms = self._dictionary.table(), self._forms
        forms.refresh()
        table.reserve(3 * lines, len(text))
        forms.strings.reserve(3 * lines, len(text))
        out = Scan(
            np.empty((3, lines), dtype=np.int64),
            np.empty((lines, 9), dtype=np.int64),
            np.empty(3 * lines, dtype=np.int64),
            np.zeros(5, dtype=np.int64),
        )
        scan(source, _strings(table.strings), table.numbers, _strings(forms.strings), out)
        table.set_numbers(out.uncertain[: out.counts[UNCERTAIN]])
        block = Block(text, source.text, lines, before, out.rows[:, : out.counts[ROWS]], out.runs[: out.counts[RUNS]])
        if out.counts[WRITTEN]:
            forms.replace(block.rows, block.runs)
        self._read_times(block)
        return block

    def _read_times(self, block: Block) -> None:
        """Read the timestamps that are not of the usual form."""
        runs = block.runs
        unread = np.flatnonzero(runs[:, STATE] & UNREAD)
        doubtful = np.zeros(len(unread), dtype=np.bool_)
        for index, run in enumerate(unread.tolist()):
            literal = parse_token(block.text[runs[run, STAMP_START] : runs[run, STAMP_STOP]])
            try:
                if not isinstance(literal, Literal):
                    raise ValueError(literal)
                runs[run, TIME] = parse_time(literal)
            except ValueError:
                doubtful[index] = True
        mark_doubtful(runs, unread[doubtful])


def _strings(strings: ByteStrings) -> Strings:
    return Strings(strings.arena, strings.entries, strings.slots)
