"""The evaluators that can take over from each other, each imported when it is first asked for."""

from __future__ import annotations

from automata.adaptive.policy import Startable
from automata.program import Host, Program


def exchangeable(name: str, program: Program, host: Host) -> Startable:
    """A new evaluator of this name: "nfa", "lazy" or "tree"."""
    match name:
        case "nfa":
            from automata.runs.single.evaluator import runs_of

            return runs_of(program, host)
        case "lazy":
            from automata.lazy.evaluator import LazyEvaluator

            return LazyEvaluator(program, host)
        case "tree":
            from automata.lazy.evaluator import TreeEvaluator

            return TreeEvaluator(program, host)
    raise AssertionError(name)
