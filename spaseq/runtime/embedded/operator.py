"""One query as an operator: a state machine from slices of the merged order to rows.

No thread, clock, file or socket inside. `network` drives operators in one process; Spark runs the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from arrays.times import AFTER_ALL
from automata.protocol import ALWAYS_DUE
from automata.slices.events import Gap
from automata.values import Ids
from sparql_gpm.bounds import TooManyTogether, inseparable
from sparql_gpm.columns import EventBatch
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.shared import Slice
from spaseq.algebra.nodes import TemporalQuery
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.physical.going_on import goes_on, plan_of_state
from spaseq.physical.plan import PhysicalPlan
from spaseq.runtime.stages.conditions import CostlyCondition
from spaseq.runtime.stages.pattern_stage import PatternStage, SolutionSource
from spaseq.runtime.stages.propagated import PropagatedMatches
from spaseq.runtime.stages.run_counts import RunCounts, WaitingRun
from spaseq.runtime.stages.sequence_stage import SequenceStage
from spaseq.runtime.state import layouts
from spaseq.runtime.state.snapshot import batch_state, restored_batch
from spaseq.runtime.zero_rows.observed import Observed


class OpenSlot:
    """Holds the events of the last time of a stream back: more may arrive, and evaluators may need them together.

    With several streams the merged order never cuts a slot; with one, a slot is complete with the first later event.
    """

    def __init__(self) -> None:
        self._held: Slice | None = None

    def complete(self, slice_: Slice) -> Slice:
        """The events up to the last complete slot, those held before among them."""
        held = self._held
        if held is not None and len(slice_) == 1 and slice_.last_time > held.last_time:
            self._held = slice_
            return held
        batch = EventBatch.concatenate([self.events, slice_.batch])
        cut = int(np.searchsorted(batch.times, batch.times[-1], "left"))
        self._held = Slice(batch.between(cut, len(batch)))
        return Slice(batch.between(0, cut))

    def take(self, time: int) -> Slice | None:
        """The slot, complete once no event at or before `time` will arrive; None if it is not, or has no event."""
        held = self._held
        if held is None or held.last_time > time:
            return None
        self._held = None
        return held

    def earliest(self, time: int) -> int:
        """The smaller of this time and that of the slot."""
        return time if self._held is None else min(time, self._held.last_time)

    @property
    def events(self) -> EventBatch:
        """The events of the slot."""
        return EventBatch.empty() if self._held is None else self._held.batch

    def restore(self, events: EventBatch) -> None:
        """Continues with the events of a slot."""
        self._held = Slice(events) if len(events) else None


class QueryOperator:
    """A source of solutions (a pattern stage; with a plan in columns, any) and then a sequence stage.

    observed    what it has seen, until its first row; None from then on, and where nobody asks
    release     is called once the query has been stopped
    singly      events are evaluated one by one, or those of one time together: so it is known which a condition is too
                costly for
    """

    singly = False

    def __init__(
        self,
        plan: PhysicalPlan,
        patterns: SolutionSource,
        sequence: SequenceStage,
        observed: Observed | None = None,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        self.query: TemporalQuery = plan.compiled.query
        self.observed = observed
        self.patterns = patterns
        self._open_slot = OpenSlot()
        if isinstance(patterns, PatternStage) and observed is not None:
            patterns.unseen = observed.unseen
        self._run_by(plan, sequence, release)

    def _run_by(self, plan: PhysicalPlan, sequence: SequenceStage, release: Callable[[], object]) -> None:
        """Evaluate by a plan; `release` lets go of the constants of its sequence."""
        several = plan.compiled.program.streams > 1
        self.physical = plan
        self._sequence, self._release = sequence, release
        self._holds_slots = sequence.needs_whole_slots and not several
        self._whole_times = sequence.needs_whole_slots or several or bool(plan.conjunctions)
        self._row_events_max = plan.row_events_max
        self._shareable = sequence.propagated if plan.shares and isinstance(self.patterns, PatternStage) else None

    @property
    def shareable(self) -> PropagatedMatches | None:
        """The evaluator, if a group of queries may take its place."""
        return self._shareable

    def stop(self) -> None:
        """Lets the queries of its group go on without it, and lets go of the constants that the sequence holds."""
        if self._shareable is not None and self._shareable.group is not None:
            self._shareable.group.drop(self._shareable)
        self._release()

    def release(self) -> None:
        """Lets go of all that it holds; nobody asks for it again."""
        self.stop()
        if isinstance(self.patterns, PatternStage):
            self.patterns.release()

    def on_batch(self, slice_: Slice) -> Iterator[Rows]:
        """The rows after the next events, whose `streams` are positions in FROM; queries of one pool share a slice."""
        if self._holds_slots and len(slice_):
            slice_ = self._open_slot.complete(slice_)
        if self._shareable is not None and self._shareable.group is not None:
            self._shareable.group.feed(slice_)
        return self._evaluate(slice_)

    def on_watermark(self, time: int) -> Iterator[Rows]:
        """The rows once no event at or before `time` will arrive."""
        rows = map(self._noticed, self._sequence.on_watermark(time))
        return chain(self._flush(time), rows) if self._holds_slots else rows

    def finish(self) -> Iterator[Rows]:
        """The last rows; the input has ended."""
        yield from self._flush(AFTER_ALL)
        yield from map(self._noticed, self._sequence.finish())

    @property
    def touching(self) -> PatternStage | None:
        """The stage that knows which patterns touch the query; None: it must see every event."""
        return None if self._holds_slots or not isinstance(self.patterns, PatternStage) else self.patterns

    def due(self) -> int:
        """Until no event before this time is to come, events that touch no pattern and watermarks give no row."""
        return self._sequence.due() if self.touching is not None else ALWAYS_DUE

    def skip(self, gap: Gap, streams: Sequence[int], sighted: Callable[[Unseen], None]) -> None:
        """The next events, so many on each stream, which touch no pattern; none has a time at which a row is due.

        sighted     lets the constants that no event has had know of them
        """
        self._sequence.skip(gap)
        if self.observed is not None:
            self.observed.on_gap(gap, streams)
            if self.observed.unseen:
                sighted(self.observed.unseen)

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come, given that no event before `watermark` will arrive."""
        return self._sequence.oldest_output_time(self._open_slot.earliest(watermark))

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept now."""
        return self._sequence.runs

    def run_counts(self, time: int) -> RunCounts:
        """The partial matches now, given that no event before `time` is to come."""
        return self._sequence.run_counts(time)

    def waiting(self, state: int, limit: int, time: int) -> list[WaitingRun] | None:
        """As `SequenceStage.waiting`."""
        return self._sequence.waiting(state, limit, time)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that is still needed."""
        observed = [] if self.observed is None else self.observed.live_ids()
        return [*self._sequence.live_ids(), *self._open_slot.events.live_ids, *observed]

    @property
    def replanned(self) -> tuple[str, ...]:
        """The latest replacements of the evaluator while the query runs: time and reason, one sentence each."""
        return self._sequence.replanned

    def snapshot(self) -> dict[str, Any]:
        """The state between two slices, for `spaseq.runtime.state.snapshot`."""
        return layouts.QUERY.written(**self._sequence.snapshot(), open_slot=batch_state(self._open_slot.events))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues a new operator from a snapshot of the same query, by the evaluator that made it."""
        state = layouts.QUERY.read(state)
        self._observe_no_more()
        kind, sequence = state["kind"], state["sequence"]
        if not goes_on(self.physical, self._sequence.state_kind, kind, sequence):
            plan = plan_of_state(self.physical, kind, sequence)
            plan = plan if isinstance(self.patterns, PatternStage) else plan.in_columns()
            self._release()
            self._run_by(plan, *self._sequence.planned_as(plan))
        self._sequence.restore(state)
        self._open_slot.restore(restored_batch(state["open_slot"]))

    def _flush(self, time: int) -> Iterator[Rows]:
        if self._holds_slots and (held := self._open_slot.take(time)) is not None:
            yield from self._evaluate(held)

    def _evaluate(self, slice_: Slice) -> Iterator[Rows]:
        """The rows of a slice; where its events have too many solutions together, those of its halves."""
        if not len(slice_):
            return
        if self.singly and len(parts := slice_.halves(self._whole_times)) > 1:
            for part in parts:
                yield from self._evaluate(part)
            return
        try:
            yield from self._evaluated(slice_)
        except CostlyCondition as error:
            error.events = slice_.batch if self.singly else None
            raise

    def _evaluated(self, slice_: Slice) -> Iterator[Rows]:
        self._sequence.begin()
        if len(slice_) <= self._row_events_max and self._sequence.prefers_rows(slice_):
            yield self._row_at_a_time(slice_)
            return
        try:
            solved = self.patterns.solve(slice_, self._sequence.semi_join_filters)
        except TooManyTogether:
            parts = slice_.halves(self._whole_times)
            if len(parts) > 1:
                for part in parts:
                    yield from self._evaluate(part)
                return
            with inseparable():
                solved = self.patterns.solve(slice_, self._sequence.semi_join_filters)
        if self.observed is not None:
            self.observed.on_slice(solved.events, solved.solutions)
        yield from map(self._noticed, self._sequence.on_slice(solved))

    def _row_at_a_time(self, slice_: Slice) -> Rows:
        assert isinstance(self.patterns, PatternStage), "a plan with rows needs a pattern stage"
        rows: list[Row] = []
        for event, solutions in self.patterns.each(slice_):
            if self.observed is not None:
                self.observed.on_event(event, solutions)
            if found := self._sequence.on_event(event, solutions):
                rows += self._noticed(found)
        return rows

    def _noticed(self, rows: Rows) -> Rows:
        """The rows; with the first one nobody asks any more why there is none."""
        if self.observed is not None and len(rows):
            self._observe_no_more()
        return rows

    def _observe_no_more(self) -> None:
        self.observed = None
        if isinstance(self.patterns, PatternStage):
            self.patterns.unseen = None


def group_together(operators: Sequence[QueryOperator]) -> bool:
    """Makes groups of queries over one input that have nothing open; returns whether no other one is left."""
    from spaseq.runtime.stages.shared_matches import candidate_of, grouped

    candidates = []
    for each in operators:
        if each.shareable is not None and each.shareable.may_join and isinstance(each.patterns, PatternStage):
            candidates.append(candidate_of(each.patterns, each.shareable))
    grouped(candidates)
    return len(candidates) == len(operators)
