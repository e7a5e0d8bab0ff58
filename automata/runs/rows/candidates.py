"""Step candidates of one event: its solutions, their places, and their combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from automata.plan.program import Program
from automata.slices.symbol_tables import SymbolTables
from automata.slices.timeline import Carry, window_numbers
from automata.values import NONE, UNBOUND

Solution = tuple[int, ...]
"""The values of a symbol's variables, in ascending order of the variables."""


class Moment(NamedTuple):
    """The place of the event in one partition; NONE four times where a solution is in none."""

    partition: int
    rank: int
    slot: int
    window: int


class StepCandidate(NamedTuple):
    """A solution, or a combination of several, that a step can take.

    values      of the step's variables in ascending order
    numbers     of the solution of each of its symbols in the event
    """

    values: Solution
    numbers: tuple[int, ...]
    moment: Moment


OUTSIDE = Moment(NONE, NONE, NONE, NONE)


class StepCandidates:
    """Places events, and joins the solutions of symbols that are taken together."""

    def __init__(self, program: Program, symbol_tables: SymbolTables) -> None:
        self._program = program
        self._window = program.window
        self._symbol_tables = symbol_tables
        self._timeline = symbol_tables.timeline
        self._scopes = [sorted(symbol.scope) for symbol in program.symbols]
        self._keys = [self._key_places(scope) for scope in self._scopes]
        self._joint: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self._number = (0, 0, 0)

    def single(self, time: int, solutions: Mapping[int, Sequence[Solution]]) -> dict[int, list[StepCandidate]]:
        """symbol → its solutions; the next event stands after the one before.

        solutions   symbol → the event's solutions, of the symbols that have any
        """
        if not self._program.partition:
            here = self._next(0, time)
            return {
                symbol: [StepCandidate(values, (n,), here) for n, values in enumerate(found)]
                for symbol, found in solutions.items()
            }
        moments: dict[int, Moment] = {}
        return {
            symbol: [
                StepCandidate(values, (n,), self._moment(symbol, values, time, moments))
                for n, values in enumerate(found)
            ]
            for symbol, found in solutions.items()
        }

    def together(self, symbols: tuple[int, ...], single: Mapping[int, Sequence[StepCandidate]]) -> list[StepCandidate]:
        """The candidates of a conjunction, in a partition and a window (G Definition 8)."""
        if symbols not in self._joint:
            scope = sorted({variable for symbol in symbols for variable in self._scopes[symbol]})
            self._joint[symbols] = [tuple(scope.index(v) for v in self._scopes[symbol]) for symbol in symbols]
        places = self._joint[symbols]
        width = 1 + max((place for own in places for place in own), default=-1)
        found = [StepCandidate((UNBOUND,) * width, (), OUTSIDE)]
        for symbol, own in zip(symbols, places, strict=True):
            found = [
                StepCandidate(values, candidate.numbers + more.numbers, more.moment)
                for candidate in found
                for more in single.get(symbol, ())
                if (not candidate.numbers or candidate.moment == more.moment)
                and (values := _joined(candidate.values, own, more.values)) is not None
            ]
        return found

    def _moment(self, symbol: int, values: Solution, time: int, moments: dict[int, Moment]) -> Moment:
        places = self._keys[symbol]
        if places is None:
            return OUTSIDE
        key = tuple([values[place] for place in places])
        if UNBOUND in key:
            return OUTSIDE
        partition = self._symbol_tables.partition_number(key)
        if partition not in moments:
            moments[partition] = self._next(partition, time)
        return moments[partition]

    def _next(self, partition: int, time: int) -> Moment:
        """The place of the next event of a partition, which is the only one of its slot."""
        carries = self._timeline.carries
        carry = carries.get(partition)
        if carry is None:
            carry = carries[partition] = Carry()
        rank = carry.rank
        carry.rank += 1
        carry.slot = rank if self._timeline.total else carry.slot + 1
        return Moment(partition, rank, carry.slot, self._window_number(rank if self._window.in_events else time))

    def _window_number(self, where: int) -> int:
        """As `window_numbers` gives it; looked up once for each window."""
        window = self._window
        if window.sliding:
            return 0
        begin, end, number = self._number
        if not begin <= where < end:
            number = int(window_numbers(window, np.array([where]), np.array([where]))[0])
            begin = where - (where - window.start) % window.period
            end = begin + window.size
            self._number = (begin, end, number) if where < end else (end, begin + window.period, number)
        return number

    def _key_places(self, scope: Sequence[int]) -> tuple[int, ...] | None:
        """The places of the variables of PARTITION BY in a solution; None if it does not bind them all."""
        wanted = self._program.partition
        return tuple(scope.index(variable) for variable in wanted) if set(wanted) <= set(scope) else None


def _joined(values: Solution, places: Sequence[int], solution: Solution) -> Solution | None:
    """The values with those of a solution at their places; None if they contradict each other."""
    joined = list(values)
    for place, value in zip(places, solution, strict=True):
        if value != UNBOUND:
            if joined[place] not in (UNBOUND, value):
                return None
            joined[place] = value
    return tuple(joined)
