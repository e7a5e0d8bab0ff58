"""Runs as rows for single events, and in columns for longer slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata import protocol
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.plan.pruning import skips_later_starts
from automata.plan.semi_join import SemiJoinFilter
from automata.runs.columns.expiry import expired
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.runs.rows.candidates import Solution
from automata.runs.rows.conditions import RowConditionEvaluator
from automata.runs.rows.row_runs import RowRuns
from automata.runs.rows.store import READ_MAX
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import UNBOUND, Ids, Match, implements

_ROWS_PER_EVENT_MAX = 64
"""Runs become lists once there has been an event by itself for so many of their rows: the price is made good."""
_PRODUCTS_MAX = 256
"""Products are made lists where they are of no more events than this: each may stand for any number of runs."""
_NEW_MIN = 1024
"""Rows, or solutions of negated steps, that have come since the last look at what windows have left behind …"""
_NEW_SHARE = 1.0
"""… and how many of those there were then: what is looked through has come since, but for a constant."""


def has_row_form(plan: Plan) -> bool:
    """True if the rows can evaluate a program: no negation needs the events of a partition's substream.

    Nor are later starts dropped, or matches decided by the events of a partition, which is done in columns.
    """
    counted = bool(plan.program.partition) and plan.program.window.in_events and plan.trails
    return not plan.substreams and not counted and not skips_later_starts(plan)


class LiveRunEvaluator(RunEvaluator, protocol.RowEvaluator):
    """The run-based evaluator with `on_event` beside `on_batch`, for programs for which `has_row_form`."""

    def __init__(self, plan: Plan, condition_evaluator: RowConditionEvaluator) -> None:
        assert has_row_form(plan), plan.program
        super().__init__(plan, condition_evaluator)
        self._rows = RowRuns(self, condition_evaluator, self._runs.alone)
        self._in_lists = False
        self._alone = 0
        self._left = 0

    def prefers_rows(self) -> bool:
        if self._runs.losses is not None:
            return False
        self._alone += not self._in_lists
        if self.held is not None and self.held.deep > _PRODUCTS_MAX:
            return False
        soon = not self.plan.negations and self.chains.runs.size > READ_MAX  # their rows are made when looked at
        return self._in_lists or soon or self.chains.runs.size <= self._alone * _ROWS_PER_EVENT_MAX

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[Solution]]) -> Sequence[Match]:
        if not self._in_lists:
            self._to_lists()
        if self._rows.new >= max(_NEW_MIN, _NEW_SHARE * self._left):
            self._look(time)
        used = self.symbol_tables.used
        if not solutions.keys() <= used:
            solutions = {symbol: found for symbol, found in solutions.items() if symbol in used}
        matches = self._rows.take(time, stream, solutions)
        if self.chains.is_large(len(self._rows)):
            self._look(time)
            self._to_columns()
            self.compact()
            self._to_lists()
        return matches

    def semi_join_filters(self, events: int) -> Mapping[int, SemiJoinFilter]:
        """As of columns; runs that are lists are not looked through."""
        return {} if self._in_lists else super().semi_join_filters(events)

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        if self.chains.dominance is not None and not self.needs_whole_slots:
            return self._one_by_one(events, solutions)
        self._to_columns()
        if len(events) > protocol.FEW_EVENTS_MAX:
            self._alone = 0
        return super().on_batch(events, solutions)

    def _one_by_one(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """A slice of which runs are left out event by event: lists are the faster form for that."""
        alone: list[dict[int, list[Solution]]] = [{} for _ in range(len(events))]
        for symbol, table in solutions.items():
            scope = sorted(self.plan.program.symbols[symbol].scope)
            unbound = np.full(len(table.events), UNBOUND, dtype=np.int64)
            values = np.column_stack([table.values.get(variable, unbound) for variable in scope] or [unbound])
            for event, solution in zip(table.events.tolist(), values.tolist(), strict=True):
                alone[event].setdefault(symbol, []).append(tuple(solution[: len(scope)]))
        found: list[Match] = []
        for time, stream, own in zip(events.times.tolist(), events.streams.tolist(), alone, strict=True):
            found += self.on_event(time, stream, own)
        return found

    def on_watermark(self, time: int) -> Sequence[Match]:
        if not self._in_lists:
            return super().on_watermark(time)
        return self._rows.pass_time(time + 1) if self._rows.waits else []

    def due(self) -> int:
        """As of columns; runs that are lists have the matches that wait."""
        return self._rows.due() if self._in_lists else super().due()

    def skip(self, gap: Gap) -> None:
        """As of columns, while the runs stay as they are."""
        if self._in_lists:
            self._rows.skip(gap)
        else:
            super().skip(gap)

    def finish(self) -> Sequence[Match]:
        self._to_columns()
        return super().finish()

    @property
    def runs(self) -> int:
        return self._rows.runs if self._in_lists else super().runs

    def live_ids(self) -> list[Ids]:
        if self._in_lists:
            self._rows.sync()
            self._rows.conditions.forget()  # of ids that no row holds: they may get another meaning
        return super().live_ids()

    def oldest_position(self) -> int:
        if self._in_lists:
            self._rows.leave()
        return super().oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        if self._in_lists:
            self._rows.sync()
        return super().oldest_output_time(watermark)

    def snapshot(self) -> dict[str, Any]:
        self._to_columns()
        return super().snapshot()

    def _drop_passed(self, time: int) -> None:
        """As of columns, which lists are brought in line with."""
        if self._in_lists:
            self._look(time)
        else:
            super()._drop_passed(time)

    def _look(self, time: int) -> None:
        """Drop what windows have left behind."""
        self._rows.expire(expired(self._window, time, self.timeline))
        self._rows.leave()
        self.forget_negations(time)
        self._rows.negations.shrink()
        self._left = self._rows.count()

    def _to_lists(self) -> None:
        self._runs.unfold()
        self._rows.enter()
        self._in_lists = True
        self._left = self._rows.count()

    def _to_columns(self) -> None:
        if self._in_lists:
            self._rows.leave()
            self._in_lists = False


def runs_of(plan: Plan, condition_evaluator: ConditionEvaluator) -> RunEvaluator:
    """The run-based evaluator of a program; it takes single events where program and condition evaluator allow it."""
    if implements(condition_evaluator, RowConditionEvaluator) and has_row_form(plan):
        return LiveRunEvaluator(plan, condition_evaluator)
    return RunEvaluator(plan, condition_evaluator)
