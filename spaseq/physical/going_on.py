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
_IN_KERNELS = {layouts.REGISTERS.name: "nfa", layouts.CEA.name: "cea"}
"""By the layout of a state of kernels, the name of their evaluator."""


def goes_on(plan: PhysicalPlan, own_kind: str, kind: str, state: Mapping[str, Any]) -> bool:
    """True if the evaluator of a plan, whose states are of `own_kind`, reads a state of `kind`."""
    if kind != own_kind:
        return False
    plain, state = _of_one_lane(kind, state)
    if plain == layouts.CHAINS.name:
        return plan.evaluator == _lazy(state)
    if plain != layouts.ADAPTIVE.name:
        return True
    if not _takes_kernels(state):
        return plan.later is None
    by_rates = state["policy"]["other"] is not None
    return plan.later is not None and (plan.evaluator == "adaptive") is by_rates and _in_kernels(state) <= {plan.later}


def plan_of_state(planned: PhysicalPlan, kind: str, state: Mapping[str, Any]) -> PhysicalPlan:
    """The plan of the evaluator that wrote a state, in place of another; raises Unreadable if it cannot go on.

    It cannot if it does not run the query any more, or if the other one was asked for.
    """
    plain, state = _of_one_lane(kind, state)
    compiled = planned.compiled
    try:
        plan = _plan(compiled, plain, state)
    except InputError as error:
        raise Unreadable(f"evaluator '{kind}' wrote it, which does not run the query any more: {error}") from error
    if planned.asked and planned.evaluator != plan.evaluator:
        raise Unreadable(f"evaluator '{plan.evaluator}' wrote it, and '{planned.evaluator}' is asked for: ask for none")
    return replace(plan, reason=_REASON)


def _plan(compiled: Compiled, kind: str, state: Mapping[str, Any]) -> PhysicalPlan:
    match kind:
        case layouts.RUNS.name:
            return plan_query(compiled, "nfa", kernels=False)
        case layouts.CHAINS.name:
            return plan_query(compiled, _lazy(state), kernels=False)
        case layouts.ADAPTIVE.name:
            return _adaptive(compiled, state)
        case layouts.REGISTERS.name | layouts.CEA.name:
            plan = plan_query(compiled, _IN_KERNELS[kind])
            as_written = plan.form is Form.KERNELS
        case layouts.PROPAGATION.name:
            plan = plan_query(compiled, kernels=False)
            as_written = plan.evaluator == PROPAGATION
        case _:
            raise Unreadable(f"an evaluator '{kind}' wrote it, which this SPAseq does not have")
    if not as_written:
        raise Unreadable(f"evaluator '{kind}' wrote it, which does not run the query any more")
    return plan


def _of_one_lane(kind: str, state: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind and the state of one of several evaluators that take turns; of one alone its own."""
    lanes, _, plain = kind.rpartition(" of ")
    return (plain, layouts.LANES.read(state)["lanes"][0]) if lanes else (kind, state)


def _lazy(state: Mapping[str, Any]) -> str:
    """The lazy evaluator that wrote a state: a tree has no order of its units to keep."""
    return "lazy" if any(chain["plan"] for chain in state["chains"]) else "tree"


def _adaptive(compiled: Compiled, state: Mapping[str, Any]) -> PhysicalPlan:
    """Runs or lazy automata as rates favour, and kernels later, as the policy in the state says."""
    if not _takes_kernels(state):
        return plan_query(compiled, "adaptive", kernels=False)
    plan = plan_query(compiled, "adaptive" if state["policy"]["other"] is not None else "nfa", kernels=False)
    known = [*_in_kernels(state), plan_query(compiled, kernels=None).later, *_able(compiled)]
    return replace(plan, later=next((each for each in known if each is not None), None))


def _takes_kernels(state: Mapping[str, Any]) -> bool:
    """True if the policy of an adaptive evaluator takes kernels once they pay."""
    return "slices" in state["policy"]


def _in_kernels(state: Mapping[str, Any]) -> set[str]:
    """The evaluators in kernels that run, or are about to, in the state of an adaptive one."""
    running = {each[0] for each in (state["running"], state["beside"]) if each is not None}
    return running & _IN_KERNELS.keys()


def _able(compiled: Compiled) -> list[str]:
    """The evaluators in kernels that can run a query."""
    refusals = {layouts.CEA.name: why_not_cea(compiled.plan), layouts.REGISTERS.name: why_no_registers(compiled)}
    return [name for name, refusal in refusals.items() if refusal is None]
