"""Counts of the partial matches of one query, on the states and edges of its automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automata.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Partial matches on the automaton of a plan; None where the evaluator does not keep or count them so.

    standing    by position those that later events may extend; then the matches that wait to be reported
    taken       by edge those whose last step it is, since the query began
    matches     before DISTINCT and LIMIT, since the query began
    """

    plan: Plan
    standing: Sequence[int] | None
    taken: Sequence[int | None] | None
    matches: int | None

    @staticmethod
    def none_yet(plan: Plan) -> RunCounts:
        """Those of a query that no event has touched."""
        return RunCounts(plan, [0] * (len(plan.positions) + 1), [0] * len(plan.edges), 0)
