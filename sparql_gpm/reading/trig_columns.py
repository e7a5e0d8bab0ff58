"""Events of TriG, many units at a time: written as N-Quads, whose kernels read them.

A unit that is malformed, a directive or empty is read by itself, and so are the units of every group of lines that is
not one complete, usual event: events and reports do not depend on the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from sparql_gpm.columns import Ids, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading import nquads_kernel as kernel
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.nquads_columns import ColumnReader
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.trig_nquads import TEXT_BYTES_MAX, as_nquads
from sparql_gpm.reading.trig_units import DIRECTIVE, Run, Unit, start_of

UNITS_MIN = 16
"""Fewer units together are read one by one."""
FAULTS_MAX = 16
"""After so many units of a run that cannot be parsed with others the rest of it is read one by one."""
_NEWLINE = 10
_LABELS = frozenset((b"\n<", b"\n:", b"\n_"))
"""Between most units, and the first byte of the next: neither space nor a comment begins with it."""
_INITIALS = b"@pPbBvV"
"""Of directives."""


class UnitReader(Protocol):
    """The reader of single units, with the same builder."""

    def take_units(self, units: Iterator[Unit]) -> Iterator[LocatedBatch]:
        """Read units."""

    def header(self, text: bytes) -> bytes:
        """The declarations in force that a text may use, one a line."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""


@dataclass(frozen=True)
class _Units:
    """Consecutive units of a text without carriage returns, and where they are.

    run             the text
    begins, ends    the places of each in it
    """

    run: Run
    begins: list[int]
    ends: list[int]

    @classmethod
    def of(cls, run: Run) -> _Units:
        text = run.text
        begins = [
            start + 1 if text[start : start + 2] in _LABELS else start_of(text, start, end)
            for start, end in pairwise((0, *run.ends))
        ]
        known = [(begin, end) for begin, end in zip(begins, run.ends, strict=True) if begin < end]
        return cls(run, [begin for begin, _ in known], [end for _, end in known])

    def __len__(self) -> int:
        return len(self.begins)

    def part(self, first: int, stop: int) -> _Units:
        """The units from one to another."""
        return _Units(self.run, self.begins[first:stop], self.ends[first:stop])

    @property
    def texts(self) -> list[bytes]:
        """The text of each."""
        text = self.run.text
        return [text[begin:end] for begin, end in zip(self.begins, self.ends, strict=True)]

    @cached_property
    def lines(self) -> Ids:
        """int64: the line on which each begins."""
        newlines = np.flatnonzero(np.frombuffer(self.run.text, dtype=np.uint8) == _NEWLINE)
        return as_ids(np.searchsorted(newlines, self.begins)) + self.run.line

    def units(self) -> Iterator[Unit]:
        """Each with its place."""
        for text, line, begin in zip(self.texts, self.lines.tolist(), self.begins, strict=True):
            start = self.run.text.rfind(b"\n", 0, begin) + 1
            column = len(self.run.text[start:begin].decode(errors="replace")) + 1
            yield Unit(text, line, column if start else self.run.column + column - 1)


@dataclass(frozen=True, slots=True)
class _Written:
    """Units written as N-Quads; `starts`: the number of lines before each of them and behind the last."""

    units: _Units
    starts: Ids


class TriGColumns:
    """Reads the runs of one document in turn."""

    def __init__(self, dictionary: Dictionary, builder: EventBuilder, options: ReadOptions, plain: UnitReader) -> None:
        self._plain = plain
        predicates = frozenset(f"<{iri}>".encode() for iri in options.time_predicates)
        self._columns = ColumnReader(dictionary, builder, predicates, options.time_rule, options.predicates, self)
        self._written: list[_Written] = []
        self._read = 0

    def take_run(self, run: Run) -> Iterator[LocatedBatch]:
        """Read the units of a run; lines of the last event may be left."""
        if b"\r" in run.text or len(run.text) > TEXT_BYTES_MAX:
            yield from self.take_left()
            yield from self._plain.take_units(iter(run))
            return
        units, first = _Units.of(run), 0
        for directive in (*_directives(units), len(units)):
            yield from self._take(units.part(first, directive))
            first = min(directive + 1, len(units))
            yield from self._alone(units.part(directive, first))

    def take_left(self) -> Iterator[LocatedBatch]:
        """Read the lines that are left."""
        left, self._columns.left = self._columns.left, b""
        if left:
            yield from self.take(left.removesuffix(b"\n").split(b"\n"), self._read)
            self._read += left.count(b"\n")
        self._written.clear()

    def take(self, lines: list[bytes], before: int) -> Iterator[LocatedBatch]:
        """Read the units of lines, the first of which has the number `before` + 1."""
        for written in self._written:
            first, stop = np.searchsorted(written.starts, (before, before + len(lines))).tolist()
            if first < min(stop, len(written.units)):
                yield from self._plain.take_units(written.units.part(first, stop).units())

    def places(self, numbers: Ids) -> Ids:
        """The lines of the document on which the units of lines begin."""
        starts = np.concatenate([written.starts[:-1] for written in self._written])
        lines = np.concatenate([written.units.lines for written in self._written])
        return as_ids(lines[np.searchsorted(starts, numbers - 1, side="right") - 1])

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""
        yield from self._plain.flush()

    def _take(self, units: _Units) -> Iterator[LocatedBatch]:
        """Read units none of which is a directive."""
        faults = 0
        while len(units) >= UNITS_MIN and faults < FAULTS_MAX:
            header = self._plain.header(units.run.text[units.begins[0] : units.ends[-1]])
            some, lines = units, as_nquads(header, units.texts)
            while isinstance(lines, int):
                faults += 1
                some = some.part(0, lines)
                lines = as_nquads(header, some.texts) if faults < FAULTS_MAX and lines else []
            yield from self._take_written(some.part(0, len(lines)), lines)
            fault = min(len(lines) + 1, len(units))
            yield from self._alone(units.part(len(lines), fault))
            units = units.part(fault, len(units))
        yield from self._alone(units)

    def _take_written(self, units: _Units, lines: list[bytes]) -> Iterator[LocatedBatch]:
        """Read units by their lines; those without a line by themselves."""
        first = 0
        for empty in (*(number for number, text in enumerate(lines) if not text), len(lines)):
            yield from self._scan(units.part(first, empty), lines[first:empty])
            first = min(empty + 1, len(lines))
            yield from self._alone(units.part(empty, first))

    def _scan(self, units: _Units, lines: list[bytes]) -> Iterator[LocatedBatch]:
        starts = np.cumsum([0, *(text.count(b"\n") for text in lines)], dtype=np.int64)
        if len(units) >= UNITS_MIN:
            scanned = self._columns.scanner.scan(b"".join(lines))
            if np.isin(scanned.groups[:-1, kernel.LINE], starts).all():
                self._written.append(_Written(units, starts + self._read + self._columns.left.count(b"\n")))
                self._read = yield from self._columns.take(scanned, self._read)
                self._written = [each for each in self._written if each.starts[-1] > self._read]
                return
        yield from self._alone(units)

    def _alone(self, units: _Units) -> Iterator[LocatedBatch]:
        """Read units one by one."""
        if len(units):
            yield from self.take_left()
            yield from self._plain.take_units(units.units())


def _directives(units: _Units) -> list[int]:
    """The places of the directives."""
    text = units.run.text
    return [n for n, at in enumerate(units.begins) if text[at] in _INITIALS and DIRECTIVE.match(text, at)]
