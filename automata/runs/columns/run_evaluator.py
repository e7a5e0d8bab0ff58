"""The run-based evaluator: every construct of the language, by NFA^scep runs (G Sections 6 and Appendix C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata.chains.store import AcceptedRuns, ChainStore
from automata.chains.table import FIRST, FIRST_TIME
from automata.matches.negation import NegationIndex
from automata.matches.reader import Reader
from automata.matches.reporting import Reporter
from automata.matches.snapshot import restore_runs, runs_state
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.plan.semi_join import SemiJoinFilter, semi_join_targets
from automata.runs.columns.column_runs import ColumnRuns
from automata.runs.columns.negated_groups import NegatedGroups
from automata.slices.events import Events, SymbolSolutions
from automata.slices.substreams import least
from automata.slices.symbol_tables import SymbolTables, positive
from automata.slices.timeline import window_numbers
from automata.values import UNBOUND, Ids, Match

_FOREVER = np.iinfo(np.int64).max


class RunEvaluator:
    """Runs of one program; see `automata.protocol.Evaluator`."""

    state_kind = "runs"
    """See `automata.state.Restorable`."""

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        self._program = plan.program
        self._core = ChainStore(plan, condition_evaluator)
        self._runs = ColumnRuns(self._core)
        self._negations = NegationIndex(self._core, condition_evaluator, NegatedGroups(plan, condition_evaluator))
        self._reporter = Reporter(self._core, self._negations, Reader(self._core), condition_evaluator)
        self._time = -_FOREVER
        self._next_expiry = -_FOREVER
        self._symbol_tables = SymbolTables(plan, self._negations.substreams)
        self._timeline = self._symbol_tables.timeline
        self._semi_join_targets = semi_join_targets(plan)

    @property
    def operations(self) -> int:
        """Run operations: rows of runs made so far."""
        return self._core.runs.made

    @property
    def needs_whole_slots(self) -> bool:
        """See `automata.protocol.Evaluator`."""
        return self._core.plan.whole_slots

    def begin_at(self, position: int) -> None:
        """See `automata.adaptive.policy.Startable`."""
        self._timeline.begin_at(position)

    def semi_join_filters(self) -> Mapping[int, SemiJoinFilter]:
        """See `automata.plan.semi_join.Restricting`."""
        if not self._semi_join_targets:
            return {}
        alive = np.concatenate([active.rows for active in self._core.active])
        variables = {target.variable for target in self._semi_join_targets}
        values = {variable: np.unique(self._core.runs.register(alive, variable)) for variable in variables}
        return {
            p.symbol: SemiJoinFilter(p, values[p.variable][values[p.variable] != UNBOUND])
            for p in self._semi_join_targets
        }

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        if not len(events):
            return []
        self._time = int(events.times[-1])
        if not any(len(table.events) for table in solutions.values()):
            return self._skip(events)
        tables = self._symbol_tables.tables(events, solutions)
        self._negations.add(tables)
        if not self._program.window.in_events:
            self._expire(int(events.times[0]))
        ended = self._runs.grow({symbol: positive(table) for symbol, table in tables.items()})
        self._runs.prune(self._timeline)
        matches = self._report(ended, self._time)
        if self._program.window.in_events:
            self._expire(self._time)
        return matches

    def on_watermark(self, time: int) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        self._time = max(self._time, time)
        self._expire(time)
        return self._report([], time + 1)

    def finish(self) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        return self._reporter.finish()

    def live_ids(self) -> list[Ids]:
        """See `automata.protocol.Evaluator`."""
        runs = self._core.runs
        ids = [np.unique(runs.table[: runs.size, self._core.layout.registers])]
        ids += [np.unique(column) for table in self._negations.kept() for column in table.values.values()]
        ids.append(self._symbol_tables.partition_ids())
        return [*ids, *self._reporter.live_ids()]

    def oldest_position(self) -> int:
        """See `automata.protocol.Evaluator`."""
        oldest = self._oldest(FIRST, self._timeline.position)
        buffers = [int(table.low[0]) for table in self._negations.kept() if len(table)]
        return min([oldest, self._reporter.oldest_position(), *buffers])

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.protocol.Evaluator`."""
        return min(watermark, self._reporter.oldest_time())

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        self._compact(always=True)
        state = runs_state(self._core, self._negations, self._symbol_tables, self._reporter)
        return {**state, "time": self._time, "next_expiry": self._next_expiry}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `automata.state.Restorable`."""
        restore_runs(self._core, self._negations, self._symbol_tables, self._reporter, state)
        self._time, self._next_expiry = state["time"], state["next_expiry"]

    def _skip(self, events: Events) -> Sequence[Match]:
        """A slice that no step can take anything of: time goes on, and no run does."""
        self._timeline.skip(events, bool(self._program.partition))
        if not self._program.window.in_events:
            self._expire(int(events.times[0]))
        return self._report([], self._time)

    def _report(self, ended: list[AcceptedRuns], time: int) -> Sequence[Match]:
        waits = ended or not self._reporter.idle
        matches = self._reporter.report(ended, time, self._timeline) if waits else []
        self._compact()
        return matches

    def _compact(self, always: bool = False) -> None:
        moved = self._core.compact(self._reporter.held_rows(), always)
        if moved is not None:
            self._reporter.renumber(moved)
            self._forget()
            self._reporter.after.forget(self.oldest_position())

    # --- forgetting -------------------------------------------------------------------------------

    def _expire(self, time: int) -> None:
        """Drops runs whose window has passed; under a sliding window not at every batch."""
        window = self._program.window
        if time < self._next_expiry:
            return
        if window.in_events:
            self._drop_ranks()
        elif window.sliding:
            self._drop(time - window.size, -_FOREVER)
            self._next_expiry = time + window.size // 32
        else:
            here = window_numbers(window, np.array([time]), np.array([0]))
            self._drop(-_FOREVER, int(here[0]))
            self._next_expiry = window.start + ((time - window.start) // window.size + 1) * window.size
        self._forget_absences(time)

    def _drop(self, oldest_time: int, window: int) -> None:
        """Drops runs that began before a time or in an earlier tumbling window."""
        self._runs.expire(oldest_time, window, None)

    def _drop_ranks(self) -> None:
        """Drops runs whose window of events has passed."""
        self._runs.expire(-_FOREVER, -_FOREVER, self._timeline)

    def _oldest(self, column: int, default: int) -> int:
        """The least FIRST or FIRST_TIME of the runs that are alive."""
        return self._core.oldest(column, default)

    def _forget_absences(self, time: int) -> None:
        window = self._program.window
        oldest = min(self._oldest(FIRST_TIME, time), self._reporter.oldest_time())
        if window.in_events:
            if self._program.partition:
                self._negations.forget_ranks(self._oldest_positions)
            else:
                first = self._oldest(FIRST, self._timeline.position)
                self._negations.forget(_FOREVER, min(first, self._reporter.oldest_position()) - window.size)
        else:
            self._negations.forget(min(oldest, time) - window.size, _FOREVER)

    def _oldest_positions(self) -> dict[int, int]:
        """For each partition the first position in a run or a match that may still be reported."""
        return least((*self._core.firsts(), *self._reporter.firsts()))

    def _forget(self) -> None:
        """After a compaction: partitions that no run is in any more."""
        if not self._program.partition or self._program.window.in_events:
            return
        kept = self._core.partitions() | self._reporter.partitions()
        kept |= {p for table in self._negations.kept() for p in np.unique(table.partitions).tolist()}
        self._symbol_tables.forget(kept)
