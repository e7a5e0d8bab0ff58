"""Limits of operators, steps and absences, as edges and positions of an automaton see them (specification 3.2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from automata.plan.automaton import START, Automaton, Edge, Passed
from automata.values import NONE


def every_limit(automaton: Automaton) -> tuple[int, ...]:
    """Each limit of an operator, a step or an absence."""
    steps = [clock.limit for clock in automaton.clocks if clock.limit != NONE]
    operators = [edge.limit for edge in automaton.edges if edge.limit is not None]
    return (*steps, *operators, *(part.limit for part in automaton.negations if part.limit is not None))


def timed(automaton: Automaton, position: int) -> tuple[tuple[int, int], ...]:
    """(clock, limit) of the limited steps around a position."""
    clocks = enumerate(automaton.clocks)
    return tuple((n, clock.limit) for n, clock in clocks if clock.limit != NONE and position in clock.positions)


def deadlines(automaton: Automaton, edge: Edge) -> tuple[int, ...]:
    """The clocks that must not have run out as a run takes an edge."""
    before_all = [n for n, c in enumerate(automaton.clocks) if c.limit == NONE and edge.source in c.positions]
    around = [clock for clock, _ in timed(automaton, edge.target) if clock not in edge.starts]
    return (*around, *before_all)


def lapses(automaton: Automaton, onward: Sequence[int]) -> bool:
    """True if each of the edges with these numbers has a limit, and there is one."""
    edges = [automaton.edges[number] for number in onward]
    return bool(edges) and all(edge.limit is not None or deadlines(automaton, edge) for edge in edges)


def patience(automaton: Automaton) -> tuple[int | None, ...]:
    """See `Plan.patience`."""
    return tuple(_longest(automaton, accept.passed) for accept in automaton.accepts)


def looks_back(automaton: Automaton) -> int | None:
    """See `Plan.looks_back`."""
    return _longest(automaton, [each for edge in automaton.edges if edge.source == START for each in edge.passed])


def _longest(automaton: Automaton, passed: Iterable[Passed]) -> int | None:
    """The greatest limit of these negations, 0 of none; None if one has no limit."""
    limits = [automaton.negations[each.negation].limit for each in passed]
    bounded = [limit for limit in limits if limit is not None]
    return max(bounded, default=0) if len(bounded) == len(limits) else None
