"""The evaluator over register match automata: conditions between steps are guards, events are consumed one by one.

For sequences of single steps with `,` `;` `:`, repetition and `|`, joins by equality and conditions that compare
numbers (`automata.registers.tables.why_not`). It returns the matches of `automata.runs.columns.run_evaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrays.columns import numbers_within
from automata import layouts
from automata.matches.selection import after_state, restore_after
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.plan.program import Demand
from automata.protocol import ALWAYS_DUE, NEVER_DUE, EdgeCounter, Restorable
from automata.registers import partitions, pool
from automata.registers.answers import answer, forget_answers, new_answers
from automata.registers.apply import MATCHES, Output, new_output
from automata.registers.code import guard_code
from automata.registers.event import FOUND, POSITION, TAKEN, TIME, VISITED, Slice, new_scratch
from automata.registers.guard import GuardConditionEvaluator
from automata.registers.kernel import Stop, consume, expire, sweep
from automata.registers.machine import Machine
from automata.registers.report import MatchReporter
from automata.registers.snapshot import machine_state, restored_machine
from automata.registers.tables import NONE, build_tables, why_not
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match

_CANDIDATES_INITIAL = 64
_MATCHES_INITIAL, _ENTRIES_INITIAL = 256, 1024
_GAP_EVENTS = 1 << 16
"""Events of a gap that are counted at a time."""
_NO_SOLUTIONS = SymbolSolutions(np.zeros(0, dtype=np.int64), {})


class RegisterEvaluator(Restorable, EdgeCounter):
    """Runs of one program for which `why_not` is None; every condition has a guard."""

    state_kind = layouts.REGISTERS.name

    def __init__(self, plan: Plan, condition_evaluator: GuardConditionEvaluator) -> None:
        assert why_not(plan) is None, why_not(plan)
        program = plan.program
        guards = [condition_evaluator.guard(number) for number in range(len(program.conditions))]
        tables, shape = build_tables(plan)
        columns = pool.layout(shape)
        self._plan = plan
        self._condition_evaluator = condition_evaluator
        self._machine = Machine(
            shape,
            columns,
            tables,
            guard_code([guard for guard in guards if guard is not None]),
            pool.new_pool(shape, columns),
            partitions.new_partitions(shape),
            new_answers(tables.shape[2]),
        )
        assert all(guard is not None for guard in guards), "a condition without a guard"
        self._scratch = new_scratch(shape, len(plan.edges), _CANDIDATES_INITIAL)
        self._output: Output = new_output(shape.variables, _MATCHES_INITIAL, _ENTRIES_INITIAL)
        self._reporter = MatchReporter(plan, condition_evaluator)
        self._scopes = [sorted(symbol.scope) for symbol in program.symbols]
        self._widest = max(len(scope) for scope in self._scopes)
        self._position = 0
        window, strict = program.window, any(edge.operator is Contiguity.STRICT for edge in plan.edges)
        self._counts = (strict or window.in_events) and not program.partition

    @property
    def needs_whole_slots(self) -> bool:
        return self._plan.whole_slots

    @property
    def runs(self) -> int:
        """The number of runs that are alive."""
        return int(self._machine.pool.ends[pool.LIVE])

    @property
    def visits(self) -> int:
        """The number of runs that events have visited so far."""
        return int(self._scratch.now[VISITED])

    operations = visits

    def edges_taken(self) -> Sequence[int | None] | None:
        return self._scratch.now[TAKEN:].tolist() if self._plan.program.demand is Demand.EVERY else None

    def count_edges(self, lost: bool) -> None:
        """Does nothing: every partial match is made and counted, and of none it is known why it was lost."""

    def edges_lost(self) -> None:
        return None

    def begin_at(self, position: int) -> None:
        """The first event has this position; nothing has been consumed before, and no window counts events."""
        assert not self._plan.program.window.in_events, self._plan.program.window
        self._position = position

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        if not len(events):
            return []
        slice_, numbers = self._slice(events, solutions), self._condition_evaluator.numbers
        forget_answers(self._machine.answers)
        while (stop := Stop(consume(self._machine, self._scratch, self._output, slice_, numbers))) is not Stop.DONE:
            self._provide(stop)
        self._position += len(events)
        self._reporter.collect(self._output)
        return self._reporter.report(self.oldest_position())

    def on_watermark(self, time: int) -> list[Match]:
        if not self._plan.program.window.in_events:
            expire(self._machine, time)
        return []

    def due(self) -> int:
        """Nothing but a solution gives a match; of simultaneous events `,` has to see each."""
        return ALWAYS_DUE if self._counts and self.needs_whole_slots else NEVER_DUE

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution; they are counted where `,` or a window counts them."""
        if not self._counts:
            self._position += gap.events
            self.on_watermark(gap.time - 1)
            return
        for begin in range(0, gap.events, _GAP_EVENTS):
            count = min(_GAP_EVENTS, gap.events - begin)
            times = np.full(count, gap.time, dtype=np.int64)
            self.on_batch(Events(times, np.zeros(count, dtype=np.int64)), {})

    def finish(self) -> list[Match]:
        return []

    def live_ids(self) -> list[Ids]:
        machine = self._machine
        rows = machine.pool.rows[1 : machine.pool.ends[pool.SIZE]]
        known = machine.partitions.rows[: machine.partitions.ends[partitions.USED]]
        keys = known[known[:, partitions.NUMBER] != NONE][:, partitions.key_column(machine.shape) :]
        return [np.unique(rows[rows[:, pool.LINKED] != NONE][:, machine.columns.registers :]), np.unique(keys)]

    def oldest_position(self) -> int:
        oldest = int(self._machine.pool.ends[pool.OLDEST])
        return self._position if oldest == NONE else int(self._machine.pool.rows[oldest, pool.FIRST])

    def oldest_output_time(self, watermark: int) -> int:
        return watermark

    def snapshot(self) -> dict[str, Any]:
        after = after_state(self._reporter.after)
        taken = self._scratch.now[TAKEN:].tolist()
        return layouts.REGISTERS.written(
            machine=machine_state(self._machine), after=after, position=self._position, taken=taken
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.REGISTERS.read(state)
        self._machine = restored_machine(self._machine, self._scratch.merged, state["machine"])
        restore_after(self._reporter.after, state["after"])
        self._position = state["position"]
        self._scratch.now[TAKEN:] = state["taken"]

    def _slice(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Slice:
        """The kernel's input: every array is int64 and contiguous."""
        tables = [solutions.get(symbol, _NO_SOLUTIONS) for symbol in range(len(self._scopes))]
        sizes = np.array([len(table.events) for table in tables], dtype=np.int64)
        ends = np.cumsum(sizes)
        values = np.zeros((int(ends[-1]), self._widest), dtype=np.int64)
        for table, scope, end in zip(tables, self._scopes, ends.tolist(), strict=True):
            for place, variable in enumerate(scope):
                if variable in table.values:
                    values[end - len(table.events) : end, place] = table.values[variable]
        return Slice(
            np.ascontiguousarray(events.times, dtype=np.int64),
            np.ascontiguousarray(events.streams, dtype=np.int64),
            np.concatenate([table.events for table in tables], dtype=np.int64),
            values,
            ends,
            ends - sizes,
            np.zeros(1, dtype=np.int64),
            self._position,
            np.concatenate([numbers_within(table.events) for table in tables]),
        )

    def _provide(self, stop: Stop) -> None:
        """Provides the room or the answers without which the kernel stopped."""
        machine, found = self._machine, int(self._scratch.now[FOUND])
        match stop:
            case Stop.ANSWERS:
                answers = answer(machine.answers, self._plan.program.conditions, self._condition_evaluator)
                self._machine = machine._replace(answers=answers)
            case Stop.ROWS:
                self._free_rows(found)
            case Stop.PARTITIONS:
                self._free_partitions()
            case Stop.CANDIDATES:
                self._plan.program.check_runs(found)
                wider = new_scratch(machine.shape, len(self._plan.edges), 2 * found)
                wider.now[:] = self._scratch.now
                self._scratch = wider
            case Stop.OUTPUT:
                self._read_output(found)
            case Stop.DONE:
                raise AssertionError("the slice is consumed")

    def _free_rows(self, rows: int) -> None:
        machine = self._machine
        sweep(machine, int(self._scratch.now[TIME]))
        self._plan.program.check_runs(self.runs + rows)
        if pool.room(machine.pool) < max(rows, len(machine.pool.rows) // 4):
            grown = pool.grow(machine.pool, machine.shape, rows)
            pool.relink(grown, machine.columns, machine.tables, self._scratch.merged)
            self._machine = machine._replace(pool=grown)

    def _free_partitions(self) -> None:
        table, shape = self._machine.partitions, self._machine.shape
        if not shape.in_events:
            partitions.forget_partitions(table, shape, int(self._scratch.now[POSITION]))
        if 2 * int((table.rows[:, partitions.NUMBER] != NONE).sum()) > len(table.rows):
            self._machine = self._machine._replace(partitions=partitions.grow_partitions(table, shape))

    def _read_output(self, found: int) -> None:
        """Empties the output; if it is empty, makes more room."""
        if self._output.counts[MATCHES]:
            self._reporter.collect(self._output)
            self._plan.program.check_runs(self._reporter.collected)
            return
        matches, entries = max(found, 2 * len(self._output.facts)), 2 * len(self._output.entries)
        self._output = new_output(self._machine.shape.variables, matches, entries)
