"""Counts of the funnel of one query, which add up over batches and shards."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sparql_gpm.algebra.stages import Stage
from sparql_gpm.counted_matcher import Passed


@dataclass(slots=True)
class StepTally:
    """Counts of a GPM.

    stages      of its pattern, in the order in which they are matched
    seen        events on its streams
    alone       for each stage the events in which it has a solution by itself; None where only a join could tell
    left        for each stage the events in which it has one with all stages before
    skipped     events that were not counted stage by stage
    solutions   that its sequence gets
    seconds     processor time of matching
    """

    stages: tuple[Stage, ...]
    seen: int = 0
    alone: list[int | None] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    skipped: int = 0
    solutions: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.alone = self.alone or [0] * len(self.stages)
        self.left = self.left or [0] * len(self.stages)

    def add(self, seen: int, passed: Passed, skipped: int, solutions: int) -> None:
        """More events; `skipped` of them were not matched."""
        self.seen += seen
        self.alone = [
            None if one is None or more is None else one + more
            for one, more in zip(self.alone, passed.alone, strict=True)
        ]
        self.left = [one + more for one, more in zip(self.left, passed.left, strict=True)]
        self.skipped += passed.skipped + skipped
        self.solutions += solutions

    def join(self, other: StepTally) -> None:
        """The counts of other events, too."""
        self.add(other.seen, Passed(tuple(other.alone), tuple(other.left), other.skipped), 0, other.solutions)
        self.seconds += other.seconds


@dataclass(frozen=True, slots=True)
class StepCounts:
    """The counts of a GPM in a batch; `skipped` of its events are in no partition."""

    stages: tuple[Stage, ...]
    passed: Passed
    skipped: int
    seconds: float


@dataclass(slots=True)
class FunnelTally:
    """Counts of a query.

    steps       by symbol
    took        by edge of the plan, the partial matches whose last step it is; None: the evaluator does not make all
    lost        by edge, the partial matches that it did not extend, by cause; None: it was not told, of one or of all
    matches     before DISTINCT and LIMIT; None: the evaluator leaves some out, or matches are chosen among each other
    removed     of these, those that give no row, by cause; None: rows are not matches, or `matches` is None
    rows        of its output
    seconds     processor time of the whole query: matching, sequence, rows; None: it was not measured
    idle        its sequence has got no event
    """

    steps: Sequence[StepTally]
    took: Sequence[int] | None = None
    lost: Sequence[Mapping[str, int] | None] | None = None
    matches: int | None = None
    removed: Mapping[str, int] | None = None
    rows: int = 0
    seconds: float | None = 0.0
    idle: bool = False

    def joined(self, other: FunnelTally) -> FunnelTally:
        """The counts of another shard, too; the steps are those of `self`. An idle shard says nothing."""
        if self.idle or other.idle:
            return self if other.idle else replace(other, steps=self.steps)
        return self._combined(other, operator.add)

    def since(self, before: FunnelTally) -> FunnelTally:
        """The counts after `before`, which the same evaluator had counted."""
        return self if before.idle else self._combined(before, operator.sub)

    def _combined(self, other: FunnelTally, combine: Callable[[Any, Any], Any]) -> FunnelTally:
        counts = [each.name for each in fields(self) if each.name not in ("steps", "idle")]
        return replace(self, **{name: _combined(getattr(self, name), getattr(other, name), combine) for name in counts})


def _combined(one: Any, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Two counts as one; of sequences and mappings of counts number by number. None where one of them is None."""
    if one is None or other is None:
        return None
    if isinstance(one, Mapping):
        return {name: _combined(one.get(name, 0), other.get(name, 0), combine) for name in {**one, **other}}
    if isinstance(one, Sequence):
        return [_combined(mine, theirs, combine) for mine, theirs in zip(one, other, strict=True)]
    return combine(one, other)
