"""Counts of the partial matches of one query, on the states and edges of its automaton, and those that wait there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automata.plan.plan import Plan
from sparql_gpm.terms import Term
from spaseq.outputs.rows import StepEvents


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


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A partial match that waits at a state.

    events      by step, as of a row
    bindings    (variable, term) by name; an unbound variable is absent
    until       the last time at which an event may extend or remove it, nanoseconds; None: no time tells
    """

    events: StepEvents
    bindings: tuple[tuple[str, Term], ...]
    until: int | None
