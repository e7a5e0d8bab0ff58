"""Runs for events that come one by one: as lists while they do, in columns for longer stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from automata.program import Events, Ids, Match, Program, SymbolSolutions
from automata.pushing import Restriction
from automata.runs.evaluator import RunEvaluator
from automata.runs.single import SingleRuns, Solution
from automata.runs.single_steps import TestHost, runs_singly

_ROWS_PER_EVENT_MAX = 64
"""Runs become lists once there has been an event by itself for so many of their rows: the price is made good."""


class LiveRunEvaluator(RunEvaluator):
    """The run-based evaluator with `on_event` beside `on_batch`, for programs for which `runs_singly`."""

    def __init__(self, program: Program, host: TestHost) -> None:
        assert runs_singly(program), program
        super().__init__(program, host)
        self._single = SingleRuns(program, self._core, self._timeline, host)
        self._in_lists = False
        self._alone = 0

    def prefers_single_events(self) -> bool:
        """Whether an event that comes alone should go to `on_event`; there must have been enough of them."""
        self._alone += not self._in_lists
        return self._in_lists or self._core.runs.size <= self._alone * _ROWS_PER_EVENT_MAX

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[Solution]]) -> list[Match]:
        """As `on_batch` for a stretch of one event.

        solutions   symbol → the values of its variables in ascending order, for each solution
        """
        if not self._in_lists:
            self._single.enter()
            self._in_lists = True
        self._time = time
        if time >= self._next_expiry:
            self._expire(time)
        serials = self._intake.serials({symbol: len(found) for symbol, found in solutions.items()})
        matches = self._single.take(time, stream, {s: solutions[s] for s in serials}, serials)
        if self._core.is_large(len(self._single)):
            self._to_columns()
            self._compact()
        return matches

    def restrictions(self) -> Mapping[int, Restriction]:
        """See `automata.pushing.Restricting`; runs that are lists are not looked through."""
        return {} if self._in_lists else super().restrictions()

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """See `automata.face.Evaluator`."""
        self._to_columns()
        self._alone = 0
        return super().on_batch(events, solutions)

    def on_watermark(self, time: int) -> list[Match]:
        """See `automata.face.Evaluator`; nothing waits for the watermark but forgetting."""
        self._time = max(self._time, time)
        if time >= self._next_expiry:
            self._expire(time)
        return []

    def finish(self) -> list[Match]:
        """See `automata.face.Evaluator`."""
        self._to_columns()
        return super().finish()

    def live_ids(self) -> list[Ids]:
        """See `automata.face.Evaluator`."""
        self._to_columns()
        return super().live_ids()

    def oldest_position(self) -> int:
        """See `automata.face.Evaluator`."""
        return self._single.oldest_position() if self._in_lists else super().oldest_position()

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        self._to_columns()
        return super().snapshot()

    def _to_columns(self) -> None:
        if self._in_lists:
            self._single.leave()
            self._in_lists = False

    def _drop(self, oldest_time: int, window: int) -> None:
        if self._in_lists:
            self._single.expire(oldest_time, window)
        else:
            super()._drop(oldest_time, window)
