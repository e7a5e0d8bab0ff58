"""Conditions under which an evaluator runs a query, and what speaks against it; the reasons are shown by `explain`."""

from __future__ import annotations

from automata.adaptive.adaptive_evaluator import why_not_adaptive
from automata.cea.strategies import first_of_start
from automata.lazy.path import NotLazy, paths
from automata.lazy.units import units_of
from automata.plan.plan import Plan
from automata.plan.program import Demand, Selector
from automata.plan.pruning import is_gapless, pruning_of, takes_subsets
from automata.registers.iterated import register_of
from automata.registers.tables import why_not
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.partitions import in_writing
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


def leaves_runs_out(plan: Plan) -> bool:
    """True if a repetition takes any subset of events, and runs are not built whose matches are all discarded."""
    return takes_subsets(plan) and (is_gapless(plan) or pruning_of(plan) is not None)


def builds_subsets(plan: Plan) -> str | None:
    """The argument against complex event automata where they enumerate matches that runs leave out; or None."""
    if plan.program.selector is Selector.ALL and first_of_start(plan) is None and leaves_runs_out(plan):
        return "it enumerates every subset of the events of a repetition, of which few are reported"
    return None


def why_no_registers(compiled: Compiled) -> str | None:
    """The reason why the register automaton cannot run the query; None if it can."""
    reason = why_not(compiled.plan)
    if reason is not None:
        return reason
    if compiled.program.demand is Demand.EVERY and leaves_runs_out(compiled.plan):
        return "its kernels build every run, those too that lead to no match that counts"
    dictionary, registers = Dictionary(), register_of(compiled.program)
    for condition, expression in zip(compiled.program.conditions, compiled.conditions, strict=True):
        names = {compiled.name(r): registers[r] for r in condition.references}
        if guard_of(expression, names, dictionary) is None:
            return f"the condition {expression_text(in_writing(expression))} is more than comparisons of numbers"
    return None
