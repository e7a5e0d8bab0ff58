"""A long RDF text cut into documents of whole events: what goes into one row of a DataFrame.

An event is never split: a document ends where the graph that is spoken of changes. Cutting looks at the few
statements around the place of a cut only; whether a text is valid is found out by whoever reads the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyoxigraph as ox

from sparql_gpm.reading.blocks import BLOCK_BYTES, Blocks, ByteStream
from sparql_gpm.reading.trig_units import Unit, Units

DOCUMENT_BYTES = 4 << 20
"""A document is about so long, and longer only where a single event is."""

_USUAL = re.compile(rb'<[^<>"\s]+> <[^<>"\s]+> (?:<[^<>"\s]+>|"[^"\\]*"(?:\^\^<[^<>"\s]+>)?) (<[^<>"\s]+>) \.\s*')
"""The usual line with a graph; any other is parsed."""
_DIRECTIVE = re.compile(rb"@?(?:prefix|base)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """Whole events of one input.

    line    lines of the input before the text; -1 where declarations stand in front of its first line
    """

    text: bytes
    line: int


def documents(stream: ByteStream, rdf_format: str, size: int = DOCUMENT_BYTES) -> Iterator[Document]:
    """The whole of an input. One that breaks off says so in its last document.

    Turtle and N-Triples stay in one piece, however long: they are one event.
    """
    blocks = Blocks(stream, live=False)
    line = 0
    for document in _CUT_BY[rdf_format](blocks, size):
        line = document.line + document.text.count(b"\n")
        yield document
    if blocks.broken_off:  # no RDF: whoever reads it reports it
        yield Document(f"the input breaks off: {blocks.broken_off}\n".encode(), line + 1)


def nquads_documents(blocks: Iterable[bytes], size: int, line: int = 0) -> Iterator[Document]:
    """N-Quads, in blocks of whole lines; the first of them is line number `line`, from 0."""
    text = b""
    for block in blocks:
        text += block
        while len(text) >= size:
            cut = first_start(text, size) or last_start(text)
            if not cut:
                break
            yield Document(text[:cut], line)
            line += text.count(b"\n", 0, cut)
            text = text[cut:]
    if text:
        yield Document(text, line)


def graph_of(line: bytes) -> bytes | None:
    """The graph that a line of N-Quads speaks of: its own, or its subject in the default graph; None: it has none."""
    if usual := _USUAL.fullmatch(line):
        return usual[1]
    if not line.strip() or line.lstrip().startswith(b"#"):
        return None
    try:
        for quad in ox.parse(line, ox.RdfFormat.N_QUADS):
            return str(quad.subject if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name).encode()
    except (SyntaxError, ValueError):
        pass
    return None


def first_start(text: bytes, at: int) -> int:
    """Where the first event that begins after the line at byte `at` begins; 0 if none is known to in this text."""
    position = text.rfind(b"\n", 0, at) + 1
    graph: bytes | None = None
    while (end := text.find(b"\n", position) + 1) > 0:
        found = graph_of(text[position:end])
        if graph is not None and found is not None and found != graph:
            return position
        graph, position = graph or found, end
    return 0


def last_start(text: bytes) -> int:
    """Where the last event of a text begins; 0 if it has only one."""
    graph: bytes | None = None
    start = end = len(text)
    while end > 0:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        found = graph_of(text[begin:end])
        if graph is not None and found is not None and found != graph:
            return start
        if found is not None:
            graph, start = found, begin
        end = begin
    return 0


def event_start(stream: ByteStream, line_begun: bool) -> int:
    """How many bytes from here the next event of an N-Quads input begins, or the input ends.

    line_begun  the stream may stand inside a line, whose rest is passed over

    Reads a block at a time, no further than it must.
    """
    text = b""
    while block := stream.read(BLOCK_BYTES >> 4):
        text += block
        begin = text.find(b"\n") + 1 if line_begun else 0
        if begin or not line_begun:
            found = first_start(text[begin:], 0)
            if found:
                return begin + found
    return len(text)


def trig_documents(blocks: Blocks, size: int) -> Iterator[Document]:
    """TriG: every document declares what its text uses; it ends before a statement about another graph."""
    declared, before = _Declared(), _Declared()
    taken: list[Unit] = []
    length = 0
    last: tuple[Unit, _Declared] | None = None  # with what was declared for it
    for unit in Units(blocks):
        if unit is None:
            continue
        if _DIRECTIVE.match(unit.text):
            declared = declared.with_unit(unit.text)
        else:
            if length >= size and last is not None and _differ(last, (unit, declared)):
                yield before.document(taken)
                taken, length, before = [], 0, declared
            last = unit, declared
        taken.append(unit)
        length += len(unit.text)
    if taken:
        yield before.document(taken)


@dataclass(frozen=True, slots=True)
class _Declared:
    """The base and the prefixes in force, as declarations on one line."""

    header: bytes = b""

    def with_unit(self, directive: bytes) -> _Declared:
        """After one more directive; a malformed one declares nothing."""
        parser = ox.parse(self.header + directive, ox.RdfFormat.TRIG)
        try:
            list(parser)
        except (SyntaxError, ValueError):
            return self
        base = [f"@base <{parser.base_iri}> . "] if parser.base_iri else []
        return _Declared("".join(base + [f"@prefix {n}: <{iri}> . " for n, iri in parser.prefixes.items()]).encode())

    def document(self, units: list[Unit]) -> Document:
        """The units where they stood: on their lines, and what follows a line's end in its column."""
        first = units[0].line
        parts, line = [self.header + b"\n" if self.header else b""], first
        for unit in units:
            if unit is not units[0]:
                parts.append(b"\n" * (unit.line - line) + b" " * (unit.column - 1) if unit.line > line else b" ")
            parts.append(unit.text)
            line = unit.line + unit.text.count(b"\n")
        return Document(b"".join(parts) + b"\n", first - 2 if self.header else first - 1)


def _differ(before: tuple[Unit, _Declared], after: tuple[Unit, _Declared]) -> bool:
    """Whether the one certainly ends with another graph than the other begins with."""
    last, first = _graphs_of(*before)[-1:], _graphs_of(*after)[:1]
    return bool(first and last and first != last)


def _graphs_of(unit: Unit, declared: _Declared) -> list[str]:
    """The graphs that a unit speaks of, in order; of none, if it is malformed or a directive."""
    try:
        quads = list(ox.parse(declared.header + unit.text, ox.RdfFormat.TRIG))
    except (SyntaxError, ValueError):
        return []
    return [str(quad.subject if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name) for quad in quads]


def _uncut(blocks: Blocks, size: int) -> Iterator[Document]:
    """All of it; of one that breaks off nothing, for half an event is another one."""
    text = b"".join(blocks)
    if not blocks.broken_off:
        yield Document(text, 0)


_CUT_BY: Mapping[str, Callable[[Blocks, int], Iterator[Document]]] = {
    "nquads": nquads_documents,
    "trig": trig_documents,
    "turtle": _uncut,
    "ntriples": _uncut,
}
