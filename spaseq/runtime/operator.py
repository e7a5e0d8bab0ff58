"""One query as an operator: a state machine from merged events to rows.

No thread, clock, file or socket inside. `embedded` calls it in a loop; whatever else runs queries
wraps the same object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator
from automata.protocol import RowEvaluator, SemiJoinSource
from automata.slices.events import Events
from automata.values import Ids, Match
from sparql_gpm.background import Background
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.shared import Entailed, PatternPool, Slice
from spaseq.errors import RunError
from spaseq.outputs.rows import Row
from spaseq.physical.condition_evaluator import TermConditionEvaluator
from spaseq.physical.evaluators import evaluator_of
from spaseq.physical.plan import PhysicalPlan
from spaseq.physical.replanning import switch_in_words
from spaseq.runtime.enrichment import Enricher
from spaseq.runtime.names import Names
from spaseq.runtime.projection import Projector
from spaseq.runtime.single import SingleEvents
from spaseq.runtime.snapshot import batch_state, restored_batch
from spaseq.runtime.solving import PatternSolver

_FORGET_EVENTS = 256
"""Events that come one by one between looks at what can be forgotten."""


class QueryOperator:
    """Matches, sequences and projects. Feed it slices of the merged order of the query's streams.

    entailed    what patterns see of events, with the triples that follow by some schema; None: the events as they are
    pool        the patterns of all queries over the dictionary; None: this query shares with no other
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        background: Background | None,
        entailed: Entailed | None = None,
        pool: PatternPool | None = None,
    ) -> None:
        self.plan = plan
        self.query = query = plan.compiled.query
        self._entailed = entailed
        self.compiled = plan.compiled
        self._pool = PatternPool(dictionary, evaluator) if pool is None else pool
        self.patterns = [self._pool.add(pattern.pattern, background) for pattern in query.patterns]
        self._variables = {name: number for number, name in enumerate(query.variables)}
        self.solver = PatternSolver(query.patterns, self.patterns, self._variables, plan.conjunctions)
        matchers = self._condition_matchers(dictionary, evaluator, background)
        self._condition_evaluator = TermConditionEvaluator(self.compiled, dictionary, evaluator, matchers)
        self._sequence = evaluator_of(plan, self._condition_evaluator)
        self._semi_join_filters = (
            self._sequence.semi_join_filters if isinstance(self._sequence, SemiJoinSource) else dict
        )
        enricher = Enricher(query.enrichments, query.variables, background, dictionary, evaluator)
        self._projector = Projector(query, self.compiled, dictionary, evaluator, enricher)
        self._condition_evaluator.project = self._projector.texts
        self._names = Names()
        self._keeps_graphs = self.compiled.keeps_graphs
        self._open_slot: Slice | None = None
        self._position = 0
        self._single: SingleEvents | None = None
        if plan.row_events_max:
            assert isinstance(self._sequence, RowEvaluator), plan.form
            self._single = SingleEvents(query.patterns, self.patterns, self._variables, self._sequence)

    def on_batch(self, events: EventBatch | Slice) -> list[Row]:
        """The next events, `streams` being positions in FROM; rows in output order.

        Queries of one pool that read the same events are given one slice.
        """
        if not len(events):
            return []
        slice_ = events if isinstance(events, Slice) else Slice(events)
        return self._step(self._whole_slots(slice_))

    def on_watermark(self, time: int) -> list[Row]:
        """No event before or at `time` will come any more."""
        rows: list[Row] = []
        if self._open_slot is not None and self._open_slot.last_time <= time:
            rows = self._flush()
        matches = self._sequence.on_watermark(time)
        return rows + self._rows(matches) if matches else rows

    def finish(self) -> list[Row]:
        """The input has ended; the last rows."""
        return self._flush() + self._rows(self._sequence.finish())

    def oldest_output_time(self, watermark: int) -> int:
        """No row to come has a time before this, given that no event before `watermark` will come."""
        if self._open_slot is not None:
            watermark = min(watermark, self._open_slot.last_time)
        return self._sequence.oldest_output_time(watermark)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that is still needed."""
        held = self._held()
        return [
            *self._sequence.live_ids(),
            *self._condition_evaluator.graphs.live_ids(),
            held.subjects,
            held.predicates,
            held.objects,
        ]

    @property
    def replanned(self) -> tuple[str, ...]:
        """Which evaluator took over when and why, one sentence each; the last of them if there were many."""
        if not isinstance(self._sequence, AdaptiveEvaluator):
            return ()
        return tuple(switch_in_words(switch) for switch in self._sequence.switches)

    def snapshot(self) -> dict[str, Any]:
        """The state between two slices, for `spaseq.runtime.snapshot`: nothing of events that no match can have."""
        oldest = self._sequence.oldest_position()
        return {
            "kind": self._sequence.state_kind,
            "sequence": self._sequence.snapshot(),
            "open_slot": batch_state(self._held()),
            "position": self._position,
            "names": self._names.since(oldest),
            "graphs": [
                [position, batch_state(batch)] for position, batch in self._condition_evaluator.graphs.since(oldest)
            ],
            "projector": self._projector.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of the same query; nothing has been taken in before. RunError: of another evaluator."""
        kind = self._sequence.state_kind
        if state["kind"] != kind:
            raise RunError(
                f"the saved state of query '{self.query.name}' is that of its evaluator '{state['kind']}', and "
                f"'{kind}' is to go on with it",
                hint="ask for the evaluator that it was begun with, or begin anew with a new checkpoint folder",
            )
        self._sequence.restore(state["sequence"])
        held = restored_batch(state["open_slot"])
        self._open_slot = Slice(held) if len(held) else None
        self._position = state["position"]
        self._names.restore(state["names"])
        self._condition_evaluator.graphs.batches = [
            (position, restored_batch(batch)) for position, batch in state["graphs"]
        ]
        self._projector.restore(state["projector"])

    def _whole_slots(self, slice_: Slice) -> Slice:
        """The events up to the last complete time slot, where the evaluator needs slots complete.

        With several streams the merger never cuts a slot; with one, the last slot is held back.
        """
        if not self._sequence.needs_whole_slots or self.compiled.program.streams > 1:
            return slice_
        held = self._open_slot
        if held is not None and len(slice_) == 1 and slice_.last_time > held.last_time:
            self._open_slot = slice_
            return held
        batch = EventBatch.concatenate([self._held(), slice_.batch])
        cut = int(np.searchsorted(batch.times, batch.times[-1], "left"))
        events = np.arange(len(batch), dtype=np.int64)
        self._open_slot = Slice(batch.take(events[cut:]))
        return Slice(batch.take(events[:cut]))

    def _flush(self) -> list[Row]:
        held, self._open_slot = self._open_slot, None
        return [] if held is None else self._step(held)

    def _held(self) -> EventBatch:
        """The events of a time slot that may go on."""
        return EventBatch.empty() if self._open_slot is None else self._open_slot.batch

    def _step(self, slice_: Slice) -> list[Row]:
        if not len(slice_):
            return []
        slice_ = slice_.entailed(self._entailed)
        if (
            len(slice_) <= self.plan.row_events_max
            and self._single is not None
            and self._may_come_alone(self._single, slice_)
        ):
            return self._step_alone(self._single, slice_)
        if not self.solver.touched(slice_):
            return self._pass_by(slice_)
        solutions = self.solver.solve(slice_, self._semi_join_filters)
        self._names.add(self._position, self.solver.taken(slice_, solutions))
        batch = slice_.batch
        if self._keeps_graphs:
            self._condition_evaluator.graphs.add(self._position, batch)
        self._position += len(batch)
        return self._rows(self._sequence.on_batch(slice_.made(_as_events), solutions))

    def _pass_by(self, slice_: Slice) -> list[Row]:
        """`_step` where no GPM can have a solution; what can be forgotten is looked for when one has again."""
        batch = slice_.batch
        self._position += len(batch)
        matches = self._sequence.on_batch(slice_.made(_as_events), self.solver.nothing)
        return self._rows(matches) if matches else []

    def _may_come_alone(self, single: SingleEvents, slice_: Slice) -> bool:
        """Whether the events of a short slice go one by one; those of one time stay together where they must."""
        if len(slice_) > 1 and self._sequence.needs_whole_slots:
            times = slice_.batch.times
            if (times[1:] == times[:-1]).any():
                return False
        return single.wanted()

    def _step_alone(self, single: SingleEvents, slice_: Slice) -> list[Row]:
        """`_step` for few events, one by one."""
        shares = len(self._pool) > len(self.patterns)
        touched = not shares or self.solver.touched(slice_)
        rows: list[Row] = []
        for event in slice_.each():
            solutions = single.solutions(event) if touched else {}
            if solutions:
                self._names.add_one(self._position, event.name)
            if self._keeps_graphs:
                self._condition_evaluator.graphs.add(self._position, event.batch)
            self._position += 1
            rows += self._projector.rows(single.matches(event, solutions), self._names)
            if self._position % _FORGET_EVENTS == 0:
                self._forget()
        return rows

    def _condition_matchers(
        self, dictionary: Dictionary, evaluator: ExpressionEvaluator, background: Background | None
    ) -> Mapping[int, Matcher]:
        """Of each step with a condition that looks at its event, a matcher with the query's own variables."""
        looking = {condition.symbol for condition in self.compiled.program.conditions if condition.needs_event}
        patterns = {symbol: self.query.patterns[symbol] for symbol in sorted(looking)}
        return {
            symbol: compile_pattern(pattern.pattern, dictionary, evaluator, background, pattern.conditions)
            for symbol, pattern in patterns.items()
        }

    def _rows(self, matches: Sequence[Match]) -> list[Row]:
        rows = self._projector.rows(matches, self._names)
        self._forget()
        return rows

    def _forget(self) -> None:
        oldest = self._sequence.oldest_position()
        self._names.forget(oldest)
        self._condition_evaluator.graphs.forget(oldest)
        self._projector.forget(oldest)


def _as_events(batch: EventBatch) -> Events:
    return Events(batch.times, batch.streams)
