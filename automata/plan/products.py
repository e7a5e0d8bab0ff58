"""Positions whose runs are products: any run before them goes on with any later event that has its key.

A run there is told by its last event and the runs before it, so that only the events are kept, and the runs are put
together for the events that end them (the shared representation of partial matches of COGRA and of CEA's tECS).
"""

from __future__ import annotations

from automata.plan.automaton import START
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan, PlannedEdge
from automata.plan.pruning import is_gapless, pruning_of


def product_positions(plan: Plan) -> tuple[int, ...]:
    """The positions whose runs need not be kept, ascending.

    There a run ends nothing and meets no condition, every edge to the position and from it is `:` without a limit, and
    leads on, and every solution of its step binds the keys of the edges from it. None where it matters which runs there
    are: under selectors that leave runs out, in ALL( ), in possessive repetition, and where each partition counts the
    events of its window.
    """
    program = plan.program
    chosen = pruning_of(plan) is not None or is_gapless(plan)
    counted = program.window.in_events and bool(program.partition)
    if chosen or counted or plan.unordered or plan.possessive or plan.limits or plan.given or plan.whole_slots:
        return ()
    return tuple(number for number in range(len(plan.positions)) if number != START and _is_product(plan, number))


def all_products(plan: Plan) -> bool:
    """True if every run is a product until its last event: the keys relate its steps, and nothing else does.

    Conditions of whole matches and negations do, though they are looked at when a match is complete.
    """
    if plan.negations or plan.program.conditions:
        return False
    products = set(product_positions(plan))
    others = set(range(len(plan.positions))) - products - {START}
    return any(_before(plan, number) - {START, number} for number in products) and all(
        plan.positions[number].accepts and not plan.positions[number].onward for number in others
    )


def _is_product(plan: Plan, number: int) -> bool:
    here = plan.positions[number]
    into = [edge for edge in plan.edges if edge.target == number]
    onward = [plan.edges[edge] for edge in here.onward]
    if here.accepts or here.completes or here.arriving or here.opens or len(here.symbols) != 1 or not onward:
        return False
    certain = plan.program.symbols[here.symbols[0]].certain
    return (
        all(_is_free(edge) for edge in into if edge.source != START)
        and all(_is_free(edge) and certain.issuperset(edge.key) for edge in onward)
        and not any(plan.positions[edge.target].arriving for edge in onward)
    )


def _is_free(edge: PlannedEdge) -> bool:
    """True if any later event may take it, and the edge does not lead back to a step before."""
    return edge.operator is Contiguity.ANY and not edge.closes and not edge.limited and edge.source <= edge.target


def _before(plan: Plan, position: int) -> set[int]:
    return {edge.source for edge in plan.edges if edge.target == position}
