"""Graph patterns over batches of events, with counts of the events that each part of a pattern leaves over.

matcher = compile_counted(pattern, stages(pattern), dictionary, evaluator)
solutions, passed = matcher.match(batch)     # the solutions are those of `compile_pattern(…).match(batch)`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparql_gpm.algebra.stages import Stage
from sparql_gpm.background import Background
from sparql_gpm.bounds import Exceeded, MatchBounds, within
from sparql_gpm.columns import EventBatch, Ids, Mask, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.compile import Compiler
from sparql_gpm.matching.counted import Counted, counted
from sparql_gpm.matching.frames import Frames
from sparql_gpm.pattern import Pattern
from sparql_gpm.relations.relation import Relation


@dataclass(frozen=True, slots=True)
class Passed:
    """Events counted, stage by stage.

    alone       in which the stage has a solution by itself; None where only a join could tell
    left        in which it has one together with all stages before
    skipped     events that were not counted: stage by stage they exceed a bound
    """

    alone: tuple[int | None, ...]
    left: tuple[int, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class CountedMatcher:
    """A pattern compiled twice: in stages, and as it is matched where nothing is counted."""

    matcher: Matcher
    stages: tuple[Stage, ...]
    counted: Counted

    def match(
        self,
        batch: EventBatch | BatchView,
        events: Mask | None,
        bounds: MatchBounds,
        left_out: Callable[[Exceeded], object],
        seen: Mask | None = None,
    ) -> tuple[Solutions, Passed]:
        """As `Matcher.match`, and the counts of these events; those of stages alone are about all that were `seen`.

        An event that exceeds a bound stage by stage is matched as usual, and its solutions are not lost by counting.
        """
        view = self.matcher.view(batch)

        def matched(some: Mask | None) -> _Part:
            frames = Frames(view, live=None if some is None or some.all() else some, distinct=self.matcher.is_set)
            relation, left = self.counted.evaluate(frames)
            return _Part(self.matcher.projected(relation, frames), left)

        parts, exceeded = within(bounds, events, len(view), matched)
        uncounted = np.zeros(len(view), dtype=np.bool_)
        uncounted[[each.event for each in exceeded]] = True
        relations = [part.relation for part in parts]
        found = self.matcher.within_bounds(relations, bounds, left_out)
        if exceeded:
            found = _merged(found, self.matcher.match(view, uncounted, bounds, left_out))
        counts = [part.left for part in parts] or [[0] * len(self.counted.scans)]
        left = tuple(map(sum, zip(*counts, strict=True)))
        return found, Passed(tuple(self.counted.alone(view, seen)), left, len(exceeded))


def compile_counted(
    pattern: Pattern,
    stages: Sequence[Stage],
    dictionary: Dictionary,
    evaluator: ExpressionEvaluator,
    background: Background | None = None,
) -> CountedMatcher:
    """The matcher of a pattern that counts these stages of it; raises BackgroundError."""
    matcher = compile_pattern(pattern, dictionary, evaluator, background)
    return CountedMatcher(matcher, tuple(stages), counted(stages, Compiler(dictionary, evaluator, background)))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    relation: Relation
    left: list[int]

    def __len__(self) -> int:
        return len(self.relation)


def _merged(one: Solutions, other: Solutions) -> Solutions:
    """The solutions of different events, by event."""
    events: Ids = np.concatenate((one.events, other.events))
    order = np.argsort(events, kind="stable")
    columns = {name: np.concatenate((one.columns[name], other.columns[name]))[order] for name in one.columns}
    return Solutions(events[order], columns)
