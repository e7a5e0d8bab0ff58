"""Events of Jelly: frames of rows, each with its length before it, or one frame that is the whole input.

With the logical types GRAPHS and DATASETS a frame is a unit. With flat types frames mean nothing: quads follow the
convention of N-Quads, and triples are one event, as an N-Triples file is. Long inputs are read by kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyoxigraph as ox

from arrays.wanted import check_wanted
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import TOO_LONG, ByteStream
from sparql_gpm.reading.document_terms import TermIds, UnsupportedTerm, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.jelly_frames import Frames
from sparql_gpm.reading.jelly_rows import FLAT_LOGICAL, ROW, TRIPLES, Rows
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.protobuf import BYTES, BadMessage, fields
from sparql_gpm.reading.units import UnitBuilder

if TYPE_CHECKING:
    from sparql_gpm.reading.jelly_columns import JellyColumns

KERNEL_BYTES_MIN = 24 << 20
"""Input from this size on, about a million quads, repays the compilation of the kernels."""
KEPT_KERNEL_BYTES_MIN = 1 << 20
"""Input from this size on repays loading kernels that an earlier process has compiled."""
OWN_SHARE = 8
"""What is known of the length includes inputs of other formats: this part of it must have come as Jelly."""


class JellyReader:
    """Reads the documents of one stream in turn. In reports a line is a frame, from 1, and a column a byte in it."""

    def __init__(self, dictionary: Dictionary, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._dictionary, self._terms, self._builder, self._options = dictionary, terms, builder, options
        self._units = UnitBuilder(terms, builder, options)
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))
        self._rows = Rows()
        self._waiting: list[ox.Quad] = []
        self._waiting_bytes = 0
        self._columns: JellyColumns | None = None
        self._bytes_read = 0

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        self._rows, self._waiting, self._columns = Rows(), [], None
        self._waiting_bytes = 0
        self._builder.start_input()
        try:
            yield from self._read(Frames(stream, self._options.line_bytes_max), live)
        finally:
            self._rows, self._columns = Rows(), None  # arrays go at once, not with the next search for cycles

    def _read(self, frames: Frames, live: bool) -> Iterator[LocatedBatch]:
        number = 0
        while frames.hold():
            check_wanted()
            columns = self._column_reader(frames)
            if columns is not None:
                begin = frames.at
                yield from columns.take(frames.data, frames.size, begin, number, frames.delimited)
                frames.at, number = columns.consumed, number + columns.frames
                self._bytes_read += frames.at - begin
                if live:
                    yield from self.flush()
                if not columns.unusual:
                    continue
            number += 1
            yield from self._alone(frames.next(), number)
            if self._builder.full or live:
                yield from self.flush()
        self._take_waiting()
        self._builder.break_off(number + 1, frames.broken_off)
        self._builder.close()
        yield from self.flush()

    def take_quads(self, quads: list[ox.Quad], number: int, frame: bytes) -> Iterator[LocatedBatch]:
        """Read statements of a frame: all of a unit, or a part if frames mean nothing."""
        if not self._flat_quads:
            self._builder.start_input()
            self._units.take(quads, number, frame)
            return
        for quad in quads:
            self._take(quad, number)
            if self._builder.full:
                yield from self.flush()

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any; meanwhile the dictionary may release terms."""
        yield from self._builder.flush()
        self._terms.refresh()

    def _column_reader(self, frames: Frames) -> JellyColumns | None:
        """The reader by kernels, if the next frame is for it and the whole input is long enough."""
        if self._columns is not None:
            return self._columns if frames.whole else None
        if not frames.whole or not self._kernels_pay(frames.size - frames.at):
            return None
        options = self._rows.options or self._rows.first_options(frames.frame)
        if options is None or (options.physical == TRIPLES and options.logical % 10 in FLAT_LOGICAL):
            return None
        from sparql_gpm.reading.jelly_columns import JellyColumns

        self._columns = JellyColumns(self._dictionary, self._builder, self._options, self, self._rows)
        return self._columns

    def _kernels_pay(self, held: int) -> bool:
        if self._options.compiled is not None:
            return self._options.compiled
        own = self._bytes_read + held
        size = max(own, self._options.bytes_expected)

        def long(least: int) -> bool:
            return size >= least and own >= least // OWN_SHARE

        return long(KERNEL_BYTES_MIN) or (long(KEPT_KERNEL_BYTES_MIN) and _kernels_are_kept())

    def _alone(self, frame: bytes | int | None, number: int) -> Iterator[LocatedBatch]:
        """Read one frame; instead of one that is too long there is its length."""
        if isinstance(frame, int):
            reason = TOO_LONG % ("frame", f"{frame:,}")
            self._builder.report(number, 1, reason, b"", "too long", whole_event=True)
        elif frame is not None:
            self._bytes_read += len(frame)
            yield from self._frame(frame, number)

    def _frame(self, frame: bytes, number: int) -> Iterator[LocatedBatch]:
        quads: list[ox.Quad] = []
        at = 0
        try:
            for field, wire, at, stop in fields(frame, 0, len(frame)):
                if field != ROW or wire != BYTES:
                    continue
                quad = self._quad(frame, at, stop, number)
                if quad is None:
                    continue
                if self._flat_quads:
                    self._take(quad, number)
                    if self._builder.full:
                        yield from self.flush()
                else:
                    quads.append(quad)
        except (BadMessage, UnicodeDecodeError) as error:
            reason = f"frame {number} cannot be read at byte {at}: {error}"
            self._builder.report(number, at + 1, reason, frame, "syntax", whole_event=True)
            if self._flat_quads and self._builder.key is not None:
                self._builder.mark_malformed(number, at + 1, reason, "syntax")
            return
        options = self._rows.options
        if options is not None and options.logical % 10 in FLAT_LOGICAL:
            if options.physical == TRIPLES:
                self._wait(quads, len(frame))
        elif quads:
            self._builder.start_input()
            self._units.take(quads, number, frame)

    def _wait(self, quads: list[ox.Quad], size: int) -> None:
        """Keep the statements of a frame of `size` bytes for the event that all are, unless it is too long."""
        self._waiting_bytes += size
        if self._waiting_bytes > self._options.line_bytes_max:
            self._waiting = []
        else:
            self._waiting += quads

    def _take_waiting(self) -> None:
        """Build the event of all frames, if they are one."""
        if self._waiting_bytes > self._options.line_bytes_max:
            reason = TOO_LONG % ("document", f"{self._waiting_bytes:,}")
            self._builder.report(1, 1, reason, b"", "too long", whole_event=True)
        elif self._waiting:
            self._units.take(self._waiting, 1, b"")

    @property
    def _flat_quads(self) -> bool:
        """True if quads follow the convention, whatever their frame."""
        options = self._rows.options
        return options is not None and options.logical % 10 in FLAT_LOGICAL and options.physical != TRIPLES

    def _quad(self, frame: bytes, at: int, stop: int, number: int) -> ox.Quad | None:
        """The statement of a row; one that is no RDF is reported, and the frame goes on."""
        try:
            return self._rows.take(frame, at, stop)
        except (BadMessage, UnicodeDecodeError):
            raise
        except ValueError as error:
            kind = "term" if isinstance(error, UnsupportedTerm) else "syntax"
            self._builder.report(number, at + 1, str(error), frame[at:stop], kind)
            return None

    def _take(self, quad: ox.Quad, number: int) -> None:
        """A quad by the convention for streams."""
        subject, predicate, target, graph = quad
        in_default = isinstance(graph, ox.DefaultGraph)
        states_time = predicate in self._time_predicates and (in_default or subject == graph)
        text = f"{quad} .".encode()
        if in_default and not states_time:
            reason = "a triple in the default graph that is no timestamp"
            self._builder.report(number, 1, reason, text, "default graph")
            return
        key = token_of(subject if in_default else graph)
        if key != self._builder.key:
            self._builder.open(key, number)
        self._builder.raw.append(text)
        if states_time:
            self._builder.timestamp(to_term(target), number, lambda: 1)
        if not in_default:
            self._terms.add(subject, predicate, target)


@cache
def _kernels_are_kept() -> bool:
    """True if the kernels are compiled already; imports numba."""
    from arrays.jit import is_kept
    from sparql_gpm.reading.jelly_kernel import scan

    return is_kept(scan)
