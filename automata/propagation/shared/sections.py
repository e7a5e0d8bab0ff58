"""Sections of cells as the vectors of each query: what is told of closed windows, or handed over to exact values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from automata.propagation.cells import Vector
from automata.propagation.columns import Scale
from automata.propagation.found_columns import Block, VectorReader, Vectors
from automata.propagation.kernel_arrays import Floats
from automata.propagation.limbs import widened
from automata.propagation.measures import Values
from automata.propagation.shared.equations import Kind, Quantity, quantities_of
from automata.propagation.shared.members import Member
from automata.propagation.shared.program import GroupProgram
from automata.values import Ids


class Sections(NamedTuple):
    """The quantities of n sections of one frame.

    counts      int64[limbs, counts, n]; sums alike
    best        float64[best, n]; ids alike
    """

    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids

    def at(self, rows: Ids) -> Sections:
        """Some of the sections."""
        return Sections(self.counts[..., rows], self.sums[..., rows], self.best[:, rows], self.ids[:, rows])


class SectionReader:
    """Reads the lanes of the members of a program; `scales`: variable of the group → the representation of numbers."""

    def __init__(self, program: GroupProgram, values: Values, scales: Mapping[int, Scale]) -> None:
        self._program = program
        self._values = values
        self._scales = scales

    def blocks(self, number: int, windows: Ids, keys: Ids, sections: Sections) -> Iterator[Block]:
        """The groups that a member has found in closed sections: those in which it has matches."""
        member = self._program.members[number]
        for lane in member.machine.ends:
            counts = self._numbers(sections, Quantity(number, lane))
            there = np.flatnonzero(counts[0] if len(counts) == 1 else counts.any(axis=0))
            if len(there):
                own = keys[there[:, np.newaxis], member.key_places]
                yield Block(windows[there], own, self._vectors(number, lane, sections, there), self._reader(member))

    def lane(self, number: int, lane: int, sections: Sections) -> list[Vector | None]:
        """A lane of a member as exact values."""
        every = np.arange(sections.counts.shape[2])
        vectors = self._reader(self._program.members[number]).read(self._vectors(number, lane, sections, every))
        return [each if each[0] else None for each in vectors]

    def _reader(self, member: Member) -> VectorReader:
        known = {own: self._scales[shared] for own, shared in member.variables.items() if shared in self._scales}
        return VectorReader(member.measured, member.layout, self._values, known)

    def _vectors(self, number: int, lane: int, sections: Sections, rows: Ids) -> Vectors:
        count, *measures = quantities_of(number, self._program.members[number], lane)
        linear = [each for each in measures if each.kind is not Kind.BEST]
        extreme = [each for each in measures if each.kind is Kind.BEST]
        width = len(sections.sums)
        sums = np.zeros((len(rows), len(linear), width), dtype=np.int64)
        best = np.full((len(rows), len(extreme)), np.nan)
        ids = np.zeros((len(rows), len(extreme)), dtype=np.int64)
        for column, quantity in enumerate(linear):
            sums[:, column] = widened(self._numbers(sections, quantity)[:, rows].T, width)
        for column, quantity in enumerate(extreme):
            place = self._program.places.get(quantity)
            if place is not None:
                best[:, column], ids[:, column] = sections.best[place.number, rows], sections.ids[place.number, rows]
        times = np.zeros(len(rows), dtype=np.int64)
        return Vectors(self._numbers(sections, count)[:, rows].T, sums, best, ids, times, times)

    def _numbers(self, sections: Sections, quantity: Quantity) -> Ids:
        """int64[limbs, n]: a quantity; 0 where nothing that is told depends on it."""
        held = sections.counts if quantity.kind is Kind.COUNT else sections.sums
        place = self._program.places.get(quantity)
        return np.zeros((len(held), held.shape[2]), dtype=np.int64) if place is None else held[:, place.number]
