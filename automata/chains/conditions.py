"""Conditions of steps: which are looked at on arrival, which still wait, which are decided at the end.

Specification 3.1: a condition is decided as soon as it waits for nothing; the condition of a repeated
step is one condition per iteration, and sees the values of that iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automata.chains.decided import DecidedConditions
from automata.chains.deferred import crossed
from automata.chains.iteration import Tracks, View, named
from automata.chains.lookback import Lookback
from automata.chains.table import PARENT, POSITION, SOURCE, STATE, SYMBOL, Layout, Runs
from automata.plan.automaton import Automaton, Edge
from automata.plan.facts import Analysis, Check
from automata.plan.program import EVENT, ConditionEvaluator, Program, Reference
from automata.values import NONE, UNBOUND, Ids, Mask

EventOf = Callable[[int], Ids]
"""symbol → for each run the position of the event that its last step took for that symbol."""


class Checks:
    """Looks at the conditions of one program."""

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        analysis: Analysis,
        layout: Layout,
        tracks: Tracks,
        condition_evaluator: ConditionEvaluator,
    ) -> None:
        self._program = program
        self._automaton = automaton
        self._analysis = analysis
        self._layout = layout
        self._tracks = tracks
        self._condition_evaluator = condition_evaluator
        self._lookback = Lookback(automaton, analysis, layout)
        self._decided = DecidedConditions(program, automaton, analysis, layout, self._lookback)

    def needed(self, position: int) -> bool:
        """Whether taking the position's step involves any condition."""
        return bool(self._analysis.checks[position])

    def arriving(
        self, runs: Runs, number: int, edge: Edge, rows: Ids, registers: NDArray[np.int64], event_of: EventOf
    ) -> Mask:
        """Which of the runs that take `edge` from `rows` fulfil every condition that can now be decided."""
        passed = np.ones(len(rows), dtype=np.bool_)
        view = self._tracks.arriving(runs, self._layout, rows, edge, registers)
        for check in self._analysis.checks[edge.target]:
            which = np.flatnonzero(passed & self._taken(runs, check, rows))
            at = functools.partial(_at, event_of, which)
            passed[which] = self._look(runs, check, rows[which], view.take(which), number, at, True)
        return passed

    def standing(self, runs: Runs, rows: Ids, checks: Sequence[Check], patient: bool) -> Mask:
        """The same for runs whose last rows these are; if not `patient`, what is unbound stays so."""
        passed = np.ones(len(rows), dtype=np.bool_)
        for check in checks:
            which = np.flatnonzero(passed & self._taken(runs, check, rows))
            if len(which):
                view = self._tracks.standing(runs, self._layout, rows[which])
                passed[which] = self._look(runs, check, rows[which], view, NONE, lambda _: rows[:0], patient)
        return passed

    def _taken(self, runs: Runs, check: Check, rows: Ids) -> Mask:
        """Runs that have an instance of the condition: always so at its home."""
        if check.at_home:
            return np.ones(len(rows), dtype=np.bool_)
        result: Mask = runs.column(rows, self._layout.marker(check.marker)) == 1
        return result

    def _look(
        self,
        runs: Runs,
        check: Check,
        rows: Ids,
        view: View,
        number: int,
        event_of: EventOf,
        patient: bool,
    ) -> Mask:
        condition = self._program.conditions[check.condition]
        if not check.at_home and (check.iterated or condition.needs_event):
            return self._look_back(runs, check, rows, view, number, patient)
        passed = np.ones(len(rows), dtype=np.bool_)
        ready = passed.copy()
        if patient:
            spent = self._spent(runs, check, rows, number)
            for variable in check.waiting:
                bound = view.registers[:, variable] != UNBOUND
                ready &= bound | spent[variable] if variable in spent else bound
        which = np.flatnonzero(ready)
        if len(which):
            some = view.take(which)
            columns = self._tracks.columns(condition.references, some, runs, self._layout, self._condition_evaluator)
            if condition.needs_event:
                columns[EVENT] = event_of(condition.symbol)[which]
            passed[which] = self._condition_evaluator.holds(check.condition, columns, len(which))
        if check.lossy and not passed.all():
            self._pass_decided(runs, check, rows, view, number, passed)
        return passed

    def _pass_decided(self, runs: Runs, check: Check, rows: Ids, view: View, number: int, passed: Mask) -> None:
        """Lets those pass for which the condition was decided before and has nothing new to look at."""
        for run in np.flatnonzero(~passed).tolist():
            chain = self._lookback.chain(runs, int(rows[run]))
            at = next(at for at, row in enumerate(chain) if runs.table[row, STATE] == check.home)
            passed[run] = self._decided.before(runs, check, chain, at, number, view.registers[run])

    def _look_back(self, runs: Runs, check: Check, rows: Ids, view: View, number: int, patient: bool) -> Mask:
        """Every instance of the condition along each chain, each in its own iteration."""
        condition = self._program.conditions[check.condition]
        around = self._automaton.positions[check.home].repetitions
        passed = np.ones(len(rows), dtype=np.bool_)
        spent = self._spent(runs, check, rows, number)
        for run, row in enumerate(rows.tolist()):
            chain = self._lookback.chain(runs, row)
            for at, ancestor in enumerate(chain):
                if runs.table[ancestor, STATE] != check.home:
                    continue
                seen, ends = self._lookback.seen(runs, chain, at, around, view.registers[run], number)
                unbound = [variable for variable in check.waiting if seen[variable] == UNBOUND]
                if patient and not all(variable in spent and spent[variable][run] for variable in unbound):
                    continue
                now = view.take(np.array([run]))
                own = self._tracks.seen_from(
                    around, ends, replace(now, registers=seen[np.newaxis, :]), runs, self._layout
                )
                columns = self._tracks.columns(condition.references, own, runs, self._layout, self._condition_evaluator)
                if condition.needs_event:
                    columns[EVENT] = np.array([self._event(runs, ancestor, condition.symbol)])
                held = bool(self._condition_evaluator.holds(check.condition, named(columns, np.array([0])), 1)[0])
                if not held and check.lossy:
                    held = self._decided.before(runs, check, chain, at, number, view.registers[run])
                passed[run] &= held
        return passed

    def _spent(self, runs: Runs, check: Check, rows: Ids, number: int) -> dict[int, Mask]:
        """Variable → runs in which nothing can bind it any more: a repetition has had as many iterations as it may."""
        if not check.spent:
            return {}
        counted = {} if number == NONE else crossed(self._automaton.edges[number], runs, rows)
        spent: dict[int, Mask] = {}
        for variable, repetition in check.spent:
            column = self._layout.count(repetition)
            counts = counted[column] if column in counted else runs.column(rows, column)
            at_most = self._automaton.repetitions[repetition].at_most
            assert at_most is not None, repetition
            spent[variable] = (counts >= at_most) | spent.get(variable, False)
        return spent

    @staticmethod
    def _event(runs: Runs, row: int, symbol: int) -> int:
        source = int(runs.table[row, SOURCE])
        while row not in (NONE, source):
            if runs.table[row, SYMBOL] == symbol:
                return int(runs.table[row, POSITION])
            row = int(runs.table[row, PARENT])
        raise AssertionError(f"symbol {symbol} was not taken by the step")


def _at(event_of: EventOf, which: Ids, symbol: int) -> Ids:
    return event_of(symbol)[which]


def standing_references(
    tracks: Tracks,
    references: Sequence[Reference],
    runs: Runs,
    layout: Layout,
    condition_evaluator: ConditionEvaluator,
    rows: Ids,
) -> dict[Reference, Ids]:
    """The references' values for runs that stand at these rows."""
    return tracks.columns(references, tracks.standing(runs, layout, rows), runs, layout, condition_evaluator)
