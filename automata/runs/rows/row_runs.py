"""Runs that consume one event at a time, as lists of Python's integers.

A slice of one event does not repay the fixed cost of columns. The rows are those of `automata.chains.table` as lists;
compaction, snapshots and long slices are done in columns, between `leave` and `enter`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arrays.times import ENDLESS_NS, later
from automata.chains import columns as col
from automata.matches.match_stage import StagedEvaluator
from automata.plan.pruning import is_gapless
from automata.runs.columns.expiry import Bounds
from automata.runs.rows.all_join import RowAllJoin
from automata.runs.rows.arrivals import Arrivals
from automata.runs.rows.candidates import Solution, StepCandidate, StepCandidates
from automata.runs.rows.conditions import Conditions, RowConditionEvaluator
from automata.runs.rows.edges import RowEdge, cross, row_edges, row_positions, unbounded
from automata.runs.rows.ending import Ending
from automata.runs.rows.negation import RowNegationIndex
from automata.runs.rows.row_table import Row, RowTable
from automata.runs.rows.store import Store, key_of
from automata.slices.events import Gap
from automata.slices.step_table import SEVERAL
from automata.values import NONE, UNBOUND, Match


class _Taken(NamedTuple):
    """An edge, the run that takes it, the registers afterwards, and how it is taken."""

    step: RowEdge
    number: int
    registers: list[int]
    candidate: StepCandidate


class RowRuns:
    """The runs of a program while they are held as lists; see `enter`.

    taken   by edge, how often a run has taken it
    """

    def __init__(self, stage: StagedEvaluator, condition_evaluator: RowConditionEvaluator, taken: list[int]) -> None:
        self._taken = taken
        core = self._core = stage.chains
        program = core.plan.program
        self._timeline = stage.timeline
        self._window = program.window
        self._partitioned = bool(program.partition)
        sliding, in_events = program.window.sliding, program.window.in_events
        self._size_ns = program.window.size if sliding and not in_events else ENDLESS_NS
        self._size = program.window.size if sliding and in_events else ENDLESS_NS
        self._registers = core.layout.registers
        rows = RowTable(core.runs)
        conditions = self.conditions = Conditions(core, condition_evaluator, rows)
        self._places = row_positions(core, conditions)
        all_join = RowAllJoin(core, rows)
        self._store = Store(core, self._places, self._partitioned, rows, all_join)
        self._rows = rows
        steps = row_edges(core, conditions)
        self._strict_rivals = any(step.strict and step.closes for step in steps)
        self._found = [(step, key_of(step.key, 0)) for step in steps]
        self._candidates = StepCandidates(program, stage.symbol_tables)
        self.negations = RowNegationIndex(core, stage.negations, conditions, rows)
        self._ending = Ending(stage.reporter, self.negations, conditions, self._store)
        self._gapless = is_gapless(core.plan)
        self._possessive = bool(core.plan.possessive)
        self._check_runs, self._runs_max = program.check_runs, program.runs_max
        self._counted = 0
        self._arrivals = Arrivals(self._places, self._store, all_join)

    def __len__(self) -> int:
        return self._rows.size

    @property
    def new(self) -> int:
        """The number of rows and solutions of negated steps added since the last count."""
        return self._rows.size + self.negations.added - self._counted

    @property
    def waits(self) -> bool:
        """True if a watermark can release matches."""
        return self._ending.trails

    def count(self) -> int:
        """The number of runs that are alive and of solutions of negated steps."""
        self._counted = len(self._rows) + self.negations.added
        return self._store.count() + len(self.negations)

    def enter(self) -> None:
        """Take the runs over from their columns."""
        self.conditions.forget()
        self._store.enter()
        self.negations.enter()
        self._ending.enter()

    def leave(self) -> None:
        """Give the runs back as columns; they may go on as lists."""
        self.sync()
        self._store.leave()

    @property
    def runs(self) -> int:
        """The number of runs that are kept; the first row is the beginning of all."""
        return self._rows.size - 1

    def sync(self) -> None:
        """Let the columns have all rows, without telling which of them are alive."""
        self._store.sync()
        self.negations.sync()
        self._ending.sync()

    def take(self, time: int, stream: int, solutions: Mapping[int, Sequence[Solution]]) -> Sequence[Match]:
        """The next event, alone in its time slot: the matches that can then be reported, in report order.

        solutions   symbol → the event's solutions, of the symbols that have any
        """
        position = self._timeline.position
        self._timeline.position += 1
        single = self._candidates.single(time, solutions)
        self.negations.add(single, position, time, stream)
        taken = self._takings(single, time, stream) if single else []
        self._store.pass_by(single)
        if self._rows.size + len(taken) > self._runs_max:
            self._check_runs(self.runs + len(taken))
        for each in taken:
            self._taken[each.step.number] += 1
        if self._core.dominance is None:
            for each in taken:
                self._arrivals.arrive(each.step.target, self._grow(each, time, stream, position))
        elif taken:
            grown = [(self._grow(each, time, stream, position), None) for each in taken]
            for number in self._core.dominance.kept(self._rows.__getitem__, grown):
                self._arrivals.arrive(self._rows[number][col.STATE], number)
        return self._ending.matches(self._arrivals.reached(), time, self._timeline)

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which a match is due."""
        self._timeline.skip_gap(gap, self._partitioned)
        self._store.pass_by({})

    def due(self) -> int:
        """As `automata.protocol.Evaluator`."""
        return self._ending.due()

    def pass_time(self, time: int) -> Sequence[Match]:
        """No event before `time` will come any more: the matches that were waiting for that."""
        return self._ending.matches((), time, self._timeline)

    def expire(self, over: Bounds) -> None:
        """Drop runs that are over."""
        self.leave()
        self._store.expire(over, self._window)

    # --- one event --------------------------------------------------------------------------------

    def _takings(self, single: Mapping[int, Sequence[StepCandidate]], time: int, stream: int) -> list[_Taken]:
        """The runs that take an edge with the event (specification 3.2); marks what skip-till-next has taken."""
        taken: list[_Taken] = []
        for step, find in self._found:
            together = len(step.symbols) > 1
            candidates = self._candidates.together(step.symbols, single) if together else single.get(step.symbols[0])
            if not candidates:
                continue
            index = self._store.active[step.source][step.index]
            before = len(taken)
            for candidate in candidates:
                bucket = index.find(find(candidate.values))
                if bucket and candidate.moment.window != NONE:
                    self._meet(step, bucket, candidate, time, stream, taken)
                    if len(taken) > self._runs_max:
                        self._check_runs(len(taken))
            if step.decided.in_columns and len(taken) > before:
                taken[before:] = self._admitted(step, taken[before:], self._timeline.position - 1)
        for each in taken:
            if each.step.closes:
                self._store.close(each.step, each.number)
        if self._possessive:
            taken = [each for each in taken if not self._is_ended(each)]
        if self._gapless:
            taken = [each for each in taken if self._is_gapless(each)]
        return [each for each in taken if self._is_adjacent(each)] if self._strict_rivals else taken

    def _is_ended(self, taken: _Taken) -> bool:
        """The run leaves a possessive repetition, and another one has gone on from it before."""
        row = self._rows[taken.number]
        return any(row[column] != NONE for column in taken.step.ended)

    def _is_gapless(self, taken: _Taken) -> bool:
        """The run has left no event out."""
        row = self._rows[taken.number]
        return row[col.FIRST] == NONE or taken.candidate.moment.rank <= row[col.RANK] + 1

    def _is_adjacent(self, taken: _Taken) -> bool:
        """False if the edge asks for an adjacent event, and this one is not."""
        row = self._rows[taken.number]
        return not taken.step.strict or _ends_before(row, taken.candidate.moment.slot)

    def _meet(
        self,
        step: RowEdge,
        bucket: Sequence[int],
        candidate: StepCandidate,
        time: int,
        stream: int,
        taken: list[_Taken],
    ) -> None:
        """Add the runs of a bucket that take the edge in this candidate."""
        rows, columns, (partition, rank, slot, window) = self._rows, self._registers, candidate.moment
        size_ns, size, tests, open_checks = self._size_ns, self._size, step.decided.tests, step.decided.open
        values = [(variable, value) for place, variable in step.brings if (value := candidate.values[place])]
        for number in bucket:
            row = rows[number]
            if row[col.FIRST] != NONE:
                high = row[col.HIGH_TIME]
                if time <= high and (time < high or row[col.HIGH_STREAM] != stream):
                    continue
                if row[col.WINDOW] != window or row[col.PARTITION] != partition:
                    continue
                if time - row[col.FIRST_TIME] > size_ns or rank - row[col.FIRST_RANK] >= size:
                    continue
                if step.strict and not (step.closes or _ends_before(row, slot)):
                    continue
                if step.limited and time > step.last(row):
                    continue
            if row[col.CLOSED] & step.blockers or (step.bounded and not unbounded(step, row)):
                continue
            registers = row[columns]
            for variable, entry in step.forgets:
                registers[variable] = rows[row[entry]][col.FIXED + variable]
            for variable, value in values:
                if (bound := registers[variable]) != value:
                    if bound != UNBOUND:
                        break
                    registers[variable] = value
            else:
                for test in tests:
                    if not test(registers):
                        break
                else:
                    for fulfilled in open_checks:
                        if not fulfilled(row, registers):
                            break
                    else:
                        taken.append(_Taken(step, number, registers, candidate))

    def _admitted(self, step: RowEdge, taken: Sequence[_Taken], position: int) -> list[_Taken]:
        """Those for which the conditions hold, as the columns tell."""
        self._store.sync()
        rows = np.array([each.number for each in taken], dtype=np.int64)
        registers = np.array([each.registers for each in taken], dtype=np.int64)

        events = dict.fromkeys(step.symbols, np.full(len(taken), position, dtype=np.int64))
        told = {v: np.array([each.candidate.values[place] != UNBOUND for each in taken]) for place, v, _ in step.tells}
        passed = self._core.conditions.arriving(step.number, rows, registers, events, told)
        return [each for each, holds in zip(taken, passed.tolist(), strict=True) if holds]

    # --- what comes of it -------------------------------------------------------------------------

    def _grow(self, taken: _Taken, time: int, stream: int, position: int) -> int:
        """Write the row of a run that has taken an edge; a conjunction adds a row for each member."""
        step, number, registers, candidate = taken
        old, (partition, rank, slot, window) = self._rows[number], candidate.moment
        row = [
            number, number, old[col.INSTANCE], step.number, step.target, step.symbols[-1], candidate.numbers[-1],
            position, time, stream, position, time, stream, position, slot, 0, 1, rank,
            *(old[col.FIRST_TIME:col.CLOSED] if old[col.FIRST] != NONE else (time, position, rank, window, partition)),
            0, *registers, *old[self._registers.stop :],
        ]  # fmt: skip
        if step.notes:
            self._note(step, row, old, number, len(self._rows) + len(step.symbols) - 1)
            for place, _, column in step.tells:
                row[column] = int(candidate.values[place] != UNBOUND)
        for symbol, solution in zip(step.symbols[:-1], candidate.numbers[:-1], strict=True):
            inner = row.copy()
            inner[col.EDGE] = inner[col.STATE] = NONE
            inner[col.SYMBOL], inner[col.SOLUTION] = symbol, solution
            self._rows.append(inner)
            row[col.PARENT] = len(self._rows) - 1
        self._rows.append(row)
        return self._rows.size - 1

    def _note(self, step: RowEdge, row: Row, old: Row, number: int, own: int) -> None:
        """Iterations, markers and members, in a row that will have the number `own`."""
        cross(step, row, old, number)
        time = row[col.HIGH_TIME]
        for column, limit, running in step.clocks:
            last = later(time, limit)
            row[column] = min(row[column], last) if running else last
        for column in step.marks:
            row[column] = 1
        for inside in step.inside:
            row[inside] = own
        for column in step.own:
            row[column] = NONE
        for column in step.left:
            row[column] = own
        for column in step.cleared:
            row[column] = 0


def _ends_before(row: Row, slot: int) -> bool:
    """True if no event lies between a run and a slot: its last step is in the slot before, and nothing there follows.

    Of several streams nothing follows all events.
    """
    return row[col.SLOT] + 1 == slot and (row[col.TAIL] != 0 or row[col.HIGH_STREAM] == SEVERAL)
