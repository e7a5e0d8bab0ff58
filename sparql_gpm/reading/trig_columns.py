"""Events of TriG, block by block: the usual units by kernels, as lines of N-Quads; the others by the unit reader.

A block is written out as N-Quads, a line for each triple, which are read as those of a document of N-Quads are. An odd
unit stands there as one odd line. Groups of lines that do not become columns are read unit by unit, so that events and
reports do not depend on the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arrays.words import Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.reading import trig_kernel as kernel
from sparql_gpm.reading.blocks import BLOCK_BYTES
from sparql_gpm.reading.event_builder import LocatedBatch
from sparql_gpm.reading.nquads_columns import ColumnReader, LineReader
from sparql_gpm.reading.nquads_scan import joined
from sparql_gpm.reading.trig_context import Context, declares, parsed_unit
from sparql_gpm.reading.trig_term_kernels import FULL, ODD, POSITION, Source
from sparql_gpm.reading.trig_units import Unit, column_at, first_end, line_ends

WRITTEN_BYTES = 4 << 20
"""N-Quads that are written before they are read."""
UNITS_MAX = 1 << 15
"""Units in them."""
_ODD_LINE = b"#\n"
"""In the place of an odd unit: no line of the usual form."""
_ODD_MIN = 64
"""So many odd units may be the beginning of a usual document."""
_ODD_PART = 8
"""Kernels do not pay where more than one unit in so many is odd."""


class UnitReader(Protocol):
    """The reader of other units, with the same builder."""

    def take(self, unit: Unit) -> None:
        """Read the next unit."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any, and use no id that is stale afterwards."""

    @property
    def full(self) -> bool:
        """True if there are enough complete events for a batch."""


@dataclass(frozen=True, slots=True)
class _Written:
    """Units of a text that have been written as N-Quads.

    column      of its line in which the text begins
    units       as in `kernel.Output`; FIRST counts from the beginning of the document
    stop        the number of lines of N-Quads up to their end
    """

    text: bytes
    column: int
    units: Ids
    stop: int

    def unit(self, number: int) -> Unit:
        """One of the units."""
        begin, end, line, _ = self.units[number].tolist()
        return Unit(self.text[begin:end], line, column_at(self.text, begin, self.column))


class TriGColumns:
    """Reads the blocks of one document after the other.

    rest    the text behind the last unit, of a unit that has not ended yet
    behind  the byte before it
    column  in which it begins
    lexed   as in Begun
    """

    def __init__(
        self, columns: Callable[[LineReader], ColumnReader], time_predicates: frozenset[bytes], units: UnitReader
    ) -> None:
        self._columns, self._units = columns(self), units
        self._predicates = joined(sorted(time_predicates))
        self._text = np.empty(WRITTEN_BYTES + len(_ODD_LINE) * UNITS_MAX, dtype=np.uint8)
        self._places = np.empty((UNITS_MAX, 4), dtype=np.int64)
        self._at = np.zeros(3, dtype=np.int64)
        self._terms = np.empty(3 * kernel.TERM_BYTES_MAX, dtype=np.uint8)
        self.start()

    def start(self) -> None:
        """Begin a document."""
        self._declare(Context())
        self._kept: deque[_Written] = deque()
        self._taken = self._odd = self._all = 0
        self._state = np.zeros(5, dtype=np.int64)
        self._state[kernel.LINE] = 1
        self.lexed = 0
        self.behind, self.rest, self.column = b"\n", b"", 1

    @property
    def line(self) -> int:
        """The line on which the rest begins."""
        return int(self._state[kernel.LINE])

    @property
    def pays(self) -> bool:
        """False if most of the document is odd, or a unit is long."""
        return len(self.rest) <= BLOCK_BYTES and self._odd <= max(_ODD_MIN, self._all // _ODD_PART)

    def read(self, block: bytes) -> Iterator[LocatedBatch]:
        """Read whole lines behind the rest, but not the last event."""
        text, state = self.behind + self.rest + block, self._state
        data, column = as_bytes(text), self.column - 1
        state[POSITION] = 1
        self.lexed += self.lexed > 0
        while True:
            output = kernel.Output(self._text[:WRITTEN_BYTES], self._places, state, self._at, self._terms)
            ended = kernel.unfold(self._source(data, len(text)), output)
            if ended == ODD and self._enter_odd(text):
                continue
            yield from self._read_written(text, column)
            if ended != FULL:
                break
        begin = int(state[POSITION])
        self.lexed = max(0, self.lexed - begin)
        self.behind, self.rest = text[begin - 1 : begin], text[begin:]
        self.column = column_at(text, begin, column)

    def end(self) -> Iterator[LocatedBatch]:
        """Read what is left of the lines that have been written, so that another reader can go on with the rest."""
        lines = self._columns.left.count(b"\n")
        self._columns.left = b""
        yield from self.take([b""] * lines, self._taken)

    def take(self, lines: Sequence[bytes], before: int) -> Iterator[LocatedBatch]:
        """Read the units that so many lines have been written for; the first has the number `before` + 1."""
        for written in self._kept:
            begin, end = np.searchsorted(written.units[:, kernel.FIRST], (before, before + len(lines))).tolist()
            for number in range(begin, end):
                self._units.take(written.unit(number))
                if self._units.full:
                    yield from self.flush()

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any; meanwhile the dictionary may release terms."""
        yield from self._units.flush()

    def places(self, numbers: Ids) -> Ids:
        """The lines of the document on which the units of lines of N-Quads begin."""
        units = np.concatenate([written.units for written in self._kept])
        of_lines = np.searchsorted(units[:, kernel.FIRST], numbers - 1, side="right") - 1
        begin_on: Ids = units[of_lines, kernel.BEGINS_ON]
        return begin_on

    def _read_written(self, text: bytes, column: int) -> Iterator[LocatedBatch]:
        """Read the lines written so far, but not those of the last event."""
        state = self._state
        units, written = int(state[kernel.UNITS]), int(state[kernel.WRITTEN])
        state[kernel.UNITS] = state[kernel.WRITTEN] = 0
        if not units:
            return
        self._all += units
        self._kept.append(_Written(text, column, self._places[:units].copy(), int(state[kernel.LINES])))
        scanned = self._columns.scanner.scan(self._text[:written].tobytes())
        self._taken = yield from self._columns.take(scanned, self._taken)
        while self._kept and self._kept[0].stop <= self._taken:
            self._kept.popleft()

    def _enter_odd(self, text: bytes) -> bool:
        """Write a line for the odd unit that the state has come to; False if the text does not have its end."""
        state = self._state
        begin, line, written, unit, lines = state.tolist()
        found = first_end(text, begin, self.lexed)
        if found is None:
            return False
        end, self.lexed = found
        self._text[written : written + len(_ODD_LINE)] = np.frombuffer(_ODD_LINE, dtype=np.uint8)
        self._places[unit] = begin, end, line, lines
        content = text[begin:end]
        if declares(content):
            self._declare_in(content)
        else:
            self._odd += 1
        state[:] = end, line + line_ends(content), written + len(_ODD_LINE), unit + 1, lines + 1
        return True

    def _declare_in(self, directive: bytes) -> None:
        """Bring a directive into force for the units behind it; the unit reader reads it again, and reports faults."""
        with suppress(SyntaxError):
            parsed_unit(self._context, directive)
        self._declare(self._context)

    def _declare(self, context: Context) -> None:
        self._context = context
        self._names, self._spaces = joined(list(context.prefixes)), joined(list(context.prefixes.values()))

    def _source(self, data: Bytes, size: int) -> Source:
        return Source(
            data, size, *self._names, *self._spaces, *self._predicates, self._context.has_base, self.lexed > 0
        )
