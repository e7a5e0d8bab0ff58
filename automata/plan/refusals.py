"""Reasons that evaluators have in common for not running a program: one property, one test, one wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from automata.plan import expression as nodes
from automata.plan.keys import has_one_key
from automata.plan.plan import Plan


class Refusal(StrEnum):
    """A property of programs that some evaluators do not cover, in the words that users read."""

    STREAMS = "events of several streams are not totally ordered"
    CONDITIONS = "a condition compares the steps by more than equality"
    LIMITS = "a limit compares the times of events, which are not kept"
    NEGATION = "it has a negation"
    OPTIONAL = "it has an optional step"
    POSSESSIVE = "a possessive repetition asks whether it could go on"
    ANY_ORDER = "it has an ALL( )"
    CONJUNCTION = "a conjunction takes several events at one time"
    HOP = "EVERY leaves gaps between the windows that are evaluated together"
    OWN_COUNTS = "each partition counts the events of its window by itself"
    KEYS = "some steps but not all share a variable, so that it is not one key"


def first_refusal(plan: Plan, *refusals: Refusal) -> Refusal | None:
    """The first of some properties that a plan has."""
    return next((refusal for refusal in refusals if _TESTS[refusal](plan)), None)


def _has(kind: type) -> Callable[[Plan], bool]:
    """A test of whether a node of a kind is in the expression."""
    return lambda plan: any(isinstance(node, kind) for node in nodes.walk(plan.program.expression))


_TESTS: Mapping[Refusal, Callable[[Plan], bool]] = {
    Refusal.STREAMS: lambda plan: plan.program.streams > 1,
    Refusal.CONDITIONS: lambda plan: bool(plan.program.conditions),
    Refusal.LIMITS: lambda plan: bool(plan.limits) or any(each.limit is not None for each in plan.negations),
    Refusal.NEGATION: _has(nodes.Negation),
    Refusal.OPTIONAL: _has(nodes.Optional),
    Refusal.POSSESSIVE: lambda plan: bool(plan.possessive),
    Refusal.ANY_ORDER: _has(nodes.AnyOrder),
    Refusal.CONJUNCTION: _has(nodes.Conjunction),
    Refusal.HOP: lambda plan: plan.program.window.hop is not None,
    Refusal.OWN_COUNTS: lambda plan: plan.program.window.in_events and bool(plan.program.partition),
    Refusal.KEYS: lambda plan: not has_one_key(plan),
}
