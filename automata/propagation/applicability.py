"""The programs along whose automata aggregates can be propagated: nothing but a key relates the steps of a match."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, children, walk
from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.plan.program import Selector, Skip
from automata.plan.refusals import Refusal, first_refusal
from automata.propagation.machine import Ambiguous, machine_of
from automata.propagation.measures import Measured
from automata.values import NONE

_REFUSALS = (
    Refusal.STREAMS,
    Refusal.POSSESSIVE,
    Refusal.LIMITS,
    Refusal.CONDITIONS,
    Refusal.ANY_ORDER,
    Refusal.CONJUNCTION,
    Refusal.KEYS,
)


def why_not_propagated(plan: Plan, groups: Iterable[int], measured: Iterable[Measured]) -> str | None:
    """The reason why matches have to be built, in words, or None.

    groups      the variables of GROUP BY
    """
    return _why_not_matched(plan) or _why_not_windowed(plan) or _why_not_measured(plan, groups, measured)


def _why_not_matched(plan: Plan) -> str | None:
    program = plan.program
    if program.selector is not Selector.ALL:
        return f"{program.selector.value} compares matches with each other"
    if program.skip is not Skip.NO_SKIP:
        return "AFTER MATCH drops matches because of others"
    if program.using != NONE:
        return "USING says which events belong to a partition, whatever the steps bind"
    return first_refusal(plan, *_REFUSALS) or _why_not_negated(plan) or _why_not_unambiguous(plan)


def _why_not_negated(plan: Plan) -> str | None:
    key = frozenset(key_of(plan))
    bound = frozenset[int]().union(*(plan.program.symbols[symbol].scope for symbol in plan.used))
    for negation in plan.negations:
        if not isinstance(negation.expression, nodes.Step):
            return "a negated group is looked for as a whole"
        symbol = plan.program.symbols[negation.expression.symbol]
        if not key <= symbol.certain or (symbol.scope & bound) - key:
            return "a negated step is related to the others by more or less than the key"
    return None


def _why_not_unambiguous(plan: Plan) -> str | None:
    try:
        machine_of(plan)
    except Ambiguous as reason:
        return str(reason)
    return None


def _why_not_windowed(plan: Plan) -> str | None:
    program, key = plan.program, key_of(plan)
    edges = [edge for edge in plan.edges if not edge.begins]
    by_event = program.window.in_events or any(edge.operator is Contiguity.STRICT for edge in edges)
    if program.partition and by_event and key != program.partition:
        return "contiguity and windows of events go by the partition, and the steps share a variable besides"
    leading = any(edge.passed for edge in plan.edges if edge.begins)
    if program.window.sliding and (leading or plan.trails):
        return "a negation at the edge of the sequence looks at each match's own window"
    return None


def _why_not_measured(plan: Plan, groups: Iterable[int], measured: Iterable[Measured]) -> str | None:
    if not frozenset(groups) <= frozenset(key_of(plan)):
        return "GROUP BY names a variable that is not a key of all steps"
    for each in measured:
        binding = [position for n, position in enumerate(plan.positions) if each.variable in position.scope]
        if each.inner is not None and not all(position.repetitions for position in binding):
            return "an aggregate over iterations is asked of a variable that a step outside of repetitions binds"
        if each.inner is not None and _bound_twice(plan, each.variable):
            return "an aggregate over iterations is asked of a variable that two steps of one iteration bind"
    return None


def _bound_twice(plan: Plan, variable: int) -> bool:
    """True if several steps of one iteration can bind a variable, which has one value there."""
    symbols = {number for number, symbol in enumerate(plan.program.symbols) if variable in symbol.scope}
    loops = (node for node in walk(plan.program.expression) if isinstance(node, nodes.Repetition))
    return any(_steps_beside(loop.inner, symbols) > 1 for loop in loops)


def _steps_beside(node: Expression, symbols: AbstractSet[int]) -> int:
    """The steps of these symbols in one match of a node, at most; those in repetitions inside of it do not count."""
    match node:
        case nodes.Step(symbol):
            return int(symbol in symbols)
        case nodes.Negation() | nodes.Repetition():
            return 0
        case nodes.Choice(branches):
            return max(_steps_beside(branch, symbols) for branch in branches)
    return sum(_steps_beside(child, symbols) for child in children(node))
