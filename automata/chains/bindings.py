"""The values of variables as runs take edges: which are joined, which must agree, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains.deferred import RunView
from automata.chains.table import Layout
from automata.plan.automaton import Automaton, Crossing
from automata.plan.facts import Analysis
from automata.plan.program import Program
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import UNBOUND, Ids, Mask


@dataclass(frozen=True, slots=True)
class _Variables:
    """Of one edge.

    key         those that both its runs and the step's solutions always bind
    scope       those that the step may bind
    shared      those of them that the runs may have bound
    bound       those that the step alone may bind
    merged      those that either may leave to the other
    loops       repetitions of which it begins another iteration
    """

    key: tuple[int, ...]
    scope: frozenset[int]
    shared: tuple[int, ...]
    bound: tuple[int, ...]
    merged: tuple[int, ...]
    loops: tuple[int, ...]


class Bindings:
    """The variables of one program along the edges of its automaton.

    given   those that are bound before the first step
    """

    def __init__(
        self, program: Program, automaton: Automaton, analysis: Analysis, layout: Layout, given: frozenset[int]
    ) -> None:
        self.given = given
        self._program = program
        self._automaton = automaton
        self._analysis = analysis
        self._layout = layout
        self._of = [self._variables(number) for number in range(len(automaton.edges))]

    def key(self, number: int) -> tuple[int, ...]:
        """The variables by which the edge's runs and events are joined."""
        return self._of[number].key

    def shared(self, number: int) -> tuple[int, ...]:
        """The variables that both a run and the step may have bound."""
        return self._of[number].shared

    def loops(self, number: int) -> tuple[int, ...]:
        """The repetitions of which the edge begins another iteration."""
        return self._of[number].loops

    def base(self, runs: RunView, number: int, rows: Ids) -> NDArray[np.int64]:
        """The registers with which rows come to an edge's step: a new iteration forgets what the last one bound."""
        registers = runs.registers(rows)
        self._forget(runs, number, rows, registers)
        return registers

    def _forget(self, runs: RunView, number: int, rows: Ids, registers: NDArray[np.int64]) -> None:
        for repetition in self._of[number].loops:
            variables = sorted(self._analysis.locals[repetition])
            entered = runs.written.registers(runs.column(rows, self._layout.entry(repetition)))
            registers[:, variables] = entered[:, variables]

    def before(self, runs: RunView, number: int, rows: Ids, variable: int) -> Ids:
        """One column of `base`."""
        for repetition in reversed(self._of[number].loops):
            if variable in self._analysis.locals[repetition]:
                return runs.written.register(runs.column(rows, self._layout.entry(repetition)), variable)
        return runs.register(rows, variable)

    def registers(self, runs: RunView, number: int, table: StepTable, pairs: Pairs) -> NDArray[np.int64]:
        """int64[pairs, variables]: the registers with the step's values in."""
        registers = runs.registers(pairs.rows)
        self.bind(runs, number, table, pairs, registers)
        return registers

    def bind(self, runs: RunView, number: int, table: StepTable, pairs: Pairs, registers: NDArray[np.int64]) -> None:
        """Makes those that the pairs' rows have into those once the edge has been taken."""
        of = self._of[number]
        self._forget(runs, number, pairs.rows, registers)
        for variable in of.bound:
            registers[:, variable] = table.value(variable)[pairs.steps]
        for variable in of.merged:
            registers[:, variable] = _merged(table, pairs, variable, registers[:, variable])

    def register(self, runs: RunView, number: int, table: StepTable, pairs: Pairs, variable: int) -> Ids:
        """One column of `registers`."""
        of = self._of[number]
        if variable not in of.scope:
            return self.before(runs, number, pairs.rows, variable)
        if variable not in of.shared:
            return table.value(variable)[pairs.steps]
        return _merged(table, pairs, variable, self.before(runs, number, pairs.rows, variable))

    def compatible(self, runs: RunView, number: int, table: StepTable, pairs: Pairs) -> Mask:
        """Where the step binds nothing to another value than the run has."""
        compatible = np.ones(len(pairs), dtype=np.bool_)
        for variable in self._of[number].shared:
            new, old = table.value(variable)[pairs.steps], self.before(runs, number, pairs.rows, variable)
            same = new == old
            compatible &= same if same.all() else same | (new == UNBOUND) | (old == UNBOUND)
        return compatible

    def _variables(self, number: int) -> _Variables:
        edge = self._automaton.edges[number]
        loops = tuple(a.repetition for a in edge.actions if a.crossing is Crossing.LOOP)
        bound = self._analysis.certain[edge.source]
        for repetition in loops:
            bound -= self._analysis.locals[repetition] - self._analysis.entered[repetition]
        symbols = self._automaton.positions[edge.target].symbols
        certain = frozenset().union(*(self._program.symbols[symbol].certain for symbol in symbols))
        scope = self._analysis.scope[edge.target]
        shared = scope & (self._analysis.possible[edge.source] | self.given)
        key = bound & certain
        return _Variables(
            tuple(sorted(key)),
            scope,
            tuple(sorted(shared)),
            tuple(sorted(scope - shared)),
            tuple(sorted(shared - key)),
            loops,
        )


def _merged(table: StepTable, pairs: Pairs, variable: int, old: Ids) -> Ids:
    new = table.value(variable)[pairs.steps]
    return np.where(new == UNBOUND, old, new)
