"""Iteration counts along the position automaton: how many iterations of each repetition a run has begun."""

from __future__ import annotations

from automata.plan.plan import Plan, PlannedEdge
from automata.values import NONE

Counts = tuple[int, ...]
"""Iterations so far of each repetition, capped where more make no difference; 0 outside of it."""


def crossed(plan: Plan, counts: Counts, edge: PlannedEdge) -> Counts | None:
    """The counts after an edge; None if they forbid it."""
    after = left(plan, counts, edge.leaves)
    if after is None:
        return None
    if edge.loop != NONE:
        loop, count = plan.repetitions[edge.loop], counts[edge.loop]
        if count == loop.at_most:
            return None
        after[edge.loop] = min(count + 1, loop.at_least if loop.at_most is None else loop.at_most)
    for repetition in edge.enters:
        after[repetition] = 1
    return tuple(after)


def left(plan: Plan, counts: Counts, repetitions: tuple[int, ...]) -> list[int] | None:
    """The counts once these repetitions have been left; None if they forbid it."""
    if any(counts[repetition] < plan.repetitions[repetition].at_least for repetition in repetitions):
        return None
    return [0 if repetition in repetitions else count for repetition, count in enumerate(counts)]
