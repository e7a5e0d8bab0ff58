"""Partial matches on each edge, where evaluators replace each other: each counts on where the one before it ended."""

from __future__ import annotations

from collections.abc import Sequence

from automata.protocol import EdgeCounter, Evaluator
from automata.values import implements


class EdgeCounts:
    """The counts of a plan with so many edges.

    before      by edge those that were counted before the current evaluator took over, less those that it had counted
                then, too, as it had read part of the same events; None: they are not known
    """

    def __init__(self, edges: int) -> None:
        self.before: Sequence[int | None] | None = [0] * edges

    def taken(self, current: Evaluator) -> Sequence[int | None] | None:
        """As `EdgeCounter.edges_taken`, of all evaluators so far."""
        return _combined(self.before, _taken(current), 1)

    def replace(self, old: Evaluator, new: Evaluator) -> None:
        """The new evaluator takes over."""
        self.before = _combined(self.taken(old), _taken(new), -1)


def _taken(evaluator: Evaluator) -> Sequence[int | None] | None:
    return evaluator.edges_taken() if implements(evaluator, EdgeCounter) else None


def _combined(
    counts: Sequence[int | None] | None, more: Sequence[int | None] | None, sign: int
) -> Sequence[int | None] | None:
    """By edge both together, or their difference; None where one of them is not known."""
    if counts is None or more is None:
        return None
    pairs = zip(counts, more, strict=True)
    return [None if one is None or other is None else one + sign * other for one, other in pairs]
