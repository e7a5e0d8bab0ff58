"""Whether the lazy evaluators can run a program, and what speaks for them before it runs."""

from __future__ import annotations

from automata.adaptive.adaptive_evaluator import why_not_adaptive
from automata.lazy.path import NotLazy, paths
from automata.lazy.units import units_of
from automata.plan.automaton import build_automaton
from automata.plan.program import Program


def why_not_lazy(program: Program) -> str | None:
    """What keeps lazy chains and trees from running the program, in words; None if nothing does."""
    try:
        paths(build_automaton(program.expression))
    except NotLazy as refusal:
        return str(refusal)
    return None


def why_not_replanned(program: Program) -> str | None:
    """What keeps the evaluator from being changed as rates are measured, in words; None if nothing does."""
    return why_not_lazy(program) or why_not_adaptive(program)


def single_step(program: Program) -> bool:
    """Whether nothing can be looked for in another order: no way through the sequence has two steps."""
    return all(len(units_of(path).steps) < 2 for path in paths(build_automaton(program.expression)))


def needs_known_rates(program: Program) -> str | None:
    """What speaks against lazy evaluation as long as nothing is known of the steps' rates; None with an ALL( )."""
    if build_automaton(program.expression).unordered:
        return None
    return "it pays where later steps are the rarer ones, and their rates are not known before it runs"
