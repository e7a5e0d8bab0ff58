"""Events of N-Quads, block by block: the usual lines by kernels, the others by the line reader.

A block is scanned into groups of consecutive lines about one graph. A group becomes columns if it is one complete event
of usual lines; every other group is read line by line, so that events and reports do not depend on the reader.
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
from sparql_gpm.reading import nquads_kernel as kernel
from sparql_gpm.reading.blocks import BLOCK_BYTES
from sparql_gpm.reading.document_terms import parse_token
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.nquads_forms import WrittenForms, mark_doubtful
from sparql_gpm.reading.token_kernels import NEWLINE

GROUPS_MAX = 1024
"""Groups that become columns at once."""


class LineReader(Protocol):
    """The reader of other lines, with the same builder."""

    def take(self, lines: list[bytes], before: int) -> Iterator[LocatedBatch]:
        """Read lines, the first of which has the number `before` + 1."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""


@dataclass(frozen=True, slots=True)
class Block:
    """Scanned lines.

    data        the text for kernels
    count       the number of lines
    before      the number of lines before them
    rows, groups    as in Scan, without unused room; the rows hold ids of terms
    """

    text: bytes
    data: Bytes
    count: int
    before: int
    rows: Ids
    groups: Ids

    def lines(self, group: int) -> list[bytes]:
        """The lines of a group."""
        return self.since(group, group + 1).removesuffix(b"\n").split(b"\n")

    def since(self, group: int, stop: int) -> bytes:
        """The text of the groups before `stop`, from `group` on."""
        return self.text[self._begin(group) : self._begin(stop)]

    def _begin(self, group: int) -> int:
        return int(self.groups[group, kernel.BEGIN]) if group < len(self.groups) else len(self.text)

    def line(self, group: int) -> int:
        """The number of lines before a group, or up to the end if there is no such group."""
        return self.before + (int(self.groups[group, kernel.LINE]) if group < len(self.groups) else self.count)

    def key(self, group: int) -> bytes:
        """The key of the graph of a group."""
        return self.text[self.groups[group, kernel.KEY_START] : self.groups[group, kernel.KEY_STOP]]

    def piece(self, group: int, names: GraphNames, times: Ids | None) -> LocatedBatch:
        """The groups from one on as events with these names, at these times or those stated; another group follows."""
        stop = group + len(names)
        offsets = self.groups[group : stop + 1, kernel.ROW]
        subjects, predicates, objects = self.rows[:, offsets[0] : offsets[-1]]
        stated = np.ascontiguousarray(self.groups[group:stop, kernel.TIME]) if times is None else times
        streams = np.zeros_like(stated)
        events = EventBatch(stated, streams, names, offsets - offsets[0], subjects, predicates, objects)
        return LocatedBatch(events, self.groups[group:stop, kernel.LINE] + (self.before + 1))


class ColumnReader:
    """Reads the blocks of one stream in turn.

    left            the last lines, of an event that may continue in the next block; they are not read yet
    lines_taken     the number of lines of the last text before those
    """

    def __init__(
        self,
        dictionary: Dictionary,
        builder: EventBuilder,
        time_predicates: frozenset[bytes],
        rule: TimeRule,
        lines: LineReader,
    ) -> None:
        self._rule = rule
        self._dictionary, self._builder, self._lines = dictionary, builder, lines
        predicates = sorted(time_predicates)
        self._predicates = as_bytes(b"".join(predicates))
        self._predicate_ends = np.cumsum([0, *map(len, predicates)], dtype=np.int64)
        self._forms = WrittenForms(dictionary, builder.new_scope)
        self.left, self.lines_taken = b"", 0

    def take(self, text: bytes, before: int) -> Iterator[LocatedBatch]:
        """Read whole lines, the first of which has the number `before` + 1, apart from those left."""
        self.left, line = b"", before
        while text:
            block = self._scan(text, line)
            done = yield from self._take(block)
            text, line = block.since(done, len(block.groups)), block.line(done)
        self.lines_taken = line - self.left.count(b"\n") - before

    def _take(self, block: Block) -> Generator[LocatedBatch, None, int]:
        """Read groups, until the dictionary releases terms, which makes the ids stale; returns their number."""
        generation, builder = self._dictionary.generation, self._builder
        last = len(block.groups) - 1
        odd = self._odd_groups(block)
        group = 0
        while group < last and self._dictionary.generation == generation:
            stop = min(int(odd[np.searchsorted(odd, group)]), group + GROUPS_MAX)
            if stop > group and block.key(group) != builder.key:
                builder.close()
                taken = self._admit(block, group, min(stop, group + builder.room))
            else:
                taken = 0
            if taken == 0 and not builder.full:
                yield from self._lines.take(block.lines(group), block.line(group))
                taken = 1
            group += taken
            if builder.full:
                yield from self._lines.flush()
        if group == last and self._dictionary.generation == generation:
            yield from self._leave(block, last)
            group += 1
        return group

    def _admit(self, block: Block, group: int, stop: int) -> int:
        """Make the groups columns, up to the first whose graph is reopened; returns their number."""
        starts, stops = (
            np.ascontiguousarray(block.groups[group:stop, column]) for column in (kernel.KEY_START, kernel.KEY_STOP)
        )
        names = self._builder.close_fresh(block.data, starts, stops)
        if names:
            self._builder.admit(block.piece(group, names, self._builder.arrivals(len(names))))
        return len(names)

    def _leave(self, block: Block, last: int) -> Iterator[LocatedBatch]:
        """Keep the last group for the next block, or read its lines now if it is long."""
        text = block.since(last, last + 1)
        if len(text) <= BLOCK_BYTES:
            self.left = text
        else:
            yield from self._lines.take(block.lines(last), block.line(last))

    def _odd_groups(self, block: Block) -> Ids:
        """The groups to be read by line, in order; the last one is always among them."""
        states = block.groups[:, kernel.STATE]
        odd = states & (kernel.ODD | kernel.CONFLICT) != 0
        if not self._builder.stamps_arrivals:
            odd |= states & kernel.STAMPED == 0
        odd[-1:] = True
        return np.flatnonzero(odd)

    def _scan(self, text: bytes, before: int) -> Block:
        source = kernel.Source(as_bytes(text), len(text), self._predicates, self._predicate_ends)
        lines = int(np.count_nonzero(source.text == NEWLINE))
        table, forms = self._dictionary.table(), self._forms
        forms.refresh()
        table.reserve(3 * lines, len(text))
        forms.strings.reserve(3 * lines, len(text))
        out = kernel.Scan(
            np.empty((3, lines), dtype=np.int64),
            np.empty((lines, 9), dtype=np.int64),
            np.empty(3 * lines, dtype=np.int64),
            np.zeros(5, dtype=np.int64),
        )
        kernel.scan(source, _strings(table.strings), table.numbers, _strings(forms.strings), out)
        table.set_numbers(out.uncertain[: out.counts[kernel.UNCERTAIN]])
        rows, groups = out.rows[:, : out.counts[kernel.ROWS]], out.groups[: out.counts[kernel.GROUPS]]
        block = Block(text, source.text, lines, before, rows, groups)
        if out.counts[kernel.WRITTEN]:
            forms.replace(rows, groups)
        self._read_times(block)
        return block

    def _read_times(self, block: Block) -> None:
        """Read the timestamps in other forms than the usual one."""
        groups = block.groups
        unread = np.flatnonzero(groups[:, kernel.STATE] & kernel.UNREAD)
        doubtful = np.zeros(len(unread), dtype=np.bool_)
        for index, group in enumerate(unread.tolist()):
            stated = parse_token(block.text[groups[group, kernel.STAMP_START] : groups[group, kernel.STAMP_STOP]])
            try:
                groups[group, kernel.TIME] = self._rule.stated(stated)
            except ValueError:
                doubtful[index] = True
        mark_doubtful(groups, unread[doubtful])


def _strings(strings: ByteStrings) -> kernel.Strings:
    return kernel.Strings(strings.arena, strings.entries, strings.slots)
