"""The evaluators that can take over from each other, each imported when it is first asked for."""

from __future__ import annotations

from automata.adaptive.policy import Startable
from automata.plan.program import ConditionEvaluator, Program


def exchangeable(name: str, program: Program, condition_evaluator: ConditionEvaluator) -> Startable:
    """A new evaluator of this name: "nfa", "lazy" or "tree"."""
    match name:
        case "nfa":
            from automata.runs.rows.live_evaluator import runs_of

            return runs_of(program, condition_evaluator)
        case "lazy":
            from automata.lazy.lazy_evaluator import LazyEvaluator
            from automata.runs.columns.negated_groups import NegatedGroups

            return LazyEvaluator(program, condition_evaluator, NegatedGroups)
        case "tree":
            from automata.lazy.lazy_evaluator import TreeEvaluator
            from automata.runs.columns.negated_groups import NegatedGroups

            return TreeEvaluator(program, condition_evaluator, NegatedGroups)
    raise AssertionError(name)
