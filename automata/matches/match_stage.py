"""The evaluator from accepted runs to reported matches: what run-based and lazy evaluators have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from arrays.times import AFTER_ALL, earlier
from automata.chains.store import AcceptedRuns, ChainStore
from automata.matches.negation import GroupSearchFactory, NegationIndex
from automata.matches.reporting import Reporter
from automata.matches.snapshot import restore_stage, stage_state
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.protocol import ALWAYS_DUE, Restorable
from automata.slices.substreams import least
from automata.slices.symbol_tables import SymbolTables
from automata.values import Ids, Match


class PartialMatches(Protocol):
    """The runs or buffered events that an evaluator keeps for matches to come."""

    def oldest_position(self, default: int) -> int:
        """The least position; `default` where there is none."""

    def oldest_time(self, default: int) -> int:
        """The least time; `default` where there is none."""

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions, and positions of which the least of each partition counts."""

    def partitions(self) -> set[int]:
        """The partitions."""


class StagedEvaluator(Restorable):
    """Rows, negations, pending matches and places of events of an evaluator, but not their growth.

    partial     tells which of them are still needed: the runs, unless the owner puts something else in their place
    """

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator, search: GroupSearchFactory) -> None:
        self.plan = plan
        self.chains = ChainStore(plan, condition_evaluator)
        self.negations = NegationIndex(self.chains, condition_evaluator, search(plan, condition_evaluator))
        self.reporter = Reporter(self.chains, self.negations, condition_evaluator)
        self.symbol_tables = SymbolTables(plan, self.negations.substreams)
        self.timeline = self.symbol_tables.timeline
        self.partial: PartialMatches = self.chains

    @property
    def needs_whole_slots(self) -> bool:
        return self.plan.whole_slots

    def begin_at(self, position: int) -> None:
        """The first event has this position; nothing has been consumed before."""
        self.timeline.begin_at(position)

    def on_watermark(self, time: int) -> Sequence[Match]:
        return self.report([], time + 1)

    def due(self) -> int:
        """Until no event before this time is to come, events without solutions and watermarks give no match."""
        reporter = self.reporter
        if reporter.held or reporter.ready or (self.plan.program.window.in_events and len(reporter.pending)):
            return ALWAYS_DUE
        return reporter.earliest()

    def finish(self) -> Sequence[Match]:
        return self.reporter.finish()

    def report(self, accepted: list[AcceptedRuns], time: int) -> Sequence[Match]:
        """The matches that can be reported once the slice up to `time` has been consumed."""
        waits = accepted or not self.reporter.idle
        matches = self.reporter.report(accepted, time, self.timeline) if waits else []
        self.compact()
        return matches

    def compact(self, always: bool = False) -> None:
        """Frees the rows of dead runs once they are many, or `always`."""
        moved = self.chains.compact(self.reporter.pending.rows, always)
        if moved is not None:
            self.reporter.pending.rows = moved
            self.forget_partitions()
            self.reporter.after.forget(self.oldest_position())

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept now."""
        return self.chains.runs.size - 1

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed, but those of buffered events."""
        runs = self.chains.runs
        ids = [np.unique(runs.table[: runs.size, self.chains.layout.registers])]
        ids += [np.unique(column) for table in self.negations.kept() for column in table.values.values()]
        return [*ids, self.symbol_tables.partition_ids(), *self.reporter.live_ids()]

    def oldest_position(self) -> int:
        kept = [int(table.low[0]) for table in self.negations.kept() if len(table)]
        return min([self.partial.oldest_position(self.timeline.position), self.reporter.oldest_position(), *kept])

    def oldest_output_time(self, watermark: int) -> int:
        return min(watermark, self.reporter.oldest_time())

    def snapshot(self) -> dict[str, Any]:
        """The state; dead rows are compacted away first, so it is as large as what is alive."""
        self.compact(always=True)
        return stage_state(self.chains, self.negations, self.symbol_tables, self.reporter)

    def restore(self, state: Mapping[str, Any]) -> None:
        restore_stage(self.chains, self.negations, self.symbol_tables, self.reporter, state)

    def forget_negations(self, time: int) -> None:
        """Drops the solutions of negated steps that no match can reach once no event before `time` will come."""
        window, back = self.plan.program.window, self.plan.looks_back
        if not window.in_events or (back is not None and not self.plan.program.partition):
            oldest = min(self.partial.oldest_time(time), self.reporter.oldest_time(), time)
            self.negations.forget(earlier(oldest, window.size if back is None else back), AFTER_ALL)
        elif self.plan.program.partition:
            self.negations.forget_ranks(lambda: least((*self.partial.firsts(), *self.reporter.firsts())))
        else:
            first = min(self.partial.oldest_position(self.timeline.position), self.reporter.oldest_position())
            self.negations.forget(AFTER_ALL, first - window.size)

    def forget_partitions(self) -> None:
        """Drops what is known of partitions that no partial match, match or negation is in any more."""
        if self.plan.program.partition and not self.plan.program.window.in_events:
            kept = self.partial.partitions() | self.reporter.partitions()
            kept |= {p for table in self.negations.kept() for p in np.unique(table.partitions).tolist()}
            self.symbol_tables.forget(kept)
