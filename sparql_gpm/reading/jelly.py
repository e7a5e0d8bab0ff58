"""Events of Jelly: frames of rows, each with its length before it, or one frame that is the whole input.

With the logical types GRAPHS and DATASETS a frame is a unit. With flat types frames mean nothing: quads follow the
convention of N-Quads, and triples are one event, as an N-Triples file is.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import BLOCK_BYTES, TOO_LONG, ByteStream
from sparql_gpm.reading.document_terms import TermIds, UnsupportedTerm, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.jelly_rows import FLAT_LOGICAL, TRIPLES, Rows
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.protobuf import BYTES, BadMessage, fields, varint
from sparql_gpm.reading.units import UnitBuilder

_ROWS = 1
_HINT_BYTES = 3
_VARINT_BYTES = 5
_FIRST_FIELD = 0x0A
"""The tag of the first field of a frame, and of the first field of a row."""


class JellyReader:
    """Reads the documents of one stream in turn. In reports a line is a frame, from 1, and a column a byte in it."""

    def __init__(self, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._terms, self._builder, self._options = terms, builder, options
        self._units = UnitBuilder(terms, builder, options)
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))
        self._rows = Rows()
        self._waiting: list[ox.Quad] = []

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        self._rows, self._waiting, number = Rows(), [], 0
        self._builder.start_input()
        frames = _Frames(stream, self._options.line_bytes_max)
        for number, frame in enumerate(frames, 1):
            if isinstance(frame, int):
                reason = TOO_LONG % ("frame", f"{frame:,}")
                self._builder.report(number, 1, reason, b"", "too long", whole_event=True)
                continue
            yield from self._frame(frame, number)
            if self._builder.full or live:
                yield from self._flush()
        if self._waiting:
            self._units.take(self._waiting, 1, b"")
        self._builder.break_off(number + 1, frames.broken_off)
        self._builder.close()
        yield from self._flush()

    def _frame(self, frame: bytes, number: int) -> Iterator[LocatedBatch]:
        quads: list[ox.Quad] = []
        at = 0
        try:
            for field, wire, at, stop in fields(frame, 0, len(frame)):
                if field != _ROWS or wire != BYTES:
                    continue
                quad = self._quad(frame, at, stop, number)
                if quad is None:
                    continue
                if self._flat_quads:
                    self._take(quad, number)
                    if self._builder.full:
                        yield from self._flush()
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
            self._waiting += quads
        elif quads:
            self._builder.start_input()
            self._units.take(quads, number, frame)

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
            kind = "triple term" if isinstance(error, UnsupportedTerm) else "syntax"
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

    def _flush(self) -> Iterator[LocatedBatch]:
        yield from self._builder.flush()
        self._terms.refresh()


class _Frames:
    """The frames of a stream; the length of one that is too long in its place.

    broken_off  the error that ended the stream inside a frame, if one did
    """

    def __init__(self, stream: ByteStream, bytes_max: int) -> None:
        self._stream, self._bytes_max = stream, bytes_max
        self._held, self._at = b"", 0
        self._ended = False
        self.broken_off: BrokenOff | None = None

    def __iter__(self) -> Iterator[bytes | int]:
        self._fill(_HINT_BYTES)
        if self._held and not _is_delimited(self._held):
            too_long = self._fill(self._bytes_max + 1)
            yield len(self._held) if too_long else self._held
            return
        while self._fill(1):
            self._fill(_VARINT_BYTES)
            try:
                length, begin = varint(self._held, self._at, len(self._held))
            except BadMessage as error:
                self._break(f"the length of a frame cannot be read: {error}")
                return
            self._at = begin
            if length > self._bytes_max:
                yield length
                self._skip(length)
                continue
            if not self._fill(length):
                self._break("a frame ends too early")
                return
            frame = self._held[self._at : self._at + length]
            self._at += length
            yield frame

    def _fill(self, size: int) -> bool:
        """Hold so many bytes that are not yet taken; False if there are fewer."""
        length = len(self._held) - self._at
        if length >= size:
            return True
        parts = [self._held[self._at :]]
        while length < size and not self._ended:
            try:
                part = self._stream.read(max(BLOCK_BYTES, size - length))
            except BrokenOff as error:
                self.broken_off, part = error, b""
            self._ended = not part
            parts.append(part)
            length += len(part)
        self._held, self._at = b"".join(parts), 0
        return length >= size

    def _skip(self, size: int) -> None:
        """Pass over so many bytes."""
        while size > len(self._held) - self._at:
            size -= len(self._held) - self._at
            self._held, self._at = b"", 0
            if not self._fill(1):
                self._break("a frame ends too early")
                return
        self._at += size

    def _break(self, reason: str) -> None:
        self.broken_off = self.broken_off or BrokenOff(reason)


def _is_delimited(start: bytes) -> bool:
    """True if frames have their lengths before them, by the first bytes, as the format's specification says."""
    first, second, third = start[:_HINT_BYTES].ljust(_HINT_BYTES, b"\0")
    return first != _FIRST_FIELD or (second == _FIRST_FIELD and third != _FIRST_FIELD)
