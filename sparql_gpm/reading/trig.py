"""Events of TriG: by kernels where the input is long enough, else a unit at a time by pyoxigraph."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import pyoxigraph as ox

from arrays.wanted import check_wanted
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import TOO_LONG, Blocks, ByteStream, LongPiece, parse_fault
from sparql_gpm.reading.document_terms import TermIds, to_term, token_of
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.lines import kernels_pay
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.trig_context import Context, label_of, parsed_unit
from sparql_gpm.reading.trig_units import Begun, LongUnit, Unit, Units

if TYPE_CHECKING:
    from sparql_gpm.reading.trig_columns import TriGColumns

KERNEL_BYTES_MIN = 64 << 20
"""Input that is expected to have this size repays the compilation of the kernels."""
KEPT_KERNEL_BYTES_MIN = 8 << 20
"""Input that is expected to have this size repays loading kernels that an earlier process has compiled."""


class TriGReader:
    """Reads the documents of one stream in turn."""

    def __init__(self, dictionary: Dictionary, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._dictionary, self._terms, self._builder, self._options = dictionary, terms, builder, options
        self._columns: TriGColumns | None = None
        self._time_predicates = frozenset(map(ox.NamedNode, options.time_predicates))
        self._context = Context()

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        self._context = Context()
        self._builder.start_input()
        blocks = Blocks(stream, live, self._options.line_bytes_max, self._options.quiet_s)
        units, closed = Units(blocks), False
        if not live and kernels_pay(self._options, 0, KERNEL_BYTES_MIN, KEPT_KERNEL_BYTES_MIN):
            units = yield from self._by_kernels(blocks)
        for unit in units:
            if isinstance(unit, LongUnit):
                self._long_unit(unit)
            elif unit is not None:
                self.take(unit)
                closed = unit.text.endswith(b"}")
            if unit is None and units.is_between and (blocks.quiet or (closed and blocks.idle)):
                self._builder.close_timed()
            if self._builder.full or (unit is None and blocks.pausing):
                yield from self.flush()
        self._builder.break_off(units.line, blocks.broken_off)
        self._builder.close()
        yield from self.flush()

    def _by_kernels(self, blocks: Blocks) -> Generator[LocatedBatch, None, Units]:
        """Read blocks by kernels as long as that pays; gives the units behind those that have been read."""
        columns, texts, last = self._column_reader(), iter(blocks), list[bytes | LongPiece]()
        columns.start()
        for block in texts:
            if isinstance(block, LongPiece) or not columns.pays:
                last = [block]
                break
            self._terms.refresh()
            yield from columns.read(block)
        self._terms.refresh()
        yield from columns.end()
        rest = chain((columns.rest,), last, texts)
        return Units(blocks, Begun(rest, columns.line, columns.column, columns.behind, columns.lexed))

    def _column_reader(self) -> TriGColumns:
        if self._columns is None:
            from sparql_gpm.reading.nquads_columns import ColumnReader, LineReader
            from sparql_gpm.reading.trig_columns import TriGColumns

            times = frozenset(f"<{iri}>".encode() for iri in self._options.time_predicates)

            def columns(lines: LineReader) -> ColumnReader:
                rule, filter_ = self._options.time_rule, self._options.predicates
                return ColumnReader(self._dictionary, self._builder, times, rule, filter_, lines)

            self._columns = TriGColumns(columns, times, self)
        return self._columns

    @property
    def full(self) -> bool:
        """True if there are enough complete events for a batch."""
        return self._builder.full

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any; meanwhile the dictionary may release terms."""
        yield from self._builder.flush()
        self._terms.refresh()

    def take(self, unit: Unit) -> None:
        """Read the next unit."""
        check_wanted()
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
