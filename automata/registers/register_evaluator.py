"""The register match automaton as an evaluator: conditions between steps as guards, events one by one.

For sequences of single steps with `,` `;` `:`, repetition and `|`, joins by equality and conditions that compare
numbers (`automata.registers.tables.why_not` says what else there is). It returns
the matches of `automata.runs.columns.run_evaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata.matches.selection import after_state, restore_after
from automata.plan.plan import Plan
from automata.registers.answers import ask, forget_answers, new_answers
from automata.registers.apply import MATCHES, Output, new_output
from automata.registers.code import guard_code
from automata.registers.guard import GuardConditionEvaluator
from automata.registers.kernel import Slice, Stop, expire, sweep, take_in
from automata.registers.machine import FOUND, POSITION_NOW, TIME_NOW, VISITED, Machine, new_step
from automata.registers.places import NUMBER, USED, forget_places, grow_places, key_column, new_places
from automata.registers.pool import (
    FIRST,
    LINKED,
    LIVE,
    OLDEST,
    SIZE,
    grow,
    layout,
    link_again,
    new_pool,
    room,
)
from automata.registers.report import MatchReporter
from automata.registers.snapshot import machine_state, restored_machine
from automata.registers.tables import NONE, build_tables, why_not
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Match

_CANDIDATES_INITIAL = 64
_MATCHES_INITIAL, _ENTRIES_INITIAL = 256, 1024


class RegisterEvaluator:
    """Runs of one program for which `why_not` has no reason and `host` a guard for every condition."""

    state_kind = "registers"
    """See `automata.state.Restorable`."""

    def __init__(self, plan: Plan, condition_evaluator: GuardConditionEvaluator) -> None:
        assert why_not(plan) is None, why_not(plan)
        program = plan.program
        guards = [condition_evaluator.guard(number) for number in range(len(program.conditions))]
        tables, shape = build_tables(plan)
        columns = layout(shape)
        self._program = program
        self._condition_evaluator = condition_evaluator
        self._machine = Machine(
            shape,
            columns,
            tables,
            guard_code([guard for guard in guards if guard is not None]),
            new_pool(shape, columns),
            new_places(shape),
            new_answers(tables.shape[2]),
        )
        assert all(guard is not None for guard in guards), "a condition without a guard"
        self._step = new_step(shape, _CANDIDATES_INITIAL)
        self._output: Output = new_output(shape.variables, _MATCHES_INITIAL, _ENTRIES_INITIAL)
        self._reporter = MatchReporter(program, condition_evaluator)
        self._scopes = [sorted(symbol.scope) for symbol in program.symbols]
        self._widest = max(len(scope) for scope in self._scopes)
        self._position = 0
        self._serial = 0

    @property
    def needs_whole_slots(self) -> bool:
        """See `automata.protocol.Evaluator`."""
        return self._program.streams > 1

    @property
    def runs(self) -> int:
        """The number of live runs."""
        return int(self._machine.pool.ends[LIVE])

    @property
    def meetings(self) -> int:
        """The number of runs visited by events so far."""
        return int(self._step.now[VISITED])

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        if not len(events):
            return []
        slice_ = self._stretch(events, solutions)
        forget_answers(self._machine.answers)
        while (stop := Stop(self._take_in(slice_))) is not Stop.DONE:
            self._serve(stop)
        self._position += len(events)
        self._serial += len(slice_.events)
        self._reporter.collect(self._output)
        return self._reporter.report(self.oldest_position())

    def on_watermark(self, time: int) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        if not self._program.window.in_events:
            expire(self._machine, time)
        return []

    def finish(self) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        return []

    def live_ids(self) -> list[Ids]:
        """See `automata.protocol.Evaluator`."""
        pool, columns = self._machine.pool, self._machine.columns
        rows = pool.rows[1 : pool.ends[SIZE]]
        places = self._machine.places
        known = places.rows[: places.ends[USED]]
        keys = known[known[:, NUMBER] != NONE][:, key_column(self._machine.shape) :]
        return [np.unique(rows[rows[:, LINKED] != NONE][:, columns.registers :]), np.unique(keys)]

    def oldest_position(self) -> int:
        """See `automata.protocol.Evaluator`."""
        oldest = int(self._machine.pool.ends[OLDEST])
        return self._position if oldest == NONE else int(self._machine.pool.rows[oldest, FIRST])

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.protocol.Evaluator`."""
        return watermark

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        after = after_state(self._reporter.after)
        return {"machine": machine_state(self._machine), "after": after, "seen": [self._position, self._serial]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `automata.state.Restorable`."""
        self._machine = restored_machine(self._machine, self._step.merged, state["machine"])
        restore_after(self._reporter.after, state["after"])
        self._position, self._serial = state["seen"]

    def _take_in(self, slice_: Slice) -> int:
        return take_in(self._machine, self._step, self._output, slice_, self._condition_evaluator.numbers)

    def _stretch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Slice:
        """The columns as contiguous int64 arrays, the only type that the kernels are compiled for."""
        sizes = [len(solutions[s].events) if s in solutions else 0 for s in range(len(self._scopes))]
        ends = np.cumsum(np.array(sizes, dtype=np.int64))
        which = np.zeros(int(ends[-1]), dtype=np.int64)
        values = np.zeros((len(which), self._widest), dtype=np.int64)
        for symbol, table in solutions.items():
            begin, end = int(ends[symbol]) - sizes[symbol], int(ends[symbol])
            which[begin:end] = table.events
            for place, variable in enumerate(self._scopes[symbol]):
                if variable in table.values:
                    values[begin:end, place] = table.values[variable]
        return Slice(
            np.ascontiguousarray(events.times, dtype=np.int64),
            np.ascontiguousarray(events.streams, dtype=np.int64),
            which,
            values,
            ends,
            ends - np.array(sizes, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            self._position,
            self._serial,
        )

    # --- what the kernel lacks --------------------------------------------------------------------

    def _serve(self, stop: Stop) -> None:
        machine, found = self._machine, int(self._step.now[FOUND])
        match stop:
            case Stop.ANSWERS:
                answers = ask(machine.answers, self._program.conditions, self._condition_evaluator)
                self._machine = machine._replace(answers=answers)
            case Stop.ROWS:
                self._make_room(found)
            case Stop.PLACES:
                self._make_places()
            case Stop.CANDIDATES:
                wider = new_step(machine.shape, 2 * found)
                wider.now[:] = self._step.now
                self._step = wider
            case Stop.OUTPUT:
                self._hand_over(found)
            case Stop.DONE:
                raise AssertionError("nothing is lacking")

    def _make_room(self, rows: int) -> None:
        machine = self._machine
        sweep(machine, int(self._step.now[TIME_NOW]))
        if room(machine.pool) < max(rows, len(machine.pool.rows) // 4):
            pool = grow(machine.pool, machine.shape, rows)
            link_again(pool, machine.columns, machine.tables, self._step.merged)
            self._machine = machine._replace(pool=pool)

    def _make_places(self) -> None:
        machine = self._machine
        if not machine.shape.in_events:
            forget_places(machine.places, machine.shape, int(self._step.now[POSITION_NOW]))
        known = int((machine.places.rows[:, NUMBER] != NONE).sum())
        if 2 * known > len(machine.places.rows):
            self._machine = machine._replace(places=grow_places(machine.places, machine.shape))

    def _hand_over(self, found: int) -> None:
        """Take the matches out; if that is not enough, make more room for them."""
        if self._output.counts[MATCHES]:
            self._reporter.collect(self._output)
            return
        matches, entries = max(found, 2 * len(self._output.facts)), 2 * len(self._output.entries)
        self._output = new_output(self._machine.shape.variables, matches, entries)
