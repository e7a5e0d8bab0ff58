"""Which values an event must bring to go on with any run there is (G Section 7.2.1).

Where every run that waits for a step has bound a variable, and every solution of the step binds it too, a
solution with another value extends nothing, and need not be looked for. The values are those of the runs
that are alive and, since runs grow within a slice, those that steps before this one bring in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from automata.plan.automaton import Automaton, Crossing, Edge
from automata.plan.facts import Analysis
from automata.plan.program import Program
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


def semi_join_targets(
    program: Program, automaton: Automaton, analysis: Analysis, negated: frozenset[int]
) -> tuple[SemiJoinTarget, ...]:
    """The symbols of a program that can be restricted.

    negated     symbols that stand in negations: their solutions are kept for later matches

    None with PARTITION BY, where an event that extends nothing still counts in its substream (specification 3.4), and
    none with ALL( ), whose members grow apart. Contiguity and count windows look at all events whatever they bring.
    """
    if program.partition or automaton.unordered:
        return ()
    bound = _bound(automaton, analysis)
    found = []
    for symbol in range(len(program.symbols)):
        edges = _edges_to(automaton, symbol)
        shared = program.symbols[symbol].certain.intersection(*(bound[number] for number in edges))
        if edges and shared and symbol not in negated:
            variable = min(shared)
            found.append(SemiJoinTarget(symbol, variable, _feeders(program, automaton, bound, symbol, variable)))
    return tuple(found)


def _edges_to(automaton: Automaton, symbol: int) -> list[int]:
    return [n for n, edge in enumerate(automaton.edges) if symbol in automaton.positions[edge.target].symbols]


def _bound(automaton: Automaton, analysis: Analysis) -> list[frozenset[int]]:
    """For each edge, what every run that takes it has bound; a new iteration keeps what was bound before the first."""
    entry: dict[int, frozenset[int]] = {}
    for edge in automaton.edges:
        before = analysis.certain[edge.source].difference(*_rebound(edge, analysis))
        for action in edge.actions:
            if action.crossing is Crossing.ENTER:
                entry[action.repetition] = entry.get(action.repetition, before) & before
    return [
        analysis.certain[edge.source].difference(
            *(analysis.locals[r] - entry.get(r, frozenset()) for r in _repeated(edge))
        )
        for edge in automaton.edges
    ]


def _rebound(edge: Edge, analysis: Analysis) -> list[frozenset[int]]:
    return [analysis.locals[repetition] for repetition in _repeated(edge)]


def _repeated(edge: Edge) -> list[int]:
    return [action.repetition for action in edge.actions if action.crossing is Crossing.LOOP]


def _feeders(
    program: Program, automaton: Automaton, bound: list[frozenset[int]], symbol: int, variable: int
) -> frozenset[int]:
    """Symbols taken before this one that may be the first to bind the variable."""
    symbols = frozenset(s for position in _before(automaton, symbol) for s in automaton.positions[position].symbols)
    binding = (s for s in symbols if variable in program.symbols[s].scope and s != symbol)
    return frozenset(s for s in binding if any(variable not in bound[number] for number in _edges_to(automaton, s)))


def _before(automaton: Automaton, symbol: int) -> set[int]:
    """The positions that a run may have been at before, or at the same time as, it takes the symbol."""
    reached = {number for number, position in enumerate(automaton.positions) if symbol in position.symbols}
    front = set(reached)
    while front:
        front = {edge.source for edge in automaton.edges if edge.target in front} - reached
        reached |= front
    return reached
