"""Conditions under which an evaluator runs a query, and what speaks against it; the reasons are shown by `explain`."""

from __future__ import annotations

from automata.adaptive.adaptive_evaluator import why_not_adaptive
from automata.lazy.path import NotLazy, paths
from automata.lazy.units import units_of
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.plan.program import Selector
from automata.registers.iterated import register_of
from automata.registers.tables import why_not
from automata.values import NONE
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.dictionary import Dictionary
from spaseq.physical.program import Compiled
from spaseq.physical.register_guard import guard_of


def why_not_lazy(plan: Plan) -> str | None:
    """The reason why lazy chains and trees cannot run the plan; None if they can."""
    try:
        paths(plan)
    except NotLazy as refusal:
        return str(refusal)
    return None


def why_not_replanned(plan: Plan) -> str | None:
    """The reason why the evaluator cannot be replaced as rates are measured; None if it can."""
    return why_not_lazy(plan) or why_not_adaptive(plan)


def single_step(plan: Plan) -> bool:
    """True if no path of the sequence has two steps, so that there is only one evaluation order."""
    return all(len(units_of(path).steps) < 2 for path in paths(plan))


def needs_known_rates(plan: Plan) -> str | None:
    """The argument against lazy evaluation while the rates of the steps are unknown; None with an ALL( )."""
    if plan.unordered:
        return None
    return "it pays where later steps are the rarer ones, and their rates are not known before it runs"


def selects_among_subsets(plan: Plan) -> bool:
    """True if a selector compares the matches of a repetition under `:`, of which every subset is one."""
    loops = (edge for edge in plan.edges if edge.loop != NONE)
    return plan.program.selector is not Selector.ALL and any(edge.operator is Contiguity.ANY for edge in loops)


def why_no_registers(compiled: Compiled) -> str | None:
    """The reason why the register automaton cannot run the query; None if it can."""
    reason = why_not(compiled.plan)
    if reason is not None:
        return reason
    dictionary, registers = Dictionary(), register_of(compiled.program)
    for condition, expression in zip(compiled.program.conditions, compiled.conditions, strict=True):
        names = {compiled.name(r): registers[r] for r in condition.references}
        if guard_of(expression, names, dictionary) is None:
            return f"the condition {expression_text(expression)} is more than comparisons of numbers"
    return None
