"""Semi-join pushdown: the values that an event must have to extend any of the runs (G Section 7.2.1).

Where every run that waits for a step has bound a variable, and every solution of the step binds it too, a solution with
another value extends nothing, and need not be looked for. The values are those of the runs that are alive and, since
runs grow within a slice, those that steps before this one bind in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from automata.plan.plan import Plan, PlannedEdge
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class SemiJoinTarget:
    """A symbol that no run begins with.

    variable    bound in every run that waits for the symbol, and by every solution of it
    feeders     the other symbols whose solutions may be the first to bind the variable in such a run
    """

    symbol: int
    variable: int
    feeders: frozenset[int]


@dataclass(frozen=True, slots=True)
class SemiJoinFilter:
    """Solutions of a symbol that bring neither one of the values nor one that a feeder has brought in the slice
    can be left out of it.

    values      sorted, without UNBOUND
    """

    target: SemiJoinTarget
    values: Ids


def semi_join_targets(plan: Plan) -> tuple[SemiJoinTarget, ...]:
    """The symbols whose solutions can be restricted, but for those in negations: they are kept for later matches.

    None with PARTITION BY, where an event that extends nothing still counts in its substream (specification 3.4.2), and
    none with ALL( ), whose members grow apart. Contiguity and count windows look at all events whatever they bind.
    """
    if plan.program.partition or plan.unordered:
        return ()
    keys = {symbol: _key(plan, symbol) for symbol in sorted(plan.used - plan.negated)}
    return tuple(
        SemiJoinTarget(symbol, min(key), _feeders(plan, symbol, min(key))) for symbol, key in keys.items() if key
    )


def _edges_to(plan: Plan, symbol: int) -> list[PlannedEdge]:
    return [edge for edge in plan.edges if symbol in plan.positions[edge.target].symbols]


def _key(plan: Plan, symbol: int) -> frozenset[int]:
    """The variables that every edge to the symbol has in its key and every solution of it binds."""
    return plan.program.symbols[symbol].certain.intersection(*(edge.key for edge in _edges_to(plan, symbol)))


def _feeders(plan: Plan, symbol: int, variable: int) -> frozenset[int]:
    """Symbols taken before this one that may be the first to bind the variable."""
    earlier = frozenset(other for position in _before(plan, symbol) for other in plan.positions[position].symbols)
    binding = (other for other in earlier - {symbol} if variable in plan.program.symbols[other].scope)
    return frozenset(
        other
        for other in binding
        if any(variable not in plan.positions[e.source].certain.difference(e.forgets) for e in _edges_to(plan, other))
    )


def _before(plan: Plan, symbol: int) -> set[int]:
    """The positions that a run may have been at before, or at the same time as, it takes the symbol."""
    reached = {number for number, position in enumerate(plan.positions) if symbol in position.symbols}
    front = set(reached)
    while front:
        front = {edge.source for edge in plan.edges if edge.target in front} - reached
        reached |= front
    return reached
