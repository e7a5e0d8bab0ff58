"""Events of TriG, a unit at a time: pyoxigraph parses each under the prefixes declared so far.

Long inputs are read many units at a time, by the kernels of N-Quads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyoxigraph as ox

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import TOO_LONG, Blocks, ByteStream, parse_fault
from sparql_gpm.reading.document_terms import TermIds, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.lines import kernels_are_kept
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.strict import parse, parser_of
from sparql_gpm.reading.trig_units import DIRECTIVE, LongUnit, Run, Unit, Units

if TYPE_CHECKING:
    from sparql_gpm.reading.trig_columns import TriGColumns

KERNEL_BYTES_MIN = 128 << 20
"""Input from this size on, about a million quads, repays the compilation of the kernels."""
KEPT_KERNEL_BYTES_MIN = 8 << 20
"""Input from this size on repays loading kernels that an earlier process has compiled."""
OWN_SHARE = 8
"""What is known of the length includes inputs of other formats: this part of it must have come as TriG."""

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
    return bool(DIRECTIVE.match(text))


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

    def __init__(self, dictionary: Dictionary, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._dictionary, self._options = dictionary, options
        self._terms, self._builder, self._line_bytes_max = terms, builder, options.line_bytes_max
        self._quiet_s = options.quiet_s
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))
        self._context = Context()
        self._columns: TriGColumns | None = None
        self._bytes_read = 0

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        self._context, self._columns = Context(), None
        self._builder.start_input()
        blocks = Blocks(stream, live, self._line_bytes_max, self._quiet_s)
        units, closed = Units(blocks), False
        for run in units.runs():
            if isinstance(run, Run) and not live and (columns := self._column_reader(run)):
                yield from columns.take_run(run)
            elif run is not None:
                yield from self._take_left()
                yield from self.take_units(iter(run) if isinstance(run, Run) else iter((run,)))
                closed = not isinstance(run, LongUnit) and run.text.endswith(b"}")
            if run is None and units.is_between and (blocks.quiet or (closed and blocks.idle)):
                self._builder.close_timed()
            if run is None and blocks.pausing:
                yield from self.flush()
        yield from self._take_left()
        self._builder.break_off(units.line, blocks.broken_off)
        self._builder.close()
        yield from self.flush()

    def take_units(self, units: Iterator[Unit | LongUnit]) -> Iterator[LocatedBatch]:
        """Read units."""
        for unit in units:
            if isinstance(unit, LongUnit):
                self._long_unit(unit)
            else:
                self._unit(unit)
            if self._builder.full:
                yield from self.flush()

    def header(self, text: bytes) -> bytes:
        """The declarations in force that a text may use, one a line."""
        return self._context.header(text)

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any; meanwhile the dictionary may release terms."""
        yield from self._builder.flush()
        self._terms.refresh()

    def _take_left(self) -> Iterator[LocatedBatch]:
        """Read what kernels have left."""
        if self._columns is not None:
            yield from self._columns.take_left()

    def _column_reader(self, run: Run) -> TriGColumns | None:
        """The reader by kernels, if the whole input is long enough."""
        self._bytes_read += len(run.text)
        if self._columns is None and self._kernels_pay():
            from sparql_gpm.reading.trig_columns import TriGColumns

            self._columns = TriGColumns(self._dictionary, self._builder, self._options, self)
        return self._columns

    def _kernels_pay(self) -> bool:
        if self._options.compiled is not None:
            return self._options.compiled
        size = max(self._bytes_read, self._options.bytes_expected)

        def long(least: int) -> bool:
            return size >= least and self._bytes_read >= least // OWN_SHARE

        return long(KERNEL_BYTES_MIN) or (long(KEPT_KERNEL_BYTES_MIN) and kernels_are_kept())

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
