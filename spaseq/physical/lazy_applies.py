"""Whether the lazy evaluators can run a program, and what speaks for them before it runs."""

from __future__ import annotations

from automata.lazy.path import NotLazy, paths
from automata.nfa import build_automaton
from automata.program import Program


def why_not_lazy(program: Program) -> str | None:
    """What keeps lazy chains and trees from running the program, in words; None if nothing does."""
    try:
        paths(build_automaton(program.expression))
    except NotLazy as refusal:
        return str(refusal)
    return None


def needs_known_rates(program: Program) -> str | None:
    """What speaks against lazy evaluation as long as nothing is known of the steps' rates; None with an ALL( )."""
    if build_automaton(program.expression).unordered:
        return None
    return "it pays where later steps are the rarer ones, and their rates are not known before it runs"
