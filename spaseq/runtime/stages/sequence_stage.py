"""The sequence stage: from the solutions of a query's GPMs to matches, and from matches to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator
from automata.protocol import (
    ALWAYS_DUE,
    EdgeCounter,
    InPieces,
    Restorable,
    RowEvaluator,
    SemiJoinSource,
    StateCounter,
)
from automata.slices.events import Gap
from automata.values import Ids, Match, PartialMatch, implements
from sparql_gpm.background import Background
from sparql_gpm.columns import RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.shared import PatternPool, Slice
from spaseq.algebra.partitions import as_written
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.physical.evaluators import evaluator_of
from spaseq.physical.kernels_later import Kernels
from spaseq.physical.plan import PROPAGATION, PhysicalPlan
from spaseq.physical.program import Compiled
from spaseq.physical.replanning import switch_in_words
from spaseq.runtime.stages.conditions import TermConditionEvaluator, condition_matchers
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.stages.group_stage import GroupStage
from spaseq.runtime.stages.match_order import MatchOrder, all_variables
from spaseq.runtime.stages.match_values import MatchValues, TermTexts
from spaseq.runtime.stages.merged_units import WrittenUnits
from spaseq.runtime.stages.naming import MatchNames
from spaseq.runtime.stages.pattern_solver import SemiJoinFilters, unfiltered
from spaseq.runtime.stages.pattern_stage import SolvedSlice
from spaseq.runtime.stages.projection import Projector
from spaseq.runtime.stages.propagated import PropagatedMatches
from spaseq.runtime.stages.run_counts import RunCounts, WaitingRun
from spaseq.runtime.state.graph_names import GraphNames
from spaseq.runtime.state.kept_graphs import KeptGraphs
from spaseq.runtime.state.kept_solutions import KeptSolutions, SolutionRow

_FORGET_EVENTS = 256
"""Events evaluated row at a time between checks for state that can be forgotten."""


class SequenceStage:
    """The evaluator of one query's sequence and its projection.

    background  serves conditions and enrichments
    pool        has the bounds on conditions that read an event's graph, and is told of events that exceed one
    written     OVER MATCHES: takes complete units in place of their rows
    kernels     compiled code that may be taken while the query runs; None: none is
    matches     the number of matches that the evaluator has given
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        background: Background | None,
        pool: PatternPool | None,
        written: WrittenUnits | None = None,
        kernels: Kernels | None = None,
    ) -> None:
        compiled, query = plan.compiled, plan.compiled.query
        self._compiled = compiled
        self._given = (dictionary, evaluator, background, pool, written, kernels)
        enricher = Enricher(query.enrichments, query.variables, background, dictionary, evaluator)
        self._query, self._dictionary = query, dictionary
        self._graphs = KeptGraphs()
        self._names = GraphNames()
        self._solutions = KeptSolutions(_named_scopes(compiled), query.variables, dictionary)
        named = MatchNames(compiled, dictionary, enricher, self._solutions, self._names)
        self._projector = Projector(compiled, dictionary, evaluator, enricher, named.of)
        texts = self._projector.texts
        self._groups: GroupStage | None = None
        if query.over is not None:
            bound = MatchValues(all_variables(enricher.variables), compiled, evaluator, enricher)
            order = MatchOrder(bound, TermTexts(dictionary), enricher, self._solutions)
            texts = order.texts
            self._groups = GroupStage(compiled, dictionary, evaluator, enricher, order, self._names, written)
        self._position = self.matches = 0
        matchers = condition_matchers(compiled, dictionary, evaluator, background)
        conditions = TermConditionEvaluator(compiled, dictionary, evaluator, matchers, self._graphs, texts, pool)
        self.begin = conditions.begin
        propagates = plan.evaluator == PROPAGATION
        self._evaluator: Restorable = (
            PropagatedMatches(plan, dictionary) if propagates else evaluator_of(plan, conditions, kernels)
        )
        if self._groups is not None:
            self._fold: Callable[[Sequence[Any]], None] = self._groups.add_partials if propagates else self._groups.add
        self._row_evaluator = self._evaluator if implements(self._evaluator, RowEvaluator) else None
        self._in_pieces = self._evaluator if implements(self._evaluator, InPieces) else None
        self._keeps_graphs = compiled.keeps_graphs
        self._keeps_solutions = query.orders_solutions
        self.needs_whole_slots = self._evaluator.needs_whole_slots
        self.semi_join_filters: SemiJoinFilters = (
            self._evaluator.semi_join_filters if implements(self._evaluator, SemiJoinSource) else unfiltered
        )

    def on_slice(self, solved: SolvedSlice) -> Iterator[Rows]:
        """The rows after the next slice, in pieces; all are read before the stage is asked anything else."""
        if solved.taken is not None:
            self._names.add(self._position, solved.taken)
            if self._keeps_graphs and solved.graphs is not None:
                self._graphs.add(self._position, solved.graphs)
            if self._keeps_solutions and solved.graphs is not None:
                self._solutions.add(self._position, solved.solutions, solved.graphs)
        self._position += len(solved.events)
        found = False
        for matches in self._matches(solved):
            found = found or bool(matches)
            yield from self._rows(matches)
        if found or solved.taken is not None or self._groups is not None:
            if self._groups is not None:
                times = solved.events.times
                yield self._groups.on_events(self._position, int(times[-1]), int(np.searchsorted(times, times[-1])))
            self._forget()

    def _matches(self, solved: SolvedSlice) -> Iterator[Sequence[Match]]:
        if self._in_pieces is not None:
            yield from self._in_pieces.pieces(solved.events, solved.solutions)
        else:
            yield self._evaluator.on_batch(solved.events, solved.solutions)

    def prefers_rows(self, slice_: Slice) -> bool:
        """True if the events of a short slice are to be evaluated one by one; those of one time may have to be one."""
        if self.needs_whole_slots and len(slice_) > 1:
            times = slice_.batch.times
            if (times[1:] == times[:-1]).any():
                return False
        return self._row_evaluator is not None and self._row_evaluator.prefers_rows()

    def on_event(self, event: RowEvent, solutions: Mapping[int, Sequence[SolutionRow]]) -> list[Row]:
        """The rows after the next event, which is evaluated row at a time."""
        assert self._row_evaluator is not None
        if solutions:
            self._names.add_one(self._position, event.name)
            if self._keeps_solutions:
                self._solutions.add_one(self._position, solutions, event)
        if self._keeps_graphs:
            self._graphs.add(self._position, event.batch)
        self._position += 1
        matches = self._row_evaluator.on_event(event.time, event.stream, solutions)
        rows = [row for piece in self._rows(matches) for row in piece] if matches else []
        if self._groups is not None:
            rows += self._groups.on_events(self._position, event.time)
        if self._position % _FORGET_EVENTS == 0:
            self._forget()
        return rows

    def due(self) -> int:
        """Until no event before this time is to come, events without solutions and watermarks give no row."""
        return ALWAYS_DUE if self._groups is not None and len(self._groups) else self._evaluator.due()

    def skip(self, gap: Gap) -> None:
        """The next events, in which no GPM has a solution; none has a time at which the stage is due."""
        self._position += gap.events
        self._evaluator.skip(gap)
        if self._groups is not None:
            self._groups.skip(self._position, gap.time)

    def on_watermark(self, time: int) -> Iterator[Rows]:
        """The rows once no event at or before `time` will arrive, in pieces."""
        self.begin()
        matches = self._evaluator.on_watermark(time)
        self.matches += len(matches)
        if self._groups is not None:
            self._fold(matches)
            yield self._groups.on_watermark(time, self._evaluator.oldest_output_time)
        elif matches:
            yield from self._projector.rows(matches, self._names)
            self._forget()

    def finish(self) -> Iterator[Rows]:
        """The last rows, in pieces."""
        yield from self._rows(self._evaluator.finish())
        if self._groups is not None:
            yield self._groups.finish()

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come, given that no event before `watermark` will arrive."""
        oldest = self._evaluator.oldest_output_time(watermark)
        return oldest if self._groups is None else self._groups.oldest_output_time(oldest)

    @property
    def events(self) -> int:
        """The number of events so far."""
        return self._position

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept now."""
        return self._evaluator.runs

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that is still needed."""
        groups = [] if self._groups is None else [self._groups.live_ids()]
        return [*self._evaluator.live_ids(), *self._graphs.live_ids(), *self._solutions.live_ids(), *groups]

    @property
    def propagated(self) -> PropagatedMatches | None:
        """The evaluator, if it builds no match."""
        return self._evaluator if isinstance(self._evaluator, PropagatedMatches) else None

    @property
    def edges_taken(self) -> Sequence[int | None] | None:
        """By edge of the plan, the partial matches whose last step it is; None: the evaluator does not make all."""
        return self._evaluator.edges_taken() if implements(self._evaluator, EdgeCounter) else None

    def count_edges(self, lost: bool) -> None:
        """Has every partial match made, and if `lost` `edges_lost` counted, where it can be; at the beginning."""
        if implements(self._evaluator, EdgeCounter):
            self._evaluator.count_edges(lost)

    @property
    def edges_lost(self) -> Sequence[Mapping[str, int] | None] | None:
        """By edge, once the streams have ended, the partial matches that it did not extend, by cause; None: unknown."""
        return self._evaluator.edges_lost() if implements(self._evaluator, EdgeCounter) else None

    def run_counts(self, time: int) -> RunCounts:
        """The partial matches now, given that no event before `time` is to come."""
        standing = self._evaluator.standing(time) if implements(self._evaluator, StateCounter) else None
        whole = self.propagated is None and not self._compiled.lanes
        return RunCounts(self._compiled.plan, standing, self.edges_taken, self.matches if whole else None)

    def waiting(self, state: int, limit: int, time: int) -> list[WaitingRun] | None:
        """The newest partial matches at a state, `limit` at most, given that no event before `time` is to come.

        None: the evaluator does not keep them one by one.
        """
        found = self._evaluator.waiting(state, limit, time) if implements(self._evaluator, StateCounter) else None
        return None if found is None else [self._waiting_run(each) for each in found]

    def _waiting_run(self, found: PartialMatch) -> WaitingRun:
        terms = zip(self._query.variables, self._dictionary.terms(found.registers), strict=True)
        named = {as_written(name): (name, term) for name, term in terms if term is not None}
        bindings = tuple((name, named[name][1]) for name in sorted(named))
        return WaitingRun(self._projector.step_events(found.entries, self._names), bindings, found.until)

    @property
    def removed(self) -> Mapping[str, int]:
        """The matches that DISTINCT and LIMIT have removed, by cause."""
        return self._projector.removed

    @property
    def replanned(self) -> tuple[str, ...]:
        """The latest replacements of the evaluator while the query runs: time and reason, one sentence each."""
        if not isinstance(self._evaluator, AdaptiveEvaluator):
            return ()
        return tuple(switch_in_words(switch) for switch in self._evaluator.switches)

    @property
    def state_kind(self) -> str:
        """The kind of evaluator that can read the state."""
        return self._evaluator.state_kind

    def planned_as(self, plan: PhysicalPlan) -> tuple[SequenceStage, Callable[[], object]]:
        """A new stage of the query by another plan, and what lets go of its constants."""
        with self._dictionary.pins() as pins:
            stage = SequenceStage(plan, *self._given)
        return stage, partial(self._dictionary.unpin, pins)

    def snapshot(self) -> dict[str, Any]:
        """The state between two slices, without events that no match can contain."""
        oldest = self._evaluator.oldest_position()
        return {
            "kind": self._evaluator.state_kind,
            "sequence": self._evaluator.snapshot(),
            "position": self._position,
            "matches": self.matches,
            "names": self._names.since(oldest),
            "graphs": self._graphs.snapshot(oldest),
            "solutions": self._solutions.snapshot(oldest),
            "projector": self._projector.snapshot(),
            "groups": None if self._groups is None else self._groups.snapshot(),
            "progress": None if self._groups is None else self._groups.progress,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues a new stage from a snapshot of the same query by an evaluator of the same kind."""
        self._evaluator.restore(state["sequence"])
        self._position, self.matches = state["position"], state["matches"]
        self._names.restore(state["names"])
        self._graphs.restore(state["graphs"])
        self._solutions.restore(state["solutions"])
        self._projector.restore(state["projector"])
        if self._groups is not None:
            self._groups.restore(state["groups"])
            if state["progress"] is not None:  # release 0.1.0 did not write it
                self._groups.go_on(state["progress"])

    def _rows(self, matches: Sequence[Match]) -> Iterator[Rows]:
        """The rows of matches in pieces; none where they are folded into groups."""
        self.matches += len(matches)
        if self._groups is not None:
            self._fold(matches)
        elif matches:
            yield from self._projector.rows(matches, self._names)

    def _forget(self) -> None:
        oldest = self._evaluator.oldest_position()
        self._names.forget(oldest)
        self._graphs.forget(oldest)
        self._solutions.forget(oldest)
        self._projector.forget(oldest)


def _named_scopes(compiled: Compiled) -> dict[int, list[int]]:
    """symbol → its variables in order, of the symbols whose solutions names or the order of the output depend on."""
    if not compiled.query.orders_solutions:
        return {}
    return {symbol: sorted(compiled.program.symbols[symbol].scope) for symbol in sorted(compiled.plan.used)}
