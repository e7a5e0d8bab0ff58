"""Possessive repetitions in an automaton (specification 3.2.9)."""

from __future__ import annotations

from automata.plan.automaton import Accept, Automaton
from automata.values import NONE


def possessive(automaton: Automaton) -> tuple[int, ...]:
    """The possessive repetitions of which there may be more iterations than there must be."""
    return tuple(number for number, loop in enumerate(automaton.repetitions) if loop.possessive)


def completes(automaton: Automaton, position: int) -> tuple[int, ...]:
    """Those of which an iteration may end at a position."""
    loops = automaton.repetitions
    return tuple(r for r in possessive(automaton) if any(end.position == position for end in loops[r].ends))


def ends(automaton: Automaton, accept: Accept) -> bool:
    """True if a match, or a member of an ALL, that ends there leaves a possessive repetition last."""
    which = automaton.positions[accept.position].any_order
    members = automaton.unordered[which].members if which != NONE else ()
    inner = any(ends(automaton, last) for member in members for last in member.accepts)
    return inner or not set(possessive(automaton)).isdisjoint(accept.leaves)
