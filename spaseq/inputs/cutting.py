"""Long N-Quads and TriG inputs, cut into texts of whole events.

A cut lies where the graph changes. Only the statements near a cut are parsed; whoever reads a text reports what is
malformed in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyoxigraph as ox

from sparql_gpm.reading.blocks import BLOCK_BYTES, TOO_LONG, Blocks, ByteStream, LongPiece
from sparql_gpm.reading.strict import parse, parser_of
from sparql_gpm.reading.trig_context import declares
from sparql_gpm.reading.trig_units import LongUnit, Unit, Units
from spaseq.inputs.texts import InputText

_USUAL = re.compile(rb'<[^<>"\s]+> <[^<>"\s]+> (?:<[^<>"\s]+>|"[^"\\]*"(?:\^\^<[^<>"\s]+>)?) (<[^<>"\s]+>) \.\s*')
"""The usual line with a graph; any other is parsed."""


def bounded(blocks: Iterable[bytes | LongPiece]) -> Iterator[bytes]:
    """The blocks, with a report, which is no RDF, in place of each line that is too long."""
    length = 0
    for block in blocks:
        if isinstance(block, bytes):
            yield block
            continue
        length += len(block.text)
        if block.last:
            yield too_long("line", length)
            length = 0


def too_long(what: str, length: int) -> bytes:
    """A report in place of a text that is too long: one line, one statement of TriG, and no RDF."""
    return f"<{TOO_LONG % (what, f'{length:,}')}> .\n".encode()


def cut_nquads(blocks: Iterable[bytes | LongPiece], size: int) -> Iterator[InputText]:
    """N-Quads, in blocks of whole lines, as texts of about `size` bytes."""
    text, line = b"", 0
    for block in bounded(blocks):
        text += block
        while len(text) >= size:
            cut = _first_start(text, size) or last_start(text)
            if not cut:
                break
            yield InputText(text[:cut], line=line)
            line += text.count(b"\n", 0, cut)
            text = text[cut:]
    if text:
        yield InputText(text, line=line)


def cut_lines(blocks: Iterable[bytes | LongPiece], size: int) -> Iterator[InputText]:
    """Lines, each of which is whole, in blocks of whole lines, as texts of about `size` bytes."""
    text, line = b"", 0
    for block in bounded(blocks):
        text += block
        if len(text) >= size:
            yield InputText(text, line=line)
            line += text.count(b"\n")
            text = b""
    if text:
        yield InputText(text, line=line)


def last_start(text: bytes) -> int:
    """The byte at which the last event of a text begins; 0 if the text has only one event."""
    graph: bytes | None = None
    start = end = len(text)
    while end > 0:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        found = _graph_of(text[begin:end])
        if graph is not None and found is not None and found != graph:
            return start
        if found is not None:
            graph, start = found, begin
        end = begin
    return 0


def ends_apart(before: bytes, after: bytes) -> bool:
    """True if N-Quads certainly end with another graph than others begin with."""
    last = _graph_of(before[before.rstrip().rfind(b"\n") + 1 :])
    first = _graph_of(after.lstrip().split(b"\n", 1)[0])
    return last is not None and first is not None and last != first


def next_start(stream: ByteStream) -> int:
    """Bytes from a place inside a line to the next event of an N-Quads input, or to its end; reads block by block."""
    text = b""
    while block := stream.read(BLOCK_BYTES >> 4):
        text += block
        begin = text.find(b"\n") + 1
        if begin and (found := _first_start(text[begin:], 0)):
            return begin + found
    return len(text)


def cut_trig(blocks: Blocks, size: int) -> Iterator[InputText]:
    """TriG as texts of about `size` bytes, each with the declarations that it needs in front."""
    declared, before = _Declared(), _Declared()
    taken: list[Unit] = []
    length = 0
    last: tuple[Unit, _Declared] | None = None
    for unit in Units(blocks):
        if unit is None:
            continue
        if isinstance(unit, LongUnit):
            unit = Unit(too_long("statement or graph block", unit.raw.length), unit.line, unit.column)
        if declares(unit.text):
            declared = declared.with_directive(unit.text)
        else:
            if length >= size and last is not None and _differ(last, (unit, declared)):
                yield before.text(taken)
                taken, length, before = [], 0, declared
            last = unit, declared
        taken.append(unit)
        length += len(unit.text)
    if taken:
        yield before.text(taken)


@dataclass(frozen=True)
class _Declared:
    """The base and the prefixes in force: the first `count` of those that were declared, of which others may follow."""

    base: str = ""
    prefixes: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0

    @cached_property
    def header(self) -> bytes:
        """The declarations on one line."""
        prefixes = dict(self.prefixes[: self.count])
        return (self._base + "".join([f"@prefix {n}: <{iri}> . " for n, iri in prefixes.items()])).encode()

    @property
    def _base(self) -> str:
        return f"@base <{self.base}> . " if self.base else ""

    def with_directive(self, directive: bytes) -> _Declared:
        """The declarations after one more directive; a malformed one declares nothing."""
        try:
            parser = parser_of(self._base.encode() + directive, ox.RdfFormat.TRIG)
            list(parser)
        except (SyntaxError, ValueError):
            return self
        self.prefixes.extend(parser.prefixes.items())
        return _Declared(parser.base_iri or "", self.prefixes, len(self.prefixes))

    def text(self, units: list[Unit]) -> InputText:
        """The declarations and then the units, each on its line; the first unit of a line also in its column."""
        first = units[0].line
        parts, line = [self.header + b"\n" if self.header else b""], first
        for unit in units:
            if unit is not units[0]:
                parts.append(b"\n" * (unit.line - line) + b" " * (unit.column - 1) if unit.line > line else b" ")
            parts.append(unit.text)
            line = unit.line + unit.text.count(b"\n")
        return InputText(b"".join(parts) + b"\n", line=first - 2 if self.header else first - 1)


def _first_start(text: bytes, at: int) -> int:
    """The byte at which the first event after the line at byte `at` begins; 0 if the text does not show it."""
    position = text.rfind(b"\n", 0, at) + 1
    graph: bytes | None = None
    while (end := text.find(b"\n", position) + 1) > 0:
        found = _graph_of(text[position:end])
        if graph is not None and found is not None and found != graph:
            return position
        graph, position = graph or found, end
    return 0


def _graph_of(line: bytes) -> bytes | None:
    """The graph that a line of N-Quads is about: its own, or in the default graph its subject; None if it has none."""
    if usual := _USUAL.fullmatch(line):
        return usual[1]
    return next(iter(_graphs(line, ox.RdfFormat.N_QUADS)), None)


def _differ(before: tuple[Unit, _Declared], after: tuple[Unit, _Declared]) -> bool:
    """True if the first certainly ends with another graph than the second begins with."""
    last, first = (_graphs(declared.header + unit.text, ox.RdfFormat.TRIG) for unit, declared in (before, after))
    return bool(last and first and last[-1] != first[0])


def _graphs(text: bytes, rdf_format: ox.RdfFormat) -> list[bytes]:
    """The graph that each quad is about, in order; none if the text is malformed."""
    try:
        quads = list(parse(text, rdf_format))
    except (SyntaxError, ValueError):
        return []
    return [str(q.subject if isinstance(q.graph_name, ox.DefaultGraph) else q.graph_name).encode() for q in quads]
