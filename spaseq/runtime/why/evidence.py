"""The material of a query's explanation: its events, their solutions, and everything to look into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparql_gpm.background import Background
from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.labels import PatternLabel
from sparql_gpm.shared import PatternPool
from sparql_gpm.terms import Term
from spaseq.algebra.partitions import as_written
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.conditions import TermConditionEvaluator, condition_matchers
from spaseq.runtime.stages.pattern_solver import label_of
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.state.kept_graphs import KeptGraphs
from spaseq.runtime.why.recorded import candidates, solved
from spaseq.runtime.why.world import Candidate, Merged, World, worlds

SET_ASIDE = "been set aside by the service"


@dataclass(eq=False)
class Evidence:
    """A query, consecutive ones of its events in merged order, and then those that were late.

    first   how many events were before them
    batch   those in merged order
    late    events of the query's streams that were late, in order of arrival
    skipped by the IRI of an endpoint, the rows that were joined with nothing so far as it did not answer
    """

    compiled: Compiled
    dictionary: Dictionary
    evaluator: ExpressionEvaluator
    background: Background | None
    patterns: PatternStage
    pool: PatternPool
    first: int
    batch: EventBatch
    late: EventBatch
    skipped: Callable[[], Mapping[str, int]] = dict

    @cached_property
    def every(self) -> EventBatch:
        """All of them, then the late events; with all that follows by the schemas of knowledge bases."""
        both = EventBatch.concatenate([self.batch, self.late]) if len(self.late) else self.batch
        entailed = self.patterns.entailed
        return both if entailed is None else entailed(both)

    @cached_property
    def merged(self) -> Merged:
        """Times and streams of the events."""
        every = self.every
        return Merged(every.times.tolist(), every.streams.tolist(), len(self.batch))

    @property
    def found(self) -> Mapping[int, Sequence[Candidate]]:
        """The solutions of every symbol, by event; of late events after all others."""
        return self._matched[0]

    @property
    def over_bounds(self) -> Mapping[int, Mapping[int, str]]:
        """By symbol and event the reasons for which events were not matched: they exceed a bound, or did before."""
        return self._matched[1]

    @cached_property
    def _matched(self) -> tuple[Mapping[int, Sequence[Candidate]], Mapping[int, Mapping[int, str]]]:
        left_out, over = self.pool.left_out, list[tuple[PatternLabel, int, str]]()
        first = 0

        def note(label: PatternLabel, _: EventBatch, exceeded: Exceeded) -> None:
            over.append((label, first + exceeded.event, exceeded.reason))

        self.pool.left_out = note
        try:
            here = solved(self.patterns, self.batch)
            first = len(self.batch)
            late = solved(self.patterns, self.late) if len(self.late) else None
        finally:
            self.pool.left_out = left_out
        found = {
            symbol: [
                *candidates(here, symbol),
                *(candidates(late, symbol, len(self.batch)) if late is not None else ()),
            ]
            for symbol in range(len(self.compiled.program.symbols))
        }
        reasons: dict[int, dict[int, str]] = {symbol: {} for symbol in found}
        for symbol, pattern in enumerate(self.compiled.query.patterns):
            label = label_of(self.compiled.query, symbol)
            aside = self.pool.supervision.looks_at(label, self.every)
            reasons[symbol] = {} if aside is None else dict.fromkeys(np.flatnonzero(aside).tolist(), SET_ASIDE)
            reasons[symbol] |= {event: reason for each, event, reason in over if each.pattern == pattern.name}
        return found, reasons

    @cached_property
    def conditions(self) -> TermConditionEvaluator:
        """The evaluator of the query's conditions."""
        compiled, graphs = self.compiled, KeptGraphs()
        graphs.add(0, self.every)
        matchers = condition_matchers(compiled, self.dictionary, self.evaluator, self.background)
        return TermConditionEvaluator(
            compiled, self.dictionary, self.evaluator, matchers, graphs, lambda found: [() for _ in found]
        )

    @cached_property
    def worlds(self) -> Sequence[World]:
        """One for each partition."""
        return list(worlds(self.compiled, self.conditions, self.merged, self.found, self.first))

    @cached_property
    def of_steps(self) -> Mapping[int, int]:
        """By variable of USING, the one that steps bind and is written alike; where nothing reads that, one below 0."""
        names = self.compiled.query.variables
        numbers = {name: number for number, name in enumerate(names)}
        return {v: numbers.get(as_written(names[v]), -1 - v) for v in self.compiled.program.partition}

    def variable(self, variable: int) -> str:
        """A variable as the query writes it."""
        return as_written(self.compiled.query.variables[variable if variable >= 0 else -1 - variable])

    def name(self, event: int) -> str:
        """The name of an event's graph."""
        return self.every.names[event]

    def named(self, name: str) -> list[int]:
        """The events with a graph of this name."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for event, name in enumerate(self.every.names):
            found.setdefault(name, []).append(event)
        return found

    def term(self, identifier: int) -> Term:
        """The term of an id."""
        return self.dictionary.term(identifier)

    def single(self, event: int) -> EventBatch:
        """One event as a batch."""
        return self.every.take(np.array([event], dtype=np.int64))


def part_between(batch: EventBatch, least: int, most: int) -> tuple[int, EventBatch]:
    """The events of a merged order with times from `least` to `most`, and the number of those before."""
    begin = int(np.searchsorted(batch.times, least, "left"))
    return begin, batch.between(begin, int(np.searchsorted(batch.times, most, "right")))
