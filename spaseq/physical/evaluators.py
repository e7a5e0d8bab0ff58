"""Evaluators made from a physical plan; the module of an evaluator is imported when one is made."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator
from automata.adaptive.policy import Startable
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.protocol import Restorable
from automata.registers.guard import GuardConditionEvaluator
from automata.runs.rows.conditions import RowConditionEvaluator
from spaseq.physical import replanning
from spaseq.physical.hopping import Lanes
from spaseq.physical.kernels_later import Kernels, KernelsLater
from spaseq.physical.plan import Form, PhysicalPlan


class ConditionEvaluatorOfAnyForm(RowConditionEvaluator, GuardConditionEvaluator, Protocol):
    """The questions of evaluators in columns, row at a time and in kernels."""


def evaluator_of(
    plan: PhysicalPlan, condition_evaluator: ConditionEvaluatorOfAnyForm, kernels: Kernels | None = None
) -> Restorable:
    """A new evaluator, as planned; without `kernels` it stays what it is."""
    if plan.compiled.lanes:
        return Lanes(plan.compiled.lanes, lambda compiled: _evaluator(plan, compiled, condition_evaluator))
    if plan.later is not None and kernels is not None:
        return _with_kernels_later(plan, plan.later, condition_evaluator, kernels)
    return _evaluator(plan, plan.compiled.plan, condition_evaluator)


def _evaluator(plan: PhysicalPlan, compiled: Plan, condition_evaluator: ConditionEvaluatorOfAnyForm) -> Restorable:
    match plan.evaluator, plan.form:
        case "cea", _:
            return _in_kernels("cea", compiled, condition_evaluator)
        case _, Form.KERNELS:
            return _in_kernels("registers", compiled, condition_evaluator)
        case "adaptive", form:
            return adaptive_evaluator(compiled, condition_evaluator, form)
        case name, form:
            return _replaceable(name, compiled, condition_evaluator, form)


def adaptive_evaluator(
    plan: Plan, condition_evaluator: ConditionEvaluator, form: Form = Form.ROWS
) -> AdaptiveEvaluator:
    """Runs, lazy chains or a lazy tree, whichever the measured rates favour."""
    makers = {name: partial(_replaceable, name, plan, condition_evaluator, form) for name in replanning.NAMES}
    policy = replanning.RatesDecide(plan, condition_evaluator)
    return AdaptiveEvaluator(plan, makers, replanning.initial(plan), policy, alone="nfa")


def _with_kernels_later(
    plan: PhysicalPlan, later: str, condition_evaluator: ConditionEvaluatorOfAnyForm, kernels: Kernels
) -> AdaptiveEvaluator:
    """The evaluator of the plan, until one in kernels takes over."""
    compiled = plan.compiled.plan
    names = replanning.NAMES if plan.evaluator == "adaptive" else (plan.evaluator,)
    makers = {name: partial(_replaceable, name, compiled, condition_evaluator, plan.form) for name in names}
    makers[later] = partial(_in_kernels, later, compiled, condition_evaluator)
    other = replanning.RatesDecide(compiled, condition_evaluator) if plan.evaluator == "adaptive" else None
    policy = KernelsLater(other, later, kernels)
    first = replanning.initial(compiled)
    return AdaptiveEvaluator(compiled, makers, first, policy, alone="nfa", at_once=frozenset({later}))


def _in_kernels(name: str, plan: Plan, condition_evaluator: ConditionEvaluatorOfAnyForm) -> Startable:
    """Complex event automata, or register automata."""
    if name == "cea":
        from automata.cea.cea_evaluator import CeaEvaluator

        return CeaEvaluator(plan, condition_evaluator)
    from automata.registers.register_evaluator import RegisterEvaluator

    return RegisterEvaluator(plan, condition_evaluator)


def _replaceable(name: str, plan: Plan, condition_evaluator: ConditionEvaluator, form: Form) -> Startable:
    """An evaluator that `adaptive` can replace while the query runs."""
    match name:
        case "nfa" if form is Form.ROWS:
            from automata.runs.rows.live_evaluator import runs_of

            return runs_of(plan, condition_evaluator)
        case "nfa":
            from automata.runs.columns.run_evaluator import RunEvaluator

            return RunEvaluator(plan, condition_evaluator)
    from automata.lazy.lazy_evaluator import LazyEvaluator, TreeEvaluator
    from automata.runs.columns.negated_groups import NegatedGroups

    kind = TreeEvaluator if name == "tree" else LazyEvaluator
    return kind(plan, condition_evaluator, NegatedGroups)
