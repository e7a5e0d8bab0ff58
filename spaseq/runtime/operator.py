"""One query as an operator: a state machine from merged events to rows.

No thread, clock, file or socket inside. `embedded` calls it in a loop; whatever else runs queries
wraps the same object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from automata.adaptive.evaluator import AdaptiveEvaluator
from automata.face import Evaluator as SequenceEvaluator
from automata.lazy.evaluator import LazyEvaluator, TreeEvaluator
from automata.program import Events, Ids, Match, SymbolSolutions
from automata.runs.evaluator import RunEvaluator
from automata.state import Restorable
from sparql_gpm.background import Background
from sparql_gpm.bgp_view import BatchView
from sparql_gpm.columns import EventBatch, Mask, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions import Evaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from spaseq.algebra.nodes import GraphPattern, TemporalQuery
from spaseq.physical.host import ConditionHost
from spaseq.physical.program import Compiled, compile_program
from spaseq.physical.register_applies import why_no_registers
from spaseq.physical.replanning import adaptive_evaluator, switch_in_words
from spaseq.runtime.enrichment import Enricher
from spaseq.runtime.projection import Projector
from spaseq.runtime.rows import Row
from spaseq.runtime.snapshot import batch_state, restored_batch


class QueryOperator:
    """Matches, sequences and projects. Feed it stretches of the merged order of the query's streams.

    entailed    what patterns see of events, with the triples that follow by some schema; None: the events as they are
    sequence    the name of the evaluator that `spaseq.physical.planner` chose for the query
    compiled    runs may be kept by compiled kernels
    """

    def __init__(
        self,
        query: TemporalQuery,
        dictionary: Dictionary,
        evaluator: Evaluator,
        background: Background | None,
        entailed: Callable[[EventBatch], EventBatch] | None = None,
        sequence: str = "nfa",
        compiled: bool = False,
    ) -> None:
        self.query = query
        self._entailed = entailed
        self.compiled: Compiled = compile_program(query)
        self.matchers = [
            compile_pattern(pattern.pattern, dictionary, evaluator, background, pattern.conditions)
            for pattern in query.patterns
        ]
        self._host = ConditionHost(self.compiled, dictionary, evaluator, dict(enumerate(self.matchers)))
        self._sequence = _sequence_evaluator(sequence, self.compiled, self._host, compiled)
        enricher = Enricher(query.enrichments, background, dictionary, evaluator)
        self._projector = Projector(query, self.compiled, dictionary, evaluator, enricher)
        self._host.project = self._projector.texts
        self._variables = {name: number for number, name in enumerate(query.variables)}
        self._names = _Names()
        self._keeps_graphs = any(condition.needs_event for condition in self.compiled.program.conditions)
        self._open_slot = EventBatch.empty()
        self._position = 0

    def on_batch(self, batch: EventBatch) -> list[Row]:
        """The next stretch, `streams` being positions in FROM; rows in output order."""
        return self._step(self._whole_slots(batch)) if len(batch) else []

    def on_watermark(self, time: int) -> list[Row]:
        """No event before or at `time` will come any more."""
        rows: list[Row] = []
        if len(self._open_slot) and self._open_slot.times[-1] <= time:
            rows = self._flush()
        return rows + self._rows(self._sequence.on_watermark(time))

    def finish(self) -> list[Row]:
        """The input has ended; the last rows."""
        return self._flush() + self._rows(self._sequence.finish())

    def oldest_output_time(self, watermark: int) -> int:
        """No row to come has a time before this, given that no event before `watermark` will come."""
        if len(self._open_slot):
            watermark = min(watermark, int(self._open_slot.times[0]))
        return self._sequence.oldest_output_time(watermark)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that is still needed."""
        held = self._open_slot
        return [
            *self._sequence.live_ids(),
            *self._host.graphs.live_ids(),
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
        """The state between two stretches, for `spaseq.runtime.snapshot`; evaluators that are `Restorable` have one."""
        assert isinstance(self._sequence, Restorable), type(self._sequence)
        return {
            "sequence": self._sequence.snapshot(),
            "open_slot": batch_state(self._open_slot),
            "position": self._position,
            "names": list(self._names.items()),
            "graphs": [[position, batch_state(batch)] for position, batch in self._host.graphs.batches],
            "projector": self._projector.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of the same query; nothing has been taken in before."""
        assert isinstance(self._sequence, Restorable), type(self._sequence)
        self._sequence.restore(state["sequence"])
        self._open_slot = restored_batch(state["open_slot"])
        self._position = state["position"]
        self._names.restore(state["names"])
        self._host.graphs.batches = [(position, restored_batch(batch)) for position, batch in state["graphs"]]
        self._projector.restore(state["projector"])

    def _whole_slots(self, batch: EventBatch) -> EventBatch:
        """The events up to the last complete time slot, where the evaluator needs slots complete.

        With several streams the merger never cuts a slot; with one, the last slot is held back.
        """
        if not self._sequence.needs_whole_slots or self.compiled.program.streams > 1:
            return batch
        batch = EventBatch.concatenate([self._open_slot, batch])
        cut = int(np.searchsorted(batch.times, batch.times[-1], "left"))
        events = np.arange(len(batch), dtype=np.int64)
        self._open_slot = batch.take(events[cut:])
        return batch.take(events[:cut])

    def _flush(self) -> list[Row]:
        held, self._open_slot = self._open_slot, EventBatch.empty()
        return self._step(held)

    def _step(self, batch: EventBatch) -> list[Row]:
        if not len(batch):
            return []
        if self._entailed is not None:
            batch = self._entailed(batch)
        view = BatchView(batch)
        solutions = {
            symbol: self._solutions(pattern, matcher, view, batch)
            for symbol, (pattern, matcher) in enumerate(zip(self.query.patterns, self.matchers, strict=True))
        }
        self._names.add(self._position, batch, [table.events for table in solutions.values()])
        if self._keeps_graphs:
            self._host.graphs.add(self._position, batch)
        self._position += len(batch)
        return self._rows(self._sequence.on_batch(Events(batch.times, batch.streams), solutions))

    def _solutions(
        self, pattern: GraphPattern, matcher: Matcher, view: BatchView, batch: EventBatch
    ) -> SymbolSolutions:
        wanted = np.isin(batch.streams, pattern.streams)
        mask: Mask | None = None if wanted.all() else wanted
        found: Solutions = matcher.match(view, mask)
        columns = {self._variables[name]: found.columns[name] for name in pattern.variables}
        return SymbolSolutions(found.events, columns)

    def _rows(self, matches: list[Match]) -> list[Row]:
        rows = self._projector.rows(matches, self._names)
        oldest = self._sequence.oldest_position()
        self._names.forget(oldest)
        self._host.graphs.forget(oldest)
        self._projector.forget(oldest)
        return rows


def _sequence_evaluator(name: str, compiled: Compiled, host: ConditionHost, kernels: bool) -> SequenceEvaluator:
    """The evaluator with this name; one with compiled kernels is imported only when it is used."""
    match name:
        case "cea":
            from automata.cea.evaluator import CeaEvaluator

            return CeaEvaluator(compiled.program, host)
        case "adaptive":
            return adaptive_evaluator(compiled.program, host)
        case "lazy":
            return LazyEvaluator(compiled.program, host)
        case "tree":
            return TreeEvaluator(compiled.program, host)
        case "nfa" if kernels and why_no_registers(compiled) is None:
            from automata.registers.evaluator import RegisterEvaluator

            return RegisterEvaluator(compiled.program, host)
        case "nfa":
            return RunEvaluator(compiled.program, host)
    raise AssertionError(name)


class _Names(dict[int, str]):
    """Graph names by position, of events that some step may have taken."""

    def __init__(self) -> None:
        super().__init__()
        self._order: deque[int] = deque()

    def add(self, first: int, batch: EventBatch, taken: Iterable[Ids]) -> None:
        """Remembers the events of a stretch that have a solution."""
        for event in np.unique(np.concatenate(list(taken))).tolist():
            self[first + event] = batch.names[event]
            self._order.append(first + event)

    def restore(self, names: Iterable[tuple[int, str]]) -> None:
        """Remembers these, in order of position."""
        self.update(names)
        self._order.extend(self)

    def forget(self, before: int) -> None:
        """Drops what lies before a position."""
        while self._order and self._order[0] < before:
            del self[self._order.popleft()]
