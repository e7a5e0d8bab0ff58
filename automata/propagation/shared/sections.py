"""Sections of cells as the vectors of each query: what is told of closed windows, or handed over to exact values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from automata.propagation.cells import Vector
from automata.propagation.columns import Scale
from automata.propagation.found_columns import Block, VectorReader, Vectors
from automata.propagation.kernel_arrays import Floats
from automata.propagation.limbs import widened
from automata.propagation.measures import Values
from automata.propagation.shared.equations import Kind, quantities_of
from automata.propagation.shared.members import Member
from automata.propagation.shared.program import GroupProgram, Place
from automata.values import Ids, Mask


class Sections(NamedTuple):
    """The quantities of n sections of one frame.

    counts      int64[limbs, counts, n]; sums alike
    best        float64[best, n]; ids alike
    """

    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids

    @property
    def size(self) -> int:
        """The number of sections."""
        return int(self.counts.shape[2])

    def first(self, count: int) -> Sections:
        """The first of the sections."""
        return Sections(self.counts[..., :count], self.sums[..., :count], self.best[:, :count], self.ids[:, :count])


class ToldLane(NamedTuple):
    """The places of what is told of a lane; None: nothing depends on it, so it is not kept."""

    matches: Place | None
    linear: tuple[Place | None, ...]
    extreme: tuple[Place | None, ...]


@dataclass(slots=True)
class Closed:
    """Sections that have been closed together, of which some are those of one frame.

    What queries that ask for the same have in common is made once.

    windows     int64[n]; keys: int64[n, key]
    frame       bool[n]: they are those of the frame
    """

    windows: Ids
    keys: Ids
    sections: Sections
    frame: Mask
    _rows: dict[Place | None, tuple[Ids, Ids]] = field(default_factory=dict)
    _keys: dict[tuple[Place | None, tuple[int, ...]], Ids] = field(default_factory=dict)
    _vectors: dict[ToldLane, Vectors] = field(default_factory=dict)

    def rows(self, count: Place | None) -> tuple[Ids, Ids]:
        """The sections with matches, and their windows."""
        if count not in self._rows:
            counts = _numbers(self.sections, Kind.COUNT, count)
            some = counts[0] != 0 if len(counts) == 1 else counts.any(axis=0)
            there = np.flatnonzero(some & self.frame)
            self._rows[count] = there, self.windows.take(there)
        return self._rows[count]

    def keys_of(self, count: Place | None, columns: tuple[int, ...]) -> Ids:
        """Columns of the keys of the sections with matches."""
        if (count, columns) not in self._keys:
            keys = self.keys.take(self.rows(count)[0], axis=0)
            self._keys[count, columns] = keys if columns == tuple(range(keys.shape[1])) else keys[:, columns]
        return self._keys[count, columns]

    def vectors(self, told: ToldLane) -> Vectors:
        """The vectors of the sections with matches."""
        if told not in self._vectors:
            self._vectors[told] = vectors_of(self.sections, told, self.rows(told.matches)[0])
        return self._vectors[told]


class SectionReader:
    """Reads the lanes of the members of a program; `scales`: variable of the group → the representation of numbers."""

    def __init__(self, program: GroupProgram, values: Values, scales: Mapping[int, Scale]) -> None:
        self._program = program
        self._values = values
        self._scales = scales

    def blocks(self, number: int, closed: Closed) -> Iterator[Block]:
        """The groups that a member has found in closed sections: those in which it has matches."""
        member = self._program.members[number]
        for lane in member.machine.ends:
            told = self._told(number, lane)
            there, windows = closed.rows(told.matches)
            if len(there):
                keys = closed.keys_of(told.matches, tuple(member.key_places))
                yield Block(windows, keys, closed.vectors(told), self._reader(member))

    def lane(self, number: int, lane: int, sections: Sections) -> list[Vector | None]:
        """A lane of a member as exact values."""
        every = np.arange(sections.size)
        vectors = vectors_of(sections, self._told(number, lane), every)
        found = self._reader(self._program.members[number]).read(vectors)
        return [each if each[0] else None for each in found]

    def _reader(self, member: Member) -> VectorReader:
        known = {own: self._scales[shared] for own, shared in member.variables.items() if shared in self._scales}
        return VectorReader(member.measured, member.layout, self._values, known)

    def _told(self, number: int, lane: int) -> ToldLane:
        count, *measures = quantities_of(number, self._program.members[number], lane)
        places = self._program.places
        return ToldLane(
            places.get(count),
            tuple(places.get(each) for each in measures if each.kind is not Kind.BEST),
            tuple(places.get(each) for each in measures if each.kind is Kind.BEST),
        )


def vectors_of(sections: Sections, told: ToldLane, rows: Ids) -> Vectors:
    """The vectors of a lane in some sections."""
    width = len(sections.sums)
    sums = np.zeros((len(rows), len(told.linear), width), dtype=np.int64)
    best = np.full((len(rows), len(told.extreme)), np.nan)
    ids = np.zeros((len(rows), len(told.extreme)), dtype=np.int64)
    for column, place in enumerate(told.linear):
        if place is not None:
            numbers = _numbers(sections, place.kind, place).take(rows, axis=1).T
            sums[:, column] = numbers if numbers.shape[1] == width else widened(numbers, width)
    for column, place in enumerate(told.extreme):
        if place is not None:
            best[:, column], ids[:, column] = sections.best[place.number, rows], sections.ids[place.number, rows]
    times = np.zeros(len(rows), dtype=np.int64)
    return Vectors(_numbers(sections, Kind.COUNT, told.matches).take(rows, axis=1).T, sums, best, ids, times, times)


def _numbers(sections: Sections, kind: Kind, place: Place | None) -> Ids:
    """int64[limbs, n]: a quantity; 0 where nothing that is told depends on it."""
    held = sections.counts if kind is Kind.COUNT else sections.sums
    return np.zeros((len(held), sections.size), dtype=np.int64) if place is None else held[:, place.number]
