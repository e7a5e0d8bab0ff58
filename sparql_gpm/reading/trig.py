"""Events of TriG, a unit at a time: pyoxigraph parses each under the prefixes declared so far."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyoxigraph as ox

from sparql_gpm.reading.blocks import TOO_LONG, Blocks, ByteStream, parse_fault
from sparql_gpm.reading.document_terms import TermIds, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.strict import parse, parser_of
from sparql_gpm.reading.trig_units import LongUnit, Unit, Units

_DIRECTIVE = re.compile(rb"@?(?:prefix|base|version)\b", re.IGNORECASE)
_PROBE = b"\n{ <urn:x> <urn:x> <urn:x> }"
"""On a line of its own, since a label may end in a comment."""


class Context:
    """The prefixes and the base in force."""

    def __init__(self) -> None:
        self._prefixes: dict[bytes, bytes] = {}
        self._base = b""

    def declare(self, prefixes: dict[str, str], base: str | None) -> None:
        """Add the declarations that a parser knows at its end."""
        self._base = f"@base <{base}> .\n".encode() if base else b""
        for name, iri in prefixes.items():
            self._prefixes[f"{name}:".encode()] = f"@prefix {name}: <{iri}> .\n".encode()

    def header(self, text: bytes) -> bytes:
        """The declarations that a text may use, one a line."""
        return self._base + b"".join([line for name, line in self._prefixes.items() if name in text])


def declares(text: bytes) -> bool:
    """True if a unit is a directive."""
    return bool(_DIRECTIVE.match(text))


def parsed_unit(context: Context, text: bytes) -> list[ox.Quad]:
    """The quads of a unit, whose declarations come into force; raises SyntaxError."""
    header = context.header(text)
    if not declares(text):
        return list(parse(header + text, ox.RdfFormat.TRIG))
    parser = parser_of(header + text, ox.RdfFormat.TRIG)
    try:
        return list(parser)
    except MemoryError as error:
        raise SyntaxError("a directive of more than 16 MiB") from error
    finally:
        context.declare(parser.prefixes, parser.base_iri)


def label_of(context: Context, text: bytes) -> bytes | None:
    """The graph of a block, even if the rest of it is empty or malformed."""
    label, brace, _ = text.partition(b"{")
    if not brace:
        return None
    try:
        probe = list(parse(context.header(label) + label + _PROBE, ox.RdfFormat.TRIG))
    except SyntaxError:
        return None
    graph = probe[-1].graph_name
    return None if isinstance(graph, ox.DefaultGraph) else token_of(graph)


class TriGReader:
    """Reads the documents of one stream in turn."""

    def __init__(self, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._terms, self._builder, self._line_bytes_max = terms, builder, options.line_bytes_max
        self._quiet_s = options.quiet_s
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))
        self._context = Context()

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        self._context = Context()
        self._builder.start_input()
        blocks = Blocks(stream, live, self._line_bytes_max, self._quiet_s)
        units, closed = Units(blocks), False
        for unit in units:
            if isinstance(unit, LongUnit):
                self._long_unit(unit)
            elif unit is not None:
                self._unit(unit)
                closed = unit.text.endswith(b"}")
            if unit is None and units.is_between and (blocks.quiet or (closed and blocks.idle)):
                self._builder.close_timed()
            if self._builder.full or (unit is None and blocks.pausing):
                yield from self._flush()
        self._builder.break_off(units.line, blocks.broken_off)
        self._builder.close()
        yield from self._flush()

    def _flush(self) -> Iterator[LocatedBatch]:
        yield from self._builder.flush()
        self._terms.refresh()

    def _unit(self, unit: Unit) -> None:
        header = self._context.header(unit.text)
        try:
            self._take(unit, parsed_unit(self._context, unit.text))
        except SyntaxError as error:
            found = parse_fault(error)
            row = found.line - header.count(b"\n")
            column = found.column + unit.column - 1 if row == 1 else found.column
            self._lost(unit, unit.line + row - 1, column, found.reason, found.kind)

    def _long_unit(self, unit: LongUnit) -> None:
        """The unit is left out, and so is the event of its graph."""
        reason = TOO_LONG % ("statement or graph block", f"{unit.raw.length:,}")
        self._builder.report(unit.line, unit.column, reason, unit.raw, "too long")
        if key := label_of(self._context, unit.raw.beginning):
            self._enter(key, unit.line, b"")
            self._builder.mark_malformed(unit.line, unit.column, "the block of this graph is too long", "too long")

    def _take(self, unit: Unit, quads: list[ox.Quad]) -> None:
        current: object = None
        in_default, foreign = False, 0
        for subject, predicate, object_, graph in quads:
            if graph != current:
                current, in_default = graph, isinstance(graph, ox.DefaultGraph)
                if not in_default:
                    self._enter(token_of(graph), unit.line, unit.text)
            states_time = predicate in self._time_predicates and (in_default or subject == graph)
            if in_default and not states_time:
                foreign += 1
            elif states_time:
                self._enter(token_of(subject), unit.line, unit.text)
                self._builder.timestamp(to_term(object_), unit.line, lambda: unit.column)
            if not in_default:
                self._terms.add(subject, predicate, object_)
        if foreign:
            what = "a triple" if foreign == 1 else f"{foreign} triples"
            reason = f"{what} in the default graph that {'is' if foreign == 1 else 'are'} no timestamp"
            self._builder.report(unit.line, unit.column, reason, unit.text, "default graph")
        elif not quads and (key := label_of(self._context, unit.text)):
            self._enter(key, unit.line, unit.text)

    def _enter(self, key: bytes, line: int, text: bytes) -> None:
        """Open this graph's event unless it is open, and add the text of a unit to it."""
        if key != self._builder.key:
            self._builder.open(key, line)
        raw = self._builder.raw
        if not raw or raw[-1] is not text:
            raw.append(text)

    def _lost(self, unit: Unit, line: int, column: int, reason: str, kind: str) -> None:
        """Report a malformed unit, or mark the event of its graph if the graph is known."""
        key = label_of(self._context, unit.text)
        if key is None:
            self._builder.report(line, column, reason, unit.text, kind)
            return
        self._enter(key, unit.line, unit.text)
        self._builder.mark_malformed(line, column, reason, kind)
