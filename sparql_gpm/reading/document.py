"""Events of Turtle and N-Triples: each document is one event, without a graph IRI."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyoxigraph as ox

from arrays.wanted import check_wanted
from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import BLOCK_BYTES, TOO_LONG, ByteStream, parse_fault
from sparql_gpm.reading.document_terms import TermIds, quads_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.raw_text import RawText

_LINE_END = re.compile(rb"\r\n|\r|\n")
_KEY = b""
"""The key of the event of a document: it has no graph."""


class DocumentReader:
    """Reads the documents of one stream in turn.

    The one value of a time predicate gives the time, whatever its subject. A syntax error discards the event in
    Turtle, only its line in N-Triples.
    """

    def __init__(self, terms: TermIds, builder: EventBuilder, options: ReadOptions, rdf_format: ox.RdfFormat) -> None:
        self._terms, self._builder, self._format = terms, builder, rdf_format
        self._bytes_max = options.line_bytes_max

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The event of one document, complete at its end."""
        builder = self._builder
        builder.start_input()
        text, broken_off = whole_text(stream, self._bytes_max)
        if isinstance(text, RawText):
            builder.break_off(1, broken_off)
            builder.report(1, 1, TOO_LONG % ("document", f"{text.length:,}"), text, "too long")
            return
        if broken_off and not text:  # it breaks off behind its last byte, which was read before
            builder.break_off(1, broken_off)
            return
        builder.open(_KEY, 1)
        builder.raw.append(text)
        builder.break_off(1, broken_off)
        try:
            self._take(quads_of(text, self._format))
        except SyntaxError as error:
            if self._format == ox.RdfFormat.N_TRIPLES:
                self._take(self._lines(text))
            else:
                found = parse_fault(error)
                builder.mark_malformed(found.line, found.column, found.reason, found.kind)
        builder.close()
        yield from builder.flush()
        self._terms.refresh()

    def _lines(self, text: bytes) -> list[ox.Quad]:
        """The triples of the well-formed lines; the others are reported."""
        quads: list[ox.Quad] = []
        for number, line in enumerate(_lines_of(text), 1):
            check_wanted()
            try:
                quads += quads_of(line, self._format)
            except SyntaxError as error:
                found = parse_fault(error)
                self._builder.report(number, found.column, found.reason, line, found.kind)
        return quads

    def _take(self, quads: list[ox.Quad]) -> None:
        for subject, predicate, object_, _ in quads:
            self._terms.add(subject, predicate, object_)


def _lines_of(text: bytes) -> Iterator[bytes]:
    """The lines of a text without their ends, one after the other: all together may take many times its memory."""
    begin = 0
    for end in _LINE_END.finditer(text):
        yield text[begin : end.start()]
        begin = end.end()
    if begin < len(text):
        yield text[begin:]


def whole_text(stream: ByteStream, bytes_max: int) -> tuple[bytes | RawText, BrokenOff | None]:
    """The bytes of the document (the raw text if it is too long), and the error if it is truncated."""
    pieces: list[bytes] = []
    length, too_long = 0, RawText()
    broken_off: BrokenOff | None = None
    try:
        while block := stream.read(BLOCK_BYTES):
            pieces.append(block)
            length += len(block)
            if length > bytes_max:
                too_long.add(b"".join(pieces))
                pieces = []
    except BrokenOff as error:
        broken_off = error
    if length > bytes_max:
        too_long.add(b"".join(pieces))
        return too_long, broken_off
    return b"".join(pieces).removeprefix(b"\xef\xbb\xbf"), broken_off
