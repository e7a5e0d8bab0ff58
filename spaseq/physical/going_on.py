"""The plan by which a query goes on from a state: the state says which evaluator wrote it, and that one goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from automata import layouts
from automata.cea.applicability import why_not_cea
from automata.state import Unreadable
from spaseq.errors import InputError
from spaseq.physical.applicability import why_no_registers
from spaseq.physical.plan import PROPAGATION, Form, PhysicalPlan
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled

_REASON = "its saved state is that of this evaluator"
_EVALUATORS = {
    layouts.RUNS.name: ("nfa", False),
    layouts.REGISTERS.name: ("nfa", True),
    layouts.CEA.name: ("cea", True),
    layouts.CHAINS.name: ("lazy", False),
    layouts.PROPAGATION.name: ("auto", False),
}
"""By the layout of a state, the name that `--evaluator` takes, and whether in kernels."""


def goes_on(plan: PhysicalPlan, own_kind: str, kind: str, state: Mapping[str, Any]) -> bool:
    """Whether the evaluator of a plan, whose states are of `own_kind`, reads a state of `kind`."""
    if kind != layouts.ADAPTIVE.name or kind != own_kind:
        return kind == own_kind
    if not _takes_kernels(state):
        return plan.later is None
    by_rates = state["policy"]["other"] is not None
    return plan.later is not None and (plan.evaluator == "adaptive") is by_rates and _in_kernels(state) <= {plan.later}


def plan_of_state(planned: PhysicalPlan, kind: str, state: Mapping[str, Any]) -> PhysicalPlan:
    """The plan of the evaluator that wrote a state, in place of another; raises Unreadable if it cannot go on.

    It cannot if it does not run the query any more, or if the other one was asked for.
    """
    lanes, _, plain = kind.rpartition(" of ")
    state = state["lanes"][0] if lanes else state
    compiled = planned.compiled
    try:
        plan = _adaptive(compiled, state) if plain == layouts.ADAPTIVE.name else _plan(compiled, plain)
    except InputError as error:
        raise Unreadable(f"evaluator '{kind}' wrote it, which does not run the query any more: {error}") from error
    if planned.asked and planned.evaluator != plan.evaluator:
        raise Unreadable(f"evaluator '{plan.evaluator}' wrote it, and '{planned.evaluator}' is asked for: ask for none")
    return replace(plan, reason=_REASON)


def _plan(compiled: Compiled, kind: str) -> PhysicalPlan:
    if kind not in _EVALUATORS:
        raise Unreadable(f"an evaluator '{kind}' wrote it, which this SPAseq does not have")
    name, kernels = _EVALUATORS[kind]
    plan = plan_query(compiled, name, kernels=kernels)
    as_written = plan.form is Form.KERNELS if kernels else name != "auto" or plan.evaluator == PROPAGATION
    if not as_written:
        raise Unreadable(f"evaluator '{kind}' wrote it, which does not run the query any more")
    return plan


def _adaptive(compiled: Compiled, state: Mapping[str, Any]) -> PhysicalPlan:
    """Runs or lazy automata as rates favour, and kernels later, as the policy in the state says."""
    if not _takes_kernels(state):
        return plan_query(compiled, "adaptive", kernels=False)
    plan = plan_query(compiled, "adaptive" if state["policy"]["other"] is not None else "nfa", kernels=False)
    known = [*_in_kernels(state), plan_query(compiled, kernels=None).later, *_able(compiled)]
    return replace(plan, later=next((each for each in known if each is not None), None))


def _takes_kernels(state: Mapping[str, Any]) -> bool:
    """Whether the policy of an adaptive evaluator takes kernels once they pay."""
    return "slices" in state["policy"]


def _in_kernels(state: Mapping[str, Any]) -> set[str]:
    """The evaluators in kernels that run, or are about to, in the state of an adaptive one."""
    running = {each[0] for each in (state["running"], state["beside"]) if each is not None}
    return running & {layouts.CEA.name, layouts.REGISTERS.name}


def _able(compiled: Compiled) -> list[str]:
    """The evaluators in kernels that can run a query."""
    refusals = {layouts.CEA.name: why_not_cea(compiled.plan), layouts.REGISTERS.name: why_no_registers(compiled)}
    return [name for name, refusal in refusals.items() if refusal is None]
