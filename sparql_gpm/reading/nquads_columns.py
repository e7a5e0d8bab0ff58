"""Events of N-Quads, block by block: the usual lines by kernels, the others by the line reader.

A block is scanned into groups of consecutive lines about one graph. A group becomes columns if it is one complete event
of usual lines; every other group is read line by line, so that events and reports do not depend on the reader.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.graph_names import GraphNames
from sparql_gpm.interning.term_table import ByteStrings
from sparql_gpm.reading import nquads_kernel as kernel
from sparql_gpm.reading.blocks import BLOCK_BYTES
from sparql_gpm.reading.document_terms import parse_token
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.nquads_forms import WrittenForms, mark_doubtful
from sparql_gpm.reading.nquads_scan import Scanned, Scanner
from sparql_gpm.reading.predicate_filter import PredicateFilter

GROUPS_MAX = 1024
"""Groups that become columns at once."""


class LineReader(Protocol):
    """The reader of other lines, with the same builder."""

    def take(self, lines: list[bytes], before: int) -> Iterator[LocatedBatch]:
        """Read lines, the first of which has the number `before` + 1."""

    def places(self, numbers: Ids) -> Ids:
        """The lines of the input that lines with these numbers are."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""


@dataclass(frozen=True, slots=True)
class Block:
    """Scanned lines with ids.

    before      the number of lines before them
    rows        as in Scan, of ids of terms, which are valid in this generation of the dictionary
    """

    scanned: Scanned
    before: int
    rows: Ids
    generation: int

    def piece(self, group: int, names: GraphNames, times: Ids | None) -> tuple[EventBatch, Ids, int]:
        """The groups from one on as events with these names, at these times or those stated; lines, and `emptied`."""
        stop, groups = group + len(names), self.scanned.groups
        offsets = groups[group : stop + 1, kernel.ROW]
        subjects, predicates, objects = self.rows[:, offsets[0] : offsets[-1]]
        stated = np.ascontiguousarray(groups[group:stop, kernel.TIME]) if times is None else times
        streams = np.zeros_like(stated)
        events = EventBatch(stated, streams, names, offsets - offsets[0], subjects, predicates, objects)
        left_out = groups[group:stop, kernel.STATE] & kernel.PARTIAL != 0
        emptied = int(np.count_nonzero(left_out & (np.diff(offsets) == 0)))
        return events, groups[group:stop, kernel.LINE] + (self.before + 1), emptied


class ColumnReader:
    """Reads the blocks of one stream in turn.

    scanner     for their texts, also ahead of reading them
    left        the last lines, of an event that may continue in the next block; they are not read yet
    """

    def __init__(
        self,
        dictionary: Dictionary,
        builder: EventBuilder,
        time_predicates: frozenset[bytes],
        rule: TimeRule,
        filter_: PredicateFilter | None,
        lines: LineReader,
    ) -> None:
        self._rule, self._filter = rule, filter_
        self._dictionary, self._builder, self._lines = dictionary, builder, lines
        self._forms = WrittenForms(dictionary, builder.new_scope)
        read = None if filter_ is None else [f"<{iri}>".encode() for iri in sorted(filter_.predicates)]
        self.scanner = Scanner(sorted(time_predicates), read)
        self.left = b""

    def take(self, scanned: Scanned, before: int) -> Generator[LocatedBatch, None, int]:
        """Read the lines left, the first of which has the number `before` + 1, and those scanned, but not the last.

        Gives the number of lines before those left now.
        """
        line = yield from self._take_scanned(scanned, before)
        self.scanner.reuse(scanned)
        return line

    def _take_scanned(self, scanned: Scanned, before: int) -> Generator[LocatedBatch, None, int]:
        head, left = scanned.head if self.left else 0, self.left
        joined = left + scanned.since(0, head)
        begin = before + left.count(b"\n")
        self.left = b""
        if head == len(scanned):
            return (yield from self._leave(joined, before))
        block = self._block(scanned, begin)
        self._read_times(scanned)
        if head:
            yield from self._take_joined(joined, before, bool(scanned.groups[head - 1, kernel.STATE] & kernel.ODD))
        last = len(scanned) - 1
        yield from self._take_all(block, head, last)
        return (yield from self._leave(scanned.since(last, last + 1), begin + scanned.line(last)))

    def _take_joined(self, text: bytes, before: int, unsure: bool) -> Iterator[LocatedBatch]:
        """Read what stands about the border of two blocks; `unsure`: its last event may go on after other lines."""
        scanned = self.scanner.scan(text)
        block = self._block(scanned, before)
        self._read_times(scanned)
        if unsure:
            scanned.groups[-2, kernel.STATE] |= kernel.ODD
        yield from self._take_all(block, 0, len(scanned))

    def _take_all(self, block: Block, group: int, stop: int) -> Iterator[LocatedBatch]:
        """Read groups, with new ids whenever the dictionary has released terms."""
        while group < stop:
            if block.generation != self._dictionary.generation:
                scanned = block.scanned
                rest = scanned.rows[:, scanned.groups[group, kernel.ROW] :]
                block = self._block(scanned, block.before, np.unique(rest))
            group = yield from self._take(block, group, stop)

    def _take(self, block: Block, group: int, stop: int) -> Generator[LocatedBatch, None, int]:
        """Read groups, until the dictionary releases terms; gives the first that is not read."""
        builder, scanned = self._builder, block.scanned
        odd = self._odd_groups(scanned)
        while group < stop and self._dictionary.generation == block.generation:
            end = min(int(odd[np.searchsorted(odd, group)]), group + GROUPS_MAX, stop)
            if end > group and scanned.key(group) != builder.key:
                builder.close()
                taken = self._admit(block, group, min(end, group + builder.room))
            else:
                taken = 0
            if taken == 0 and not builder.full:
                yield from self._lines.take(scanned.lines(group), block.before + scanned.line(group))
                taken = 1
            group += taken
            if builder.full:
                yield from self._lines.flush()
        return group

    def _admit(self, block: Block, group: int, stop: int) -> int:
        """Make the groups columns, up to the first whose graph is reopened; returns their number."""
        starts, stops = (
            np.ascontiguousarray(block.scanned.groups[group:stop, column])
            for column in (kernel.KEY_START, kernel.KEY_STOP)
        )
        names = self._builder.close_fresh(block.scanned.data, starts, stops)
        if names:
            events, lines, emptied = block.piece(group, names, self._builder.arrivals(len(names)))
            self._builder.admit(LocatedBatch(events, self._lines.places(lines), emptied))
        return len(names)

    def _leave(self, text: bytes, before: int) -> Generator[LocatedBatch, None, int]:
        """Keep the lines of an event for the next block, or read them now if they are long."""
        if len(text) <= BLOCK_BYTES:
            self.left = text
            return before
        lines = text.removesuffix(b"\n").split(b"\n")
        yield from self._lines.take(lines, before)
        return before + len(lines)

    def _odd_groups(self, scanned: Scanned) -> Ids:
        """The groups to be read by line, in order, and the end."""
        states = scanned.groups[:, kernel.STATE]
        odd = states & (kernel.ODD | kernel.CONFLICT) != 0
        if not self._builder.stamps_arrivals:
            odd |= states & kernel.STAMPED == 0
        odd[-1:] = True
        return np.flatnonzero(odd)

    def _block(self, scanned: Scanned, before: int, wanted: Ids | None = None) -> Block:
        """The block with ids for these tokens, or all; groups with malformed tokens become odd."""
        if self._filter is not None:
            self._filter.leave_out(scanned.left_out)
        table, forms, tokens = self._dictionary.table(), self._forms, len(scanned.tokens)
        forms.refresh()
        room = tokens, scanned.size
        forms.strings.reserve(*room)
        wanted = np.arange(1, tokens) if wanted is None else wanted
        ids, uncertain = np.zeros(tokens, dtype=np.int64), np.empty(tokens, dtype=np.int64)
        with table.lock:
            table.reserve(*room)
            sets = _strings(table.strings), table.numbers, _strings(forms.strings)
            count = kernel.merge(scanned.data, scanned.tokens, wanted, *sets, ids, uncertain)
            table.set_numbers(uncertain[:count])
        rows = ids[scanned.rows]
        if len(ids) and ids.min() < 0:
            forms.replace(rows, scanned.groups[:-1])
        return Block(scanned, before, rows, self._dictionary.generation)

    def _read_times(self, scanned: Scanned) -> None:
        """Read the timestamps in other forms than the usual one."""
        groups = scanned.groups
        unread = np.flatnonzero(groups[:, kernel.STATE] & kernel.UNREAD)
        doubtful = np.zeros(len(unread), dtype=np.bool_)
        for index, group in enumerate(unread.tolist()):
            stated = parse_token(scanned.text(groups[group, kernel.STAMP_START], groups[group, kernel.STAMP_STOP]))
            try:
                groups[group, kernel.TIME] = self._rule.stated(stated)
            except ValueError:
                doubtful[index] = True
        mark_doubtful(groups, unread[doubtful])


def _strings(strings: ByteStrings) -> kernel.Strings:
    return kernel.Strings(strings.arena, strings.entries, strings.slots)
