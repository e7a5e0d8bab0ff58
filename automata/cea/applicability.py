"""The programs that complex event automata can evaluate: its steps are related by nothing but equality on a key."""

from __future__ import annotations

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression
from automata.plan.keys import key_of, why_not_keyed
from automata.plan.plan import Plan
from automata.plan.program import Selector
from automata.values import NONE

SYMBOLS_MAX = 60
"""A bit vector is one int64."""
COUNTS_MAX = 1 << 10
"""Iteration counts that the automaton may have to tell apart."""


def counts_events(plan: Plan) -> bool:
    """True if events count that are between two of a match: with `,` and STRICT."""
    strict = any(edge.operator is Contiguity.STRICT for edge in plan.edges if not edge.begins)
    return strict or plan.program.selector is Selector.STRICT


def why_not_cea(plan: Plan) -> str | None:
    """The reason why complex event automata cannot evaluate the plan's program, in words, or None."""
    program = plan.program
    kinds = {type(node) for node in nodes.walk(program.expression)}
    if program.streams > 1:
        return "events of several streams are not totally ordered"
    if program.conditions:
        return "a condition compares the steps by more than equality"
    if program.outputs:
        return "PREV, FIRST, LAST or an aggregate looks into the iterations"
    if plan.limits:
        return "a limit compares the times of events, which its states do not keep"
    if nodes.Negation in kinds:
        return "it has a negation"
    if nodes.Optional in kinds:
        return "it has an optional step"
    if plan.possessive:
        return "a possessive repetition asks whether it could go on"
    if nodes.AnyOrder in kinds:
        return "it has an ALL( )"
    if nodes.Conjunction in kinds:
        return "a conjunction takes several events at one time"
    if program.window.hop is not None:
        return "EVERY leaves gaps between the windows that are evaluated together"
    if program.partition and program.window.in_events:
        return "each partition counts the events of its window by itself"
    if len(program.symbols) > SYMBOLS_MAX or _counts(program.expression) > COUNTS_MAX:
        return "it has too many steps or too large a number of iterations"
    if program.using != NONE and counts_events(plan) and len(key_of(plan)) > len(program.partition):
        return "steps are joined by more than the partition, whose other events `,` and STRICT look at, too"
    return why_not_keyed(plan)


def _counts(node: Expression) -> int:
    """An upper bound of the iteration counts told apart at once."""
    match node:
        case nodes.Repetition(inner, at_least, at_most):
            return (at_most or at_least) * _counts(inner)
        case nodes.Step():
            return 1
    return sum(map(_counts, nodes.children(node)))
