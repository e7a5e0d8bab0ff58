"""Events of units: JSON-LD documents, lines of NDJSON-LD, and messages.

A unit with named graphs has an event for each of them; of any other the default graph is the event. A time triple about
the name of a graph may stand in the default graph or in a graph that a blank node names.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyoxigraph as ox

from arrays.wanted import check_wanted
from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import TOO_LONG, Blocks, ByteStream, LongPiece, parse_fault
from sparql_gpm.reading.decoded import count_decoded
from sparql_gpm.reading.document import whole_text
from sparql_gpm.reading.document_terms import TermIds, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.json_contexts import with_contexts
from sparql_gpm.reading.json_depth import check_depth
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.raw_text import RawText
from sparql_gpm.reading.strict import parse, parsed_json_ld, parser_of
from sparql_gpm.reading.trig_context import Context

MESSAGE = re.compile(
    rb"^[ \t]*(?:\#[ \t]*@message\b[^\n]*|@message[ \t]*\.[ \t]*\r?|MESSAGE[ \t]*\r?)$", re.MULTILINE | re.VERBOSE
)
"""The line that begins a message, in one of its three spellings."""
VERSION = re.compile(
    rb"""^[ \t]*(?:@version|VERSION)[ \t]*["'][^"'\n]*-messages["'][ \t]*\.?[ \t]*\r?$""", re.MULTILINE
)
"""The line that declares a message log."""
_DIRECTIVE = re.compile(rb"^[ \t]*@?(?:prefix|base|version)\b[^\n]*", re.IGNORECASE | re.MULTILINE)


class UnitBuilder:
    """Builds the events of units."""

    def __init__(self, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._terms, self.builder = terms, builder
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))

    def take(self, quads: Sequence[ox.Quad], line: int, raw: bytes) -> None:
        """Build the events of a unit that begins on this line."""
        graphs: dict[object, list[ox.Quad]] = {}
        for quad in quads:
            graphs.setdefault(quad.graph_name, []).append(quad)
        default = ox.DefaultGraph()
        named = [graph for graph in graphs if graph != default]
        if not named:
            self._event(b"", quads, [], line, raw)
            return
        times: dict[object, list[ox.Quad]] = {}
        left: dict[object, list[ox.Quad]] = {}
        for graph, own in graphs.items():
            for quad in own:
                apart = not isinstance(graph, ox.NamedNode) and quad.predicate in self._time_predicates
                about = quad.subject in graphs or graph == default
                side = times if apart and about and quad.subject != graph else left
                side.setdefault(quad.subject if side is times else graph, []).append(quad)
        if foreign := left.pop(default, []):
            reason = f"{len(foreign)} triples in the default graph beside named graphs that are no timestamp"
            self.builder.report(line, 1, reason, raw, "default graph")
        for graph in dict.fromkeys((*named, *times)):
            if graph in left or graph in times:
                self._event(token_of(graph), left.get(graph, []), times.get(graph, []), line, raw)

    def lose(self, error: Exception, line: int, raw: bytes) -> None:
        """Report a unit that cannot be read."""
        found = parse_fault(error if isinstance(error, SyntaxError | ValueError) else ValueError(str(error)))
        self.builder.report(line + found.line - 1, found.column, found.reason, raw, found.kind, whole_event=True)

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""
        yield from self.builder.flush()
        self._terms.refresh()

    def _event(self, key: bytes, quads: Sequence[ox.Quad], times: Sequence[ox.Quad], line: int, raw: bytes) -> None:
        builder = self.builder
        builder.open(key, line)
        builder.raw.append(raw)
        for quad in (*times, *quads):
            about = bool(key) and token_of(quad.subject) == key and quad.predicate in self._time_predicates
            if about:
                builder.timestamp(to_term(quad.object), line, lambda: 1)
        for quad in quads:
            self._terms.add(quad.subject, quad.predicate, quad.object)
        builder.close()


class JsonLdReader:
    """Reads JSON-LD documents, each a unit; with `lines` each line is one."""

    def __init__(self, terms: TermIds, builder: EventBuilder, options: ReadOptions, lines: bool) -> None:
        self._units = UnitBuilder(terms, builder, options)
        self._builder, self._options, self._lines = builder, options, lines

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one input."""
        if self._lines:
            yield from self._read_lines(Blocks(stream, live, self._options.line_bytes_max))
            return
        text, broken_off = whole_text(stream, self._options.line_bytes_max)
        self._break_off(1, broken_off)
        if isinstance(text, RawText):
            self._builder.report(1, 1, TOO_LONG % ("document", f"{text.length:,}"), text, "too long", whole_event=True)
        elif text.strip():
            self._unit(text, 1)
        yield from self._units.flush()

    def _read_lines(self, blocks: Blocks) -> Iterator[LocatedBatch]:
        line, long = 0, RawText()
        for block in blocks:
            if isinstance(block, LongPiece):
                long.add(block.text)
                if block.last:
                    line += 1
                    reason = TOO_LONG % ("line", f"{long.length:,}")
                    self._builder.report(line, 1, reason, long, "too long", whole_event=True)
                    long = RawText()
                continue
            for text in block.removesuffix(b"\n").split(b"\n"):
                line += 1
                if text.strip():
                    self._unit(text, line)
                if self._builder.full:
                    yield from self._units.flush()
            if blocks.pausing:
                yield from self._units.flush()
        self._break_off(line, blocks.broken_off)
        yield from self._units.flush()

    def _unit(self, text: bytes, line: int) -> None:
        check_wanted()
        self._builder.start_input()
        try:
            check_depth(text)
            parts = with_contexts(text, self._options.contexts)
            if parts[0] is not text:
                count_decoded(sum(map(len, parts)))
            quads = [quad for part in parts for quad in parsed_json_ld(part, is_checked=part is text)]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._units.lose(error, line, text)
            return
        self._units.take(quads, line, text)

    def _break_off(self, line: int, error: BrokenOff | None) -> None:
        self._builder.break_off(line, error)


class MessageReader:
    """Reads message logs in TriG, of which Turtle and N-Triples are parts, or in N-Quads: each message is a unit.

    Blank nodes are local to a message; prefixes go on.
    """

    def __init__(
        self, terms: TermIds, builder: EventBuilder, options: ReadOptions, rdf_format: ox.RdfFormat = ox.RdfFormat.TRIG
    ) -> None:
        self._units = UnitBuilder(terms, builder, options)
        self._builder, self._bytes_max, self._format = builder, options.line_bytes_max, rdf_format
        self._context = Context()

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one log."""
        self._context = Context()
        blocks = Blocks(stream, live, self._bytes_max)
        waiting, line, long = b"", 1, RawText()
        for block in blocks:
            if isinstance(block, LongPiece):
                long.add(block.text)
                if block.last:
                    at = line + waiting.count(b"\n")
                    self._builder.report(at, 1, TOO_LONG % ("line", f"{long.length:,}"), long, "too long")
                    waiting, long = waiting + b"\n", RawText()
                continue
            *complete, waiting = _messages(waiting + block)
            for text in complete:
                self._unit(text, line)
                line += text.count(b"\n")
                if self._builder.full:
                    yield from self._units.flush()
            if len(waiting) > self._bytes_max:
                self._builder.report(
                    line, 1, TOO_LONG % ("message", f"{len(waiting):,}"), waiting, "too long", whole_event=True
                )
                line, waiting = line + waiting.count(b"\n"), b""
            if blocks.pausing:
                yield from self._units.flush()
        if blocks.broken_off is None or blocks.broken_off.complete:
            self._unit(waiting, line)
        self._builder.break_off(line + waiting.count(b"\n"), blocks.broken_off)
        yield from self._units.flush()

    def _unit(self, text: bytes, line: int) -> None:
        check_wanted()
        self._builder.start_input()
        header = self._context.header(text) if self._format == ox.RdfFormat.TRIG else b""
        body = VERSION.sub(b"", MESSAGE.sub(b"", text))
        try:
            quads = list(parse(header + body, self._format))
            if self._format == ox.RdfFormat.TRIG and _DIRECTIVE.search(text):
                parser = parser_of(header + body, self._format)
                deque(parser, maxlen=0)
                self._context.declare(parser.prefixes, parser.base_iri)
        except SyntaxError as error:
            self._units.lose(error, line - header.count(b"\n"), text)
            self._declare(header, text)
            return
        if quads:
            self._units.take(quads, line, text)

    def _declare(self, header: bytes, text: bytes) -> None:
        """The declarations of a message that is malformed come into force as far as they can be read."""
        for found in _DIRECTIVE.finditer(text):
            try:
                parser = parser_of(header + found[0] + b"\n", ox.RdfFormat.TRIG)
                list(parser)
                self._context.declare(parser.prefixes, parser.base_iri)
            except (SyntaxError, ValueError):
                continue


def is_message_log(start: bytes) -> bool:
    """True if the first line of a text says that it is a message log."""
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    return bool(VERSION.fullmatch(first)) or bool(MESSAGE.fullmatch(first))


def _messages(text: bytes) -> list[bytes]:
    """The text cut before each line that begins a message; the last one may go on."""
    places = [0, *(found.start() for found in MESSAGE.finditer(text) if found.start()), len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]
