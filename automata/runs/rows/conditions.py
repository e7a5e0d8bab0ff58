"""Conditions of steps and values of iterations, as functions of one run (specification 3.1-3.2).

They agree with `automata.chains.conditions` and `automata.chains.iteration`. What those look up by iteration along
the whole run, or in the graphs of events, is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.plan.plan import PlannedEdge, walks
from automata.plan.program import ConditionEvaluator, FoldValue, IterationValue, Reference
from automata.plan.waiting import EvaluationPoint
from automata.runs.rows.row_table import Row, RowTable
from automata.values import NONE, UNBOUND

Test = Callable[[Sequence[int]], bool]
"""A condition: true if it holds, given the value of every variable, then those of its other references, in order."""
OpenCheck = Callable[[Row, Sequence[int]], bool]
"""An open condition of a run: true if it holds, given a row and the registers.

The row is that from which the run takes a step, with the registers afterwards; at the end of a match its last row.
"""
Estimated = Callable[[Sequence[int], float], bool | None]
"""A condition over the values of variables and about the number of an aggregate; None: not known."""
Reader = Callable[[Row, Sequence[int]], int]
"""The value of a reference, given the same."""


@runtime_checkable
class RowConditionEvaluator(ConditionEvaluator, Protocol):
    """A condition evaluator that also evaluates one combination of bindings at a time."""

    def test(self, condition: int) -> Test:
        """A condition that does not look at its event."""

    def fold_one(self, value: FoldValue, ids: tuple[int, ...]) -> int:
        """The aggregate of these ids, all of them bound."""

    def estimate(self, condition: int, value: FoldValue) -> Estimated | None:
        """A condition in which one aggregate is only known as `fold_number` tells; None where that is of no use."""

    def fold_number(self, value: FoldValue, ids: Sequence[int]) -> float:
        """About the number of an aggregate of these ids, near enough for `estimate`; NaN where it is not known."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The checks that a run must pass to take an edge, to complete an ALL, or to end.

    patient     what is unbound may still be bound
    tests       conditions on variables that are always looked at
    open        the other ones
    in_columns  `automata.chains.conditions` evaluates them instead
    """

    checks: tuple[EvaluationPoint, ...]
    patient: bool
    tests: tuple[Test, ...] = ()
    open: tuple[OpenCheck, ...] = ()
    in_columns: bool = False

    @property
    def nothing(self) -> bool:
        """True if there are none."""
        return not (self.tests or self.open or self.in_columns)


class Conditions:
    """The conditions of one program over rows of lists."""

    def __init__(self, core: ChainStore, condition_evaluator: RowConditionEvaluator, rows: RowTable) -> None:
        self._plan = core.plan
        self._program = core.plan.program
        self._layout = core.layout
        self._condition_evaluator = condition_evaluator
        self._rows = rows
        self._known: list[dict[int, int] | dict[int, float]] = []

    def forget(self) -> None:
        """The rows have other numbers now, or values no longer their ids."""
        for known in self._known:
            known.clear()

    def decided(self, checks: tuple[EvaluationPoint, ...], edge: PlannedEdge | None, patient: bool) -> Decided:
        """These checks of a run that takes an edge, or that has come to its last row."""
        if any(self._needs_columns(check) for check in checks):
            return Decided(checks, patient, in_columns=True)
        plain = [check for check in checks if edge is not None and self._is_plain(check)]
        tests = tuple(self._condition_evaluator.test(check.condition) for check in plain)
        others = tuple(self._open_check(check, edge, patient) for check in checks if check not in plain)
        return Decided(checks, patient, tests, others)

    def readers(self, references: Sequence[Reference]) -> list[Reader]:
        """The values of references for runs that have come to a row."""
        return [self._reader(reference, None) for reference in references]

    def negated(self, symbol: int) -> list[OpenCheck]:
        """The conditions of a negated step, given the last row of a match and the registers with the step's values."""
        return [self._check(number, None) for number in self._plan.conditions[symbol]]

    def _needs_columns(self, check: EvaluationPoint) -> bool:
        looks_back = check.iterated and not check.at_owner
        return looks_back or check.lossy or bool(check.spent) or self._is_read_in_columns(check.condition)

    def _is_read_in_columns(self, condition: int) -> bool:
        spec = self._program.conditions[condition]
        return spec.needs_event or walks(self._plan, spec.references)

    def _is_plain(self, check: EvaluationPoint) -> bool:
        references = self._program.conditions[check.condition].references
        return check.at_owner and not check.waiting and all(isinstance(reference, int) for reference in references)

    def _open_check(self, check: EvaluationPoint, edge: PlannedEdge | None, patient: bool) -> OpenCheck:
        """Passed where the step was not taken, or where it waits and there is time to."""
        holds = self._check(check.condition, edge)
        waiting = tuple(check.waiting) if patient else ()
        marker = NONE if check.at_owner or check.marker == NONE else self._layout.marker(check.marker)
        if marker == NONE and not waiting:
            return holds

        def fulfilled(row: Row, registers: Sequence[int]) -> bool:
            if marker != NONE and row[marker] != 1:
                return True
            for variable in waiting:
                if registers[variable] == UNBOUND:
                    return True
            return holds(row, registers)

        return fulfilled

    def _check(self, condition: int, edge: PlannedEdge | None) -> OpenCheck:
        test = self._condition_evaluator.test(condition)
        references = self._program.conditions[condition].references
        readers = [self._reader(reference, edge) for reference in references if not isinstance(reference, int)]
        if not readers:
            return lambda row, registers: test(registers)
        if len(readers) == 1:
            (only,) = readers
            (iterated,) = (reference for reference in references if not isinstance(reference, int))
            return self._estimated(condition, iterated, edge, lambda row, held: test([*held, only(row, held)]))
        return lambda row, registers: test([*registers, *[reader(row, registers) for reader in readers]])

    def _estimated(
        self, condition: int, value: IterationValue | FoldValue, edge: PlannedEdge | None, exactly: OpenCheck
    ) -> OpenCheck:
        """A condition that is looked at exactly only where an estimate of the aggregate does not decide it."""
        decide = self._condition_evaluator.estimate(condition, value) if isinstance(value, FoldValue) else None
        newest, _, current = self._track(value.variable, edge)
        if decide is None or current or not isinstance(value, FoldValue):
            return exactly
        about, values, number = decide, self._values(value.variable, edge), self._condition_evaluator.fold_number
        known: dict[int, float] = {}
        self._known.append(known)

        def holds(row: Row, registers: Sequence[int]) -> bool:
            last = row[newest]
            if last not in known:
                known[last] = number(value, values(row, registers))
            decided = about(registers, known[last])
            return exactly(row, registers) if decided is None else decided

        return holds

    def _reader(self, reference: Reference, edge: PlannedEdge | None) -> Reader:
        match reference:
            case int():
                return lambda row, registers: registers[reference]
            case IterationValue("PREV", variable):
                return self._previous(variable, edge)
            case IterationValue(kind, variable):
                values, which = self._values(variable, edge), -1 if kind == "LAST" else 0
                return lambda row, registers: found[which] if (found := values(row, registers)) else UNBOUND
            case FoldValue():
                return self._folded(reference, edge)

    def _track(self, variable: int, edge: PlannedEdge | None) -> tuple[int, int, bool]:
        """Columns of the newest row inside that is not the step itself, of the row before, and whether it is inside."""
        domain, layout = self._plan.domain_of[variable], self._layout
        inside, previous = layout.inside(domain), layout.previous(domain)
        current = edge is not None and domain in self._plan.positions[edge.target].inside
        goes_on = current and edge is not None and domain not in edge.begun
        return previous if goes_on else inside, previous, current

    def _previous(self, variable: int, edge: PlannedEdge | None) -> Reader:
        newest, previous, current = self._track(variable, edge)
        rows = self._rows

        def value(row: Row, registers: Sequence[int]) -> int:
            before = row[newest]
            if not current and before != NONE:
                before = rows[before][previous]
            return UNBOUND if before == NONE else rows[before][col.FIXED + variable]

        return value

    def _folded(self, value: FoldValue, edge: PlannedEdge | None) -> Reader:
        newest, _, current = self._track(value.variable, edge)
        values, fold = self._values(value.variable, edge), self._condition_evaluator.fold_one
        if current:
            return lambda row, registers: fold(value, tuple(values(row, registers)))
        known: dict[int, int] = {}
        self._known.append(known)

        def folded(row: Row, registers: Sequence[int]) -> int:
            last = row[newest]
            if last not in known:
                known[last] = fold(value, tuple(values(row, registers)))
            return known[last]

        return folded

    def _values(self, variable: int, edge: PlannedEdge | None) -> Callable[[Row, Sequence[int]], list[int]]:
        """The bound values of all iterations, oldest first."""
        newest, previous, current = self._track(variable, edge)
        rows, column = self._rows, col.FIXED + variable

        def values(row: Row, registers: Sequence[int]) -> list[int]:
            found = [registers[variable]] if current else []
            older = row[newest]
            while older != NONE:
                inside = rows[older]
                found.append(inside[column])
                older = inside[previous]
            return [value for value in reversed(found) if value != UNBOUND]

        return values
