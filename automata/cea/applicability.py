"""The programs that complex event automata can evaluate: its steps are related by nothing but equality on a key."""

from __future__ import annotations

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression
from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.plan.program import Selector
from automata.plan.refusals import Refusal, first_refusal
from automata.values import NONE

SYMBOLS_MAX = 60
"""A bit vector is one int64."""
COUNTS_MAX = 1 << 10
"""Iteration counts that the automaton may have to tell apart."""
_REFUSALS = (
    Refusal.STREAMS,
    Refusal.CONDITIONS,
    Refusal.LIMITS,
    Refusal.NEGATION,
    Refusal.OPTIONAL,
    Refusal.POSSESSIVE,
    Refusal.ANY_ORDER,
    Refusal.CONJUNCTION,
    Refusal.HOP,
    Refusal.OWN_COUNTS,
)


def counts_events(plan: Plan) -> bool:
    """True if events count that are between two of a match: with `,` and STRICT."""
    strict = any(edge.operator is Contiguity.STRICT for edge in plan.edges if not edge.begins)
    return strict or plan.program.selector is Selector.STRICT


def why_not_cea(plan: Plan) -> str | None:
    """The reason why complex event automata cannot evaluate the plan's program, in words, or None."""
    program = plan.program
    if program.outputs:
        return "PREV, FIRST, LAST or an aggregate looks into the iterations"
    refusal = first_refusal(plan, *_REFUSALS)
    if refusal is not None:
        return refusal
    if len(program.symbols) > SYMBOLS_MAX or _counts(program.expression) > COUNTS_MAX:
        return "it has too many steps or too large a number of iterations"
    if program.using != NONE and counts_events(plan) and len(key_of(plan)) > len(program.partition):
        return "steps are joined by more than the partition, whose other events `,` and STRICT look at, too"
    return first_refusal(plan, Refusal.KEYS)


def _counts(node: Expression) -> int:
    """An upper bound of the iteration counts told apart at once."""
    match node:
        case nodes.Repetition(inner, at_least, at_most):
            return (at_most or at_least) * _counts(inner)
        case nodes.Step():
            return 1
    return sum(map(_counts, nodes.children(node)))
