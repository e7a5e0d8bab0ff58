"""Cells: the lanes of one key and one window as exact values, which events advance.

A *vector* is what is known of a set of partial matches: how many they are, the least time of their first events, the
time of the latest last one, and the value of each measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from automata.plan.plan import Plan
from automata.propagation.machine import Machine, Move
from automata.propagation.measures import Measure, Measured, Value, Values, measure_of, restored_number, stored_number
from automata.state import State

Vector = tuple[int, int, int, tuple[Value, ...]]
"""count, least first time, greatest last time, values."""
Taken = Sequence[tuple[int, tuple[int, ...]]]
"""The solutions of one event with one key: symbol, and the ids of the measured variables."""


class Cell:
    """The lanes of one key and window.

    lanes       None: no partial match is there
    position    of the last event that ended its strict lanes or filled them
    """

    __slots__ = ("lanes", "position")

    def __init__(self, lanes: list[Vector | None]) -> None:
        self.lanes = lanes
        self.position = -2


@dataclass(frozen=True, slots=True)
class _Step:
    """One move, with what it does to each measure whose variable it touches.

    measured    (place of the measure, place of its variable among the ids or None, the last value is forgotten)
    """

    lane: int
    target: int
    begins: bool
    measured: tuple[tuple[int, int | None, bool], ...]


class Cells:
    """The algebra of the cells of one machine and its measures."""

    def __init__(self, plan: Plan, machine: Machine, measured: Sequence[Measured], values: Values) -> None:
        self._machine = machine
        self._measured = measured
        self._scopes = [symbol.scope for symbol in plan.program.symbols]
        self.measures: tuple[Measure, ...] = tuple(measure_of(each, values) for each in measured)
        self.variables = tuple(dict.fromkeys(each.variable for each in measured))
        moves = machine.moves.items()
        self._steps = {symbol: tuple(self._step(symbol, move) for move in some) for symbol, some in moves}
        self._unit: Vector = (1, 0, 0, tuple(measure.empty for measure in self.measures))

    def new(self) -> Cell:
        """A cell in which nothing has happened."""
        lanes: list[Vector | None] = [None] * len(self._machine.lanes)
        for lane in self._machine.opening:
            lanes[lane] = self._unit
        return Cell(lanes)

    def close(self, cell: Cell) -> None:
        """No match begins in the cell any more."""
        for lane in self._machine.opening:
            cell.lanes[lane] = None

    def advance(self, cell: Cell, taken: Taken, time: int, position: int) -> Vector | None:
        """The next event of a cell: returns the matches that it completes, of those that nothing can end any more.

        position    an event that is not the next one after the last ends strict lanes
        """
        machine, lanes = self._machine, cell.lanes
        if machine.strict and cell.position != position - 1:
            for lane in machine.strict:
                lanes[lane] = None
        reached: dict[int, Vector] = {}
        for symbol, ids in taken:
            for step in self._steps.get(symbol, ()):
                vector = lanes[step.lane]
                if vector is not None:
                    after = self._extended(vector, step, ids, time)
                    known = reached.get(step.target)
                    reached[step.target] = after if known is None else self.plus(known, after)
        self._end(lanes, taken)
        cell.position = position
        complete: Vector | None = None
        for state, vector in reached.items():
            for lane in machine.entered[state]:
                known = lanes[lane]
                lanes[lane] = vector if known is None else self.plus(known, vector)
            if state in machine.accepting:
                complete = vector if complete is None else self.plus(complete, vector)
        return complete

    def complete(self, cell: Cell) -> Vector | None:
        """All matches of the cell, once its window has passed."""
        found: Vector | None = None
        for lane in self._machine.ends:
            vector = cell.lanes[lane]
            if vector is not None:
                found = vector if found is None else self.plus(found, vector)
        return found

    def plus(self, one: Vector, other: Vector) -> Vector:
        """The vector of both sets together."""
        values = tuple([m.plus(a, b) for m, a, b in zip(self.measures, one[3], other[3], strict=True)])
        return one[0] + other[0], min(one[1], other[1]), max(one[2], other[2]), values

    def ids(self, cell: Cell) -> Iterable[int]:
        """The ids in a cell."""
        for vector in cell.lanes:
            if vector is not None:
                for measure, value in zip(self.measures, vector[3], strict=True):
                    yield from measure.ids(value)

    def stored(self, cell: Cell, number: Callable[[int], int]) -> State:
        """A cell as plain values; `number` stands for an id."""
        return [cell.position, [self._stored(vector, number) for vector in cell.lanes]]

    def restored(self, state: Any, identifier: Callable[[int], int]) -> Cell:
        """The cell again."""
        position, lanes = state
        cell = Cell([None if each is None else self._restored(each, identifier) for each in lanes])
        cell.position = position
        return cell

    def _stored(self, vector: Vector | None, number: Callable[[int], int]) -> State:
        if vector is None:
            return None
        count, first, last, values = vector
        stored = [measure.stored(value, number) for measure, value in zip(self.measures, values, strict=True)]
        return [stored_number(count), first, last, stored]

    def _restored(self, state: Any, identifier: Callable[[int], int]) -> Vector:
        count, first, last, stored = state
        values = [measure.restored(each, identifier) for measure, each in zip(self.measures, stored, strict=True)]
        return int(restored_number(count)), first, last, tuple(values)

    def _extended(self, vector: Vector, step: _Step, ids: tuple[int, ...], time: int) -> Vector:
        count, first, _, values = vector
        if step.measured:
            after = list(values)
            for place, at, forgets in step.measured:
                measure, value = self.measures[place], after[place]
                if forgets:
                    value = measure.unbound(count)
                after[place] = value if at is None else measure.taken(value, count, ids[at])
            values = tuple(after)
        return count, time if step.begins else first, time, values

    def _end(self, lanes: list[Vector | None], taken: Taken) -> None:
        for lane in self._machine.strict:
            lanes[lane] = None
        for symbol, _ in taken:
            for lane in self._machine.killed.get(symbol, ()):
                lanes[lane] = None

    def _step(self, symbol: int, move: Move) -> _Step:
        touched = []
        for place, each in enumerate(self._measured):
            binds = each.variable in self._scopes[symbol]
            forgets = each.inner is None and each.variable in move.forgets
            if binds or forgets:
                touched.append((place, self.variables.index(each.variable) if binds else None, forgets))
        return _Step(move.lane, move.target, self._machine.lanes[move.lane].state == 0, tuple(touched))
