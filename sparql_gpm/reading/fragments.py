"""Parts of events, as documents have them whose quads are not grouped by graph.

A fragment is what stands together about one graph: lines of N-Quads, of which those that state its time in the default
graph come first. Lines of N-Quads stay as they are written; TriG is written as N-Quads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import pyoxigraph as ox

from sparql_gpm.reading.blocks import TOO_LONG, Blocks, LongPiece, parse_fault
from sparql_gpm.reading.document_terms import quads_of, token_of
from sparql_gpm.reading.raw_text import RawText
from sparql_gpm.reading.trig_context import Context, declares, label_of, parsed_unit
from sparql_gpm.reading.trig_units import LongUnit, Unit, Units

_IRI = rb'<[^<>"\s\\]+>'
_NODE = rb"%b|_:[A-Za-z0-9]+" % _IRI
_LITERAL = rb'"[^"\\]*"(?:@[A-Za-z0-9-]+|\^\^%b)?' % _IRI
_USUAL = re.compile(rb"(%b) (%b) (?:%b|%b)(?: (%b))? \." % (_NODE, _IRI, _NODE, _LITERAL, _NODE))
"""The usual line; any other is parsed, and every line is parsed when its event is whole."""


Line = tuple[int, bytes]


@dataclass(slots=True)
class Fragment:
    """A part of the event of a graph.

    key     of the graph: its N-Triples token
    line    of the document on which it begins, from 1
    times   lines of N-Quads in the default graph that state its time, each with its line in the document
    quads   those in the graph
    fault   reason, column and kind if it cannot be read, which makes the event malformed
    """

    key: bytes
    line: int
    times: list[Line] = field(default_factory=list)
    quads: list[Line] = field(default_factory=list)
    fault: tuple[str, int, str] | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a document without a graph: malformed, or in the default graph and no time."""

    line: int
    column: int
    reason: str
    raw: bytes | RawText
    kind: str


Part = Fragment | LeftOut


def nquads_fragments(blocks: Blocks, time_predicates: frozenset[bytes]) -> Iterator[Part]:
    """The parts of an N-Quads document; the lines of a graph that stand together are one fragment."""
    line, open_part = 0, None
    long: RawText | None = None
    for block in blocks:
        if isinstance(block, LongPiece):
            long = long or RawText()
            long.add(block.text)
            if block.last:
                line += 1
                yield LeftOut(line, 1, TOO_LONG % ("line", f"{long.length:,}"), long, "too long")
                long = None
            continue
        for text in block.removesuffix(b"\n").split(b"\n"):
            line += 1
            for part in _line_parts(text.removesuffix(b"\r"), line, time_predicates):
                if isinstance(part, LeftOut):
                    yield part
                elif open_part is not None and open_part.key == part.key:
                    open_part.times += part.times
                    open_part.quads += part.quads
                else:
                    if open_part is not None:
                        yield open_part
                    open_part = part
    if open_part is not None:
        yield open_part


def _line_parts(text: bytes, line: int, time_predicates: frozenset[bytes]) -> Sequence[Part]:
    """The parts of one line: none if it is empty or a comment."""
    usual = _USUAL.fullmatch(text)
    if usual is None:
        return _unusual_parts(text, line, time_predicates)
    subject, predicate, graph = usual.groups()
    return (_of_quad(text, line, subject, predicate, graph, time_predicates),)


def _unusual_parts(text: bytes, line: int, time_predicates: frozenset[bytes]) -> Sequence[Part]:
    try:
        quads = quads_of(text, ox.RdfFormat.N_QUADS)
    except (SyntaxError, ValueError) as error:
        found = parse_fault(error)
        return (LeftOut(line, found.column, found.reason, text, found.kind),)
    several = len(quads) > 1  # between carriage returns: each is a line of its own event
    return [
        _of_quad(
            f"{quad} .".encode() if several else text,
            line,
            token_of(quad.subject),
            token_of(quad.predicate),
            token_of(quad.graph_name),
            time_predicates,
        )
        for quad in quads
    ]


def _of_quad(
    text: bytes, line: int, subject: bytes, predicate: bytes, graph: bytes | None, time_predicates: frozenset[bytes]
) -> Part:
    if graph:
        return Fragment(graph, line, [], [(line, text)])
    if predicate in time_predicates:
        return Fragment(subject, line, [(line, text)])
    return LeftOut(line, 1, "a triple in the default graph that is no timestamp", text, "default graph")


class TriGFragments:
    """The parts of a TriG document: those of each unit, written as N-Quads."""

    def __init__(self, blocks: Blocks, time_predicates: frozenset[bytes]) -> None:
        self._units, self._context = Units(blocks), Context()
        self._time_predicates = time_predicates
        self._anonymous = map("anon-{}".format, count())

    def __iter__(self) -> Iterator[Part]:
        for unit in self._units:
            if isinstance(unit, LongUnit):
                reason = TOO_LONG % ("statement or graph block", f"{unit.raw.length:,}")
                yield LeftOut(unit.line, unit.column, reason, unit.raw, "too long")
                if key := label_of(self._context, unit.raw.beginning):
                    fault = "the block of this graph is too long", unit.column, "too long"
                    yield Fragment(key, unit.line, fault=fault)
            elif unit is not None:
                yield from self._parts(unit)

    def _parts(self, unit: Unit) -> Iterable[Part]:
        try:
            quads = parsed_unit(self._context, unit.text)
        except SyntaxError as error:
            found = parse_fault(error)
            row = max(1, found.line - self._context.header(unit.text).count(b"\n"))
            column = found.column + unit.column - 1 if row == 1 else found.column
            return (self._lost(unit, unit.line + row - 1, column, found.reason, found.kind),)
        if not quads and not declares(unit.text) and (key := label_of(self._context, unit.text)):
            return (Fragment(key, unit.line),)
        return self._of_quads(unit, quads)

    def _lost(self, unit: Unit, line: int, column: int, reason: str, kind: str) -> Part:
        key = label_of(self._context, unit.text)
        if key is None:
            return LeftOut(line, column, reason, unit.text, kind)
        return Fragment(key, line, [], [(line, unit.text)], (reason, column, kind))

    def _of_quads(self, unit: Unit, quads: Iterable[ox.Quad]) -> Iterable[Part]:
        found: dict[bytes, Fragment] = {}
        named = self._names(unit)
        left: list[bytes] = []
        for quad in quads:
            text = named(f"{quad} .")
            graph, subject = (named(str(each)) for each in (quad.graph_name, quad.subject))
            if not isinstance(quad.graph_name, ox.DefaultGraph):
                found.setdefault(graph, Fragment(graph, unit.line)).quads.append((unit.line, text))
            elif token_of(quad.predicate) in self._time_predicates:
                found.setdefault(subject, Fragment(subject, unit.line)).times.append((unit.line, text))
            else:
                left.append(text)
        yield from found.values()
        for text in left:
            reason = "a triple in the default graph that is no timestamp"
            yield LeftOut(unit.line, unit.column, reason, text, "default graph")

    def _names(self, unit: Unit) -> Callable[[str], bytes]:
        """The text of a quad, in which nodes without a label in the unit have one by their order."""
        labels: dict[str, str] = {}

        def label(found: re.Match[str]) -> str:
            written = found[1]
            if written not in labels:
                labels[written] = written if b"_:" + written.encode() in unit.text else next(self._anonymous)
            return f"_:{labels[written]}"

        return lambda text: (_outside_strings(label, text) if "_:" in text else text).encode()


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|<[^<>]*>|_:(\S+)', re.DOTALL)


def _outside_strings(label: Callable[[re.Match[str]], str], text: str) -> str:
    """The text with the labels of blank nodes replaced; strings and IRIs stay."""
    return _TOKEN.sub(lambda found: label(found) if found[1] else found[0], text)
