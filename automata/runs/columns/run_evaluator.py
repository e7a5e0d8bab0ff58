"""The run-based evaluator: every construct of the language, by NFA^scep runs (G Sections 6 and Appendix C)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from arrays.columns import distinct
from arrays.times import BEFORE_ALL
from automata import layouts
from automata.chains import columns as col
from automata.matches.match_stage import StagedEvaluator
from automata.plan.automaton import START
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.plan.pruning import is_gapless, skips_later_starts
from automata.plan.semi_join import SemiJoinFilter, semi_join_targets
from automata.protocol import EdgeCounter, SemiJoinSource, StateCounter
from automata.runs.columns.column_runs import ColumnRuns
from automata.runs.columns.expiry import expired, next_expiry
from automata.runs.columns.held_steps import HeldSteps, RunsAndHeldSteps
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.waiting import begun, newest_of, waiting_matches, waiting_runs
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.slices.step_table import StepTable
from automata.slices.symbol_tables import positive
from automata.values import UNBOUND, Ids, Match, PartialMatch

_RUNS_MIN, _RUNS_PER_EVENT = 1024, 4
"""With so many runs, or so many for each event to match, their values are not looked through: it costs more than it
saves."""
_GROUP = 32
"""Events after which later starts of an episode are dropped: runs of so many starts are made at most in vain."""


class RunEvaluator(StagedEvaluator, SemiJoinSource, EdgeCounter, StateCounter):
    """Runs of one program.

    held    those of them that are products; None: none can be
    """

    state_kind = layouts.RUNS.name

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        super().__init__(plan, condition_evaluator, NegatedGroups)
        self._window = plan.program.window
        held = HeldSteps(self.chains)
        self.held = held if held.positions else None
        self._runs = ColumnRuns(self.chains, self.held)
        if self.held is not None:
            self.partial = RunsAndHeldSteps(self.chains, self.held)
        self._next_expiry = BEFORE_ALL
        self._finished = False
        self._skips_later_starts = skips_later_starts(plan)
        self._semi_join_targets = semi_join_targets(plan)

    @property
    def operations(self) -> int:
        """Run operations: rows of runs made so far."""
        return self.chains.runs.made

    def edges_taken(self) -> Sequence[int | None] | None:
        plan = self.plan
        dropped = self.chains.dominance is not None or is_gapless(plan) or plan.possessive or plan.unordered
        return None if dropped else self._runs.edges_taken()

    def count_edges(self, lost: bool) -> None:
        self._runs.looks_ahead = False
        if lost and self.held is None and self.edges_taken() is not None:
            self._runs.count_losses(self.timeline)

    def edges_lost(self) -> Sequence[Mapping[str, int] | None] | None:
        return None if self._runs.losses is None or not self._finished else self._runs.losses.counts()

    def standing(self, time: int) -> Sequence[int] | None:
        self._drop_passed(time)
        held = {} if self.held is None else self.held.sizes
        kept = [len(begun(self.chains, place)) + held.get(place, 0) for place in range(len(self.plan.positions))]
        return [*kept, len(self.reporter.pending)]

    def waiting(self, position: int, limit: int, time: int) -> Sequence[PartialMatch] | None:
        self._drop_passed(time)
        if position == len(self.plan.positions):
            return waiting_matches(self.chains, self.reporter.pending, limit)
        kept = [] if self.held is None else self.held.newest(position, limit)
        if kept is None or position == START:
            return None if kept is None else []
        return newest_of([*waiting_runs(self.chains, position, limit), *kept], limit)

    def semi_join_filters(self, events: int) -> Mapping[int, SemiJoinFilter]:
        runs = sum(map(len, self.chains.active)) + (0 if self.held is None else len(self.held))
        if not self._semi_join_targets or runs > max(_RUNS_MIN, _RUNS_PER_EVENT * events):
            return {}
        alive = np.concatenate([active.rows for active in self.chains.active])
        variables = {target.variable for target in self._semi_join_targets}
        values = {variable: distinct(self._values(variable, alive)) for variable in variables}
        return {
            p.symbol: SemiJoinFilter(p, values[p.variable][values[p.variable] != UNBOUND])
            for p in self._semi_join_targets
        }

    def _values(self, variable: int, alive: Ids) -> list[Ids]:
        """The values of a variable in the runs that are alive, whose rows these are, and in products."""
        held = [] if self.held is None else self.held.values(variable)
        return [self.chains.runs.register(alive, variable), *held]

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        if not len(events):
            return []
        begin, end, in_events = int(events.times[0]), int(events.times[-1]), self._window.in_events
        if not any(len(table.events) for table in solutions.values()):
            self.timeline.skip(events, bool(self.plan.program.partition))
            if not in_events:
                self._expire(begin)
            return self.report([], end)
        tables = self.symbol_tables.tables(events, solutions)
        self.negations.add(tables)
        if self._runs.losses is not None:
            self._runs.losses.pass_by(tables.values())
        if not in_events:
            self._expire(begin)
        taken = {symbol: positive(table) for symbol, table in tables.items()}
        if self._skips_later_starts:
            return [*self._in_groups(taken), *self.report([], end)]
        accepted = self._runs.grow(taken)
        partitioned = tables.values() if self.plan.program.partition else ()
        self._runs.prune(self.timeline, distinct([table.partitions for table in partitioned]))
        matches = self.report(accepted, end)
        if in_events:
            self._expire(end)
        if self._runs.losses is not None:
            self._runs.losses.look()
        return matches

    def on_watermark(self, time: int) -> Sequence[Match]:
        self._expire(time)
        return super().on_watermark(time)

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which the evaluator is due."""
        self.timeline.skip_gap(gap, bool(self.plan.program.partition))
        if not self._window.in_events:
            self._expire(gap.time)

    def finish(self) -> Sequence[Match]:
        if self._runs.losses is not None:
            self._runs.losses.finish()
            self._finished = True
        return super().finish()

    def compact(self, always: bool = False) -> None:
        """As for other evaluators; what edges lose is told of rows by their numbers."""
        if self._runs.losses is not None and (always or self.chains.is_large(self.chains.runs.size)):
            self._runs.losses.settle()
        super().compact(always)

    def snapshot(self) -> dict[str, Any]:
        held = [] if self.held is None else self.held.snapshot()
        came = [] if self.held is None else list(self.held.came.values())
        taken = [list(self._runs.took), list(self._runs.alone), came]
        return layouts.RUNS.written(
            **super().snapshot(),
            next_expiry=self._next_expiry,
            held=held,
            taken=taken,
            blind=sorted(self._runs.blind),
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.RUNS.read(state)
        super().restore(state)
        self._next_expiry = state["next_expiry"]
        self._runs.took[:], self._runs.alone[:], came = state["taken"]
        self._runs.blind = set(state["blind"])
        if self.held is not None:
            self.held.restore(state["held"])
            self.held.came.update(zip(self.held.positions, came, strict=True))

    @property
    def runs(self) -> int:
        return super().runs + (0 if self.held is None else len(self.held))

    def live_ids(self) -> list[Ids]:
        losses = [] if self._runs.losses is None else self._runs.losses.live_ids()
        return [*super().live_ids(), *([] if self.held is None else self.held.live_ids()), *losses]

    def _drop_passed(self, time: int) -> None:
        """Drops what no event at or after a time may extend; no event before it is to come."""
        self._runs.expire(expired(self._window, time, self.timeline), always=True)

    def _in_groups(self, tables: Mapping[int, StepTable]) -> Iterator[Match]:
        """The matches that can be reported after each few events, when later starts of an episode are dropped."""
        ((symbol,),) = (position.symbols for position in self.plan.positions if position.symbols)
        if (table := tables.get(symbol)) is None:
            return
        begins = np.searchsorted(table.low, np.unique(table.low)[::_GROUP])
        for begin, end in pairwise([*begins.tolist(), len(table)]):
            part = table.take(np.arange(begin, end))
            self._expire(int(part.times[0]))
            accepted = self._runs.grow({symbol: part})
            yield from self.report(accepted, int(part.times[-1]))
            self._drop_later_starts()

    def _drop_later_starts(self) -> None:
        """Of the runs of a partition that took its last event, those that begin after one that will give a match.

        That match skips theirs, unless one that ended before skips it (`pruning.skips_later_starts`).
        """
        runs, active = self.chains.runs, self.chains.active[-1]
        columns = (col.PARTITION, col.FIRST, col.HIGH, self.chains.layout.count(0))
        lasts: dict[int, int] = {}
        rows = list(zip(active.rows.tolist(), runs.table[active.rows][:, columns].tolist(), strict=True))
        for _, (partition, _, high, _) in rows:
            lasts[partition] = max(high, lasts.get(partition, -1))
        before = self.reporter.lasts_before(lasts)
        deciding: dict[int, int] = {}
        for _, (partition, first, high, count) in rows:
            enough = count >= self.plan.repetitions[0].at_least
            if enough and high == lasts[partition] and first > before.get(partition, -1):
                deciding[partition] = min(first, deciding.get(partition, first))
        later = [n for n, (p, first, high, _) in rows if high == lasts[p] and first > deciding.get(p, first)]
        if later:
            active.keep(~np.isin(active.rows, later))
            self.reporter.pending.pop(np.isin(self.reporter.pending.rows, later))

    def _expire(self, time: int) -> None:
        """Drops runs whose window has passed; under a sliding window not at every batch."""
        if time >= self._next_expiry:
            self._runs.expire(expired(self._window, time, self.timeline))
            self._next_expiry = next_expiry(self.plan, time)
            self.forget_negations(time)
