"""The run-based evaluator: every construct of the language, by NFA^scep runs (G Sections 6 and Appendix C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata.matches.match_stage import FOREVER, MatchStage
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.plan.semi_join import SemiJoinFilter, semi_join_targets
from automata.runs.columns.column_runs import ColumnRuns
from automata.runs.columns.expiry import expired, next_expiry
from automata.runs.columns.negated_groups import NegatedGroups
from automata.slices.events import Events, SymbolSolutions
from automata.slices.symbol_tables import positive
from automata.values import UNBOUND, Ids, Match


class RunEvaluator:
    """Runs of one program; see `automata.protocol.Evaluator`."""

    state_kind = "runs"
    """See `automata.state.Restorable`."""

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        self._plan = plan
        self._window = plan.program.window
        self._stage = MatchStage(plan, condition_evaluator, NegatedGroups)
        self._runs = ColumnRuns(self._stage.chains)
        self._next_expiry = -FOREVER
        self._semi_join_targets = semi_join_targets(plan)

    @property
    def operations(self) -> int:
        """Run operations: rows of runs made so far."""
        return self._stage.chains.runs.made

    @property
    def needs_whole_slots(self) -> bool:
        """See `automata.protocol.Evaluator`."""
        return self._plan.whole_slots

    def begin_at(self, position: int) -> None:
        """See `automata.adaptive.policy.Startable`."""
        self._stage.timeline.begin_at(position)

    def semi_join_filters(self) -> Mapping[int, SemiJoinFilter]:
        """See `automata.plan.semi_join.SemiJoinSource`."""
        if not self._semi_join_targets:
            return {}
        chains = self._stage.chains
        alive = np.concatenate([active.rows for active in chains.active])
        variables = {target.variable for target in self._semi_join_targets}
        values = {variable: np.unique(chains.runs.register(alive, variable)) for variable in variables}
        return {
            p.symbol: SemiJoinFilter(p, values[p.variable][values[p.variable] != UNBOUND])
            for p in self._semi_join_targets
        }

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        if not len(events):
            return []
        begin, end, in_events = int(events.times[0]), int(events.times[-1]), self._window.in_events
        if not any(len(table.events) for table in solutions.values()):
            self._stage.timeline.skip(events, bool(self._plan.program.partition))
            if not in_events:
                self._expire(begin)
            return self._stage.report([], end)
        tables = self._stage.symbol_tables.tables(events, solutions)
        self._stage.negations.add(tables)
        if not in_events:
            self._expire(begin)
        accepted = self._runs.grow({symbol: positive(table) for symbol, table in tables.items()})
        self._runs.prune(self._stage.timeline)
        matches = self._stage.report(accepted, end)
        if in_events:
            self._expire(end)
        return matches

    def on_watermark(self, time: int) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        self._expire(time)
        return self._stage.report([], time + 1)

    def finish(self) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        return self._stage.reporter.finish()

    def live_ids(self) -> list[Ids]:
        """See `automata.protocol.Evaluator`."""
        return self._stage.live_ids()

    def oldest_position(self) -> int:
        """See `automata.protocol.Evaluator`."""
        return self._stage.oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.protocol.Evaluator`."""
        return self._stage.oldest_output_time(watermark)

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        return {**self._stage.snapshot(), "next_expiry": self._next_expiry}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `automata.state.Restorable`."""
        self._stage.restore(state)
        self._next_expiry = state["next_expiry"]

    def _expire(self, time: int) -> None:
        """Drops runs whose window has passed; under a sliding window not at every batch."""
        if time >= self._next_expiry:
            self._runs.expire(expired(self._window, time, self._stage.timeline))
            self._next_expiry = next_expiry(self._window, time)
            self._stage.forget_negations(time)
