"""The events that a match of one path consists of, and their order (K Sections 4.1-4.3).

A *unit* is the event that one symbol of one step takes, of a repeated step the last one. Units are found in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.lazy.path import Item, Path, Step
from automata.plan.program import MATCH, Program

Relation = NDArray[np.bool_]
"""bool[units, units]."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One event to be found. `step` is the number of its step, in the order of the path."""

    step: int
    symbol: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class Units:
    """before      [u, v]: u's event precedes v's
    together        they are taken by one conjunction: at one time
    apart           they belong to different members of an ALL: distinct events
    """

    steps: tuple[Step, ...]
    units: tuple[Unit, ...]
    before: Relation
    together: Relation
    apart: Relation

    def __len__(self) -> int:
        return len(self.units)

    def of_step(self, step: int) -> tuple[int, ...]:
        """The units of one step, in the order of its symbols."""
        return tuple(number for number, unit in enumerate(self.units) if unit.step == step)

    def homes(self, symbol: int) -> list[frozenset[int]]:
        """For each unit that a condition of the symbol belongs to the units that it needs; for MATCH none, once."""
        return (
            [frozenset()]
            if symbol == MATCH
            else [frozenset({n}) for n, u in enumerate(self.units) if u.symbol == symbol]
        )

    def waits(self, bound: frozenset[int], unit: int) -> bool:
        """True if an event of the unit can still come once events of `bound` are there."""
        return not any(self.before[unit, other] or self.together[unit, other] for other in bound)

    def providers(self, program: Program, variable: int) -> frozenset[int]:
        """The units that bind a variable for certain."""
        return frozenset(n for n, unit in enumerate(self.units) if variable in program.symbols[unit.symbol].certain)

    def key(self, program: Program, bound: frozenset[int], unit: int) -> tuple[int, ...]:
        """The variables by which a partial match and an event of the unit are joined."""
        certain = frozenset().union(*(program.symbols[self.units[other].symbol].certain for other in bound))
        return tuple(sorted(certain & program.symbols[self.units[unit].symbol].certain))


@dataclass(frozen=True, slots=True)
class Needs:
    """The units that must be bound before a condition or negation can be evaluated.

    units       all of these
    providers   for each variable that matters the units that bind it for certain: one of them
    """

    units: frozenset[int]
    providers: tuple[frozenset[int], ...]

    def completed_by(self, unit: int, bound: frozenset[int]) -> bool:
        """True if partial matches of these units lack nothing but this one."""
        return self._met(bound | {unit}) and not self._met(bound)

    def _met(self, bound: frozenset[int]) -> bool:
        return self.units <= bound and all(units & bound for units in self.providers)


def units_of(path: Path) -> Units:
    """The units of a path, in the order of its steps."""
    return _Collector().collect(path)


def relations(program: Program, units: Units) -> tuple[frozenset[int], ...]:
    """For each unit those that share a variable with it or stand with it in a condition."""
    symbols = [program.symbols[unit.symbol] for unit in units.units]
    groups = [
        frozenset(
            n for n, unit in enumerate(units.units) if unit.symbol == c.symbol or symbols[n].certain & c.variables()
        )
        for c in program.conditions
        if c.symbol == MATCH or any(unit.symbol == c.symbol for unit in units.units)
    ]
    shared = [
        frozenset(
            other for other, symbol in enumerate(symbols) if symbol.certain & own.certain - set(program.partition)
        )
        for own in symbols
    ]
    return tuple(
        shared[number].union(*(group for group in groups if number in group)) - {number} for number in range(len(units))
    )


class _Collector:
    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._units: list[Unit] = []
        self._before: list[tuple[int, int]] = []
        self._apart: list[tuple[int, int]] = []

    def collect(self, path: Path) -> Units:
        self._sequence(path.items)
        together = np.array([[a.step == b.step and a is not b for b in self._units] for a in self._units])
        return Units(
            tuple(self._steps), tuple(self._units), self._relation(self._before), together, self._relation(self._apart)
        )

    def _sequence(self, items: Sequence[Item]) -> list[int]:
        found: list[int] = []
        for item in items:
            new = self._step(item) if isinstance(item, Step) else self._members(item.members)
            self._before += [(earlier, later) for earlier in found for later in new]
            found += new
        return found

    def _step(self, step: Step) -> list[int]:
        first = len(self._units)
        self._units += [Unit(len(self._steps), symbol, step.loop >= 0) for symbol in step.symbols]
        self._steps.append(step)
        return list(range(first, len(self._units)))

    def _members(self, members: Sequence[Sequence[Item]]) -> list[int]:
        found: list[int] = []
        for member in members:
            new = self._sequence(member)
            self._apart += [pair for a in found for b in new for pair in ((a, b), (b, a))]
            found += new
        return found

    def _relation(self, pairs: list[tuple[int, int]]) -> Relation:
        relation = np.zeros((len(self._units), len(self._units)), dtype=np.bool_)
        for a, b in pairs:
            relation[a, b] = True
        return relation
