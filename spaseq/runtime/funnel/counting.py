"""Preparations for counting the funnel of a query: the patterns of its steps, compiled in stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparql_gpm.algebra.stages import Stage, stages
from sparql_gpm.background import Background
from sparql_gpm.counted_matcher import CountedMatcher, compile_counted
from sparql_gpm.shared import NamedPattern, PatternPool
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.funnel.counted_solver import CountedSolver
from spaseq.runtime.funnel.tally import FunnelTally, StepTally


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """The steps' patterns in stages, by symbol, and where they are counted."""

    matchers: Sequence[CountedMatcher]
    tally: FunnelTally

    def solver(self, query: TemporalQuery, named: Sequence[NamedPattern]) -> CountedSolver:
        """The solver that counts, over these patterns of the pool."""
        return CountedSolver(query, named, self.matchers, self.tally)


def counting(query: TemporalQuery, pool: PatternPool, background: Background | None) -> Counting:
    """The patterns of a query, compiled to count its funnel; raises BackgroundError."""
    ordered = ordered_steps(query)
    matchers = [
        compile_counted(step.pattern, order, pool.dictionary, pool.evaluator, background)
        for step, order in zip(query.patterns, ordered, strict=False)
    ]
    return Counting(matchers, FunnelTally([StepTally(order) for order in ordered]))


def ordered_steps(query: TemporalQuery) -> list[tuple[Stage, ...]]:
    """By symbol the stages of each step's pattern; that of USING is no step."""
    steps = query.patterns if query.using is None else query.patterns[: query.using.symbol]
    filters = {define.name: [each.expression for each in define.filters] for define in query.parsed.defines}
    return [stages(step.pattern, filters[step.name]) for step in steps]
