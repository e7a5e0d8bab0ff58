"""Conditions of steps: which are evaluated on arrival, which still wait, which are decided at the end.

Specification 3.1: a condition is decided as soon as it waits for nothing; the condition of a repeated
step is one condition per iteration, and sees the values of that iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.decided import DecidedConditions
from automata.chains.deferred import crossed
from automata.chains.iteration import Iterations, IterationView
from automata.chains.lookback import Lookback
from automata.chains.series import Asker
from automata.chains.table import Runs
from automata.plan.plan import Plan
from automata.plan.program import EVENT, Condition, ConditionEvaluator
from automata.plan.waiting import EvaluationPoint
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE, UNBOUND, Ids, Mask


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Runs on which conditions are evaluated.

    rows    their last rows; where they are taking an edge, the rows that take it
    view    their values, once they have taken it
    edge    its number; NONE: they have arrived
    events  symbol → the event that its step takes, where a condition reads it
    told    see `bindings.told`
    patient what is unbound may still be bound
    """

    rows: Ids
    view: IterationView
    edge: int
    events: Mapping[int, Ids]
    told: Mapping[int, Mask]
    patient: bool

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Ids) -> _Candidates:
        events = {symbol: positions[which] for symbol, positions in self.events.items()}
        told = {variable: binds[which] for variable, binds in self.told.items()}
        return replace(self, rows=self.rows[which], view=self.view.take(which), events=events, told=told)


class RunConditions:
    """Evaluates the conditions of one plan on its runs."""

    def __init__(
        self,
        plan: Plan,
        runs: Runs,
        iterations: Iterations,
        lookback: Lookback,
        condition_evaluator: ConditionEvaluator,
    ) -> None:
        self._plan = plan
        self._runs = runs
        self._iterations = iterations
        self._lookback = lookback
        self._condition_evaluator = condition_evaluator
        self._decided = DecidedConditions(plan, runs, lookback)

    def admitted(self, number: int, table: StepTable, pairs: Pairs) -> Mask:
        """A mask of the pairs that can take an edge and fulfil every condition that can then be decided."""
        edge = self._plan.edges[number]
        points = self._plan.positions[edge.target].arriving
        if not points or not len(pairs):
            return np.ones(len(pairs), dtype=np.bool_)
        looking = {condition.symbol for point in points if (condition := self._condition(point)).needs_event}
        events = {part.symbol: part.positions[pairs.steps] for part in table.parts if part.symbol in looking}
        told = bindings.told(self._plan, edge, table, pairs)
        return self.arriving(number, pairs.rows, bindings.bound(self._runs, edge, table, pairs), events, told)

    def arriving(
        self, number: int, rows: Ids, registers: NDArray[np.int64], events: Mapping[int, Ids], told: Mapping[int, Mask]
    ) -> Mask:
        """A mask of the runs that take an edge from `rows` and fulfil every condition that can then be decided.

        registers   once the edge has been taken
        events      symbol → the position of the event that the step takes
        told        see `bindings.told`
        """
        edge = self._plan.edges[number]
        view = self._iterations.arriving(rows, edge, registers, told)
        return self._passed(
            _Candidates(rows, view, number, events, told, True), self._plan.positions[edge.target].arriving
        )

    def arrived(self, rows: Ids, points: Sequence[EvaluationPoint], patient: bool) -> Mask:
        """The same for runs whose last rows these are; if not `patient`, what is unbound stays so."""
        if not points:
            return np.ones(len(rows), dtype=np.bool_)
        return self._passed(_Candidates(rows, self._iterations.arrived(rows), NONE, {}, {}, patient), points)

    def _passed(self, runs: _Candidates, points: Sequence[EvaluationPoint]) -> Mask:
        passed = np.ones(len(runs), dtype=np.bool_)
        for point in points:
            which = np.flatnonzero(passed & self._taken(point, runs.rows))
            if len(which):
                passed[which] = self._evaluated(point, runs.take(which))
        return passed

    def _condition(self, point: EvaluationPoint) -> Condition:
        return self._plan.program.conditions[point.condition]

    def _taken(self, point: EvaluationPoint, rows: Ids) -> Mask:
        """Runs that have an instance of the condition: always so at its owner, and of a condition of the match."""
        if point.at_owner or point.marker == NONE:
            return np.ones(len(rows), dtype=np.bool_)
        taken: Mask = self._runs.column(rows, self._runs.layout.marker(point.marker)) == 1
        return taken

    def _evaluated(self, point: EvaluationPoint, runs: _Candidates) -> Mask:
        """A mask of the rows whose condition holds or still waits."""
        condition = self._condition(point)
        if not point.at_owner and (point.iterated or condition.needs_event):
            return self._each_instance(point, runs)
        passed = np.ones(len(runs), dtype=np.bool_)
        which = np.flatnonzero(self._ready(point, runs))
        if len(which):
            ready = runs.take(which)
            columns = self._iterations.columns(condition.references, ready.view)
            if condition.needs_event:
                columns[EVENT] = ready.events[condition.symbol]
            passed[which] = self._condition_evaluator.holds(point.condition, columns, len(which))
        if point.lossy and not passed.all():
            self._pass_decided(point, runs, passed)
        return passed

    def _ready(self, point: EvaluationPoint, runs: _Candidates) -> Mask:
        """A mask of the rows whose condition waits for nothing."""
        ready = np.ones(len(runs), dtype=np.bool_)
        if runs.patient:
            spent = self._spent(point, runs)
            for variable in point.waiting:
                bound = runs.view.registers[:, variable] != UNBOUND
                ready &= bound | spent[variable] if variable in spent else bound
        return ready

    def _pass_decided(self, point: EvaluationPoint, runs: _Candidates, passed: Mask) -> None:
        """Lets those pass for which the condition was decided before and has nothing new to evaluate."""
        for run in np.flatnonzero(~passed).tolist():
            chain = self._lookback.chain(int(runs.rows[run]))
            at = next(at for at, row in enumerate(chain) if self._runs.table[row, col.STATE] == point.owner)
            told = frozenset(variable for variable, binds in runs.told.items() if binds[run])
            passed[run] = self._decided.before(point, chain, at, runs.edge, runs.view.registers[run], told)

    # --- one run at a time ------------------------------------------------------------------------

    def _each_instance(self, point: EvaluationPoint, runs: _Candidates) -> Mask:
        """Every instance of the condition along each chain, each in its own iteration."""
        spent = self._spent(point, runs)
        passed = np.ones(len(runs), dtype=np.bool_)
        for run, row in enumerate(runs.rows.tolist()):
            chain = self._lookback.chain(row)
            own_spent = {variable for variable, mask in spent.items() if mask[run]}
            passed[run] = all(
                self._holds(point, runs.take(np.array([run])), chain, at, own_spent)
                for at, ancestor in enumerate(chain)
                if self._runs.table[ancestor, col.STATE] == point.owner
            )
        return passed

    def _holds(self, point: EvaluationPoint, run: _Candidates, chain: Sequence[int], at: int, spent: set[int]) -> bool:
        """True if the instance in step number `at` of one run's chain holds, or still waits.

        spent   variables that nothing can bind any more
        """
        condition, registers = self._condition(point), run.view.registers[0]
        around = self._plan.positions[point.owner].repetitions
        told = frozenset(variable for variable, binds in run.told.items() if binds[0])
        seen, _ = self._lookback.seen(chain, at, around, registers, run.edge, told)
        if run.patient and any(seen[variable] == UNBOUND for variable in point.waiting - spent):
            return True
        asker = Asker(chain[at], len(around)) if around else None
        view = replace(run.view, registers=seen[np.newaxis, :], asker=asker)
        columns = self._iterations.columns(condition.references, view)
        if condition.needs_event:
            columns[EVENT] = np.array([self._event(chain[at], condition.symbol)])
        held = bool(self._condition_evaluator.holds(point.condition, columns, 1)[0])
        return held or (point.lossy and self._decided.before(point, chain, at, run.edge, registers, told))

    def _spent(self, point: EvaluationPoint, runs: _Candidates) -> dict[int, Mask]:
        """Variable → runs in which nothing can bind it any more: a repetition has had as many iterations as it may."""
        if not point.spent:
            return {}
        counted = {} if runs.edge == NONE else crossed(self._plan.edges[runs.edge], self._runs, runs.rows)
        spent: dict[int, Mask] = {}
        for variable, repetition in point.spent:
            column = self._runs.layout.count(repetition)
            counts = counted[column] if column in counted else self._runs.column(runs.rows, column)
            at_most = self._plan.repetitions[repetition].at_most
            assert at_most is not None, repetition
            spent[variable] = (counts >= at_most) | spent.get(variable, False)
        return spent

    def _event(self, row: int, symbol: int) -> int:
        """The event that the step of a row took for a symbol."""
        table, source = self._runs.table, int(self._runs.table[row, col.SOURCE])
        while row not in (NONE, source):
            if table[row, col.SYMBOL] == symbol:
                return int(table[row, col.POSITION])
            row = int(table[row, col.PARENT])
        raise AssertionError(f"symbol {symbol} was not taken by the step")
