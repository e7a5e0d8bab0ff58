"""The non-deterministic CEA of a pattern; its states are *configurations*: the step that a run waits for, and counts.

They follow from the position automaton (`automata.plan.automaton`): a run at a position is in one configuration for
each edge that it may still take. Marking takes the step and leaves the configuration; not marking keeps it, where its
contiguity allows that. Configurations are numbered when they are first reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from automata.plan.automaton import START
from automata.plan.counted import crossed, left
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan

FINAL = 0
"""The configuration of a run that has just taken the last step of a match; no event keeps it."""

States = frozenset[int]
"""Numbers of configurations."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits for the step of an edge.

    counts      iterations so far of each repetition, capped where more make no difference
    stopped_by  bits of the symbols whose events end it; None: every event does
    """

    edge: int
    counts: tuple[int, ...]
    symbol: int
    stopped_by: int | None


class Configurations:
    """The states and transitions of one automaton; no negation, no `ALL( )`, one symbol a step."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._waiting: list[Waiting | None] = [None]
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._successors: dict[int, States] = {}
        self.start = self._arrived(START, (0,) * len(plan.repetitions))

    def take(self, states: Iterable[int], symbol: int) -> States:
        """The states that marking an event as `symbol` leads to."""
        reached: set[int] = set()
        for state in states:
            waiting = self._waiting[state]
            if waiting is not None and waiting.symbol == symbol:
                reached |= self._successor(state, waiting)
        return frozenset(reached)

    def keep(self, states: Iterable[int], bits: int) -> States:
        """The states that survive an event with these symbols when it is not marked."""
        waiting = ((state, self._waiting[state]) for state in states)
        return frozenset(s for s, w in waiting if w and w.stopped_by is not None and not w.stopped_by & bits)

    def path(self, word: Sequence[int]) -> list[int]:
        """The edges of some match that takes these symbols, whatever the events in between."""
        layers: list[dict[int, int]] = [dict.fromkeys(self.start, FINAL)]
        for symbol in word:
            reached: dict[int, int] = {}
            for state in sorted(layers[-1]):
                for successor in self.take([state], symbol):
                    reached.setdefault(successor, state)
            layers.append(reached)
        edges, state = [], FINAL
        for layer in reversed(layers[1:]):
            state = layer[state]
            waiting = self._waiting[state]
            assert waiting is not None
            edges.append(waiting.edge)
        return edges[::-1]

    def _successor(self, state: int, waiting: Waiting) -> States:
        if state not in self._successors:
            counts = crossed(self._plan, waiting.counts, self._plan.edges[waiting.edge])
            assert counts is not None, waiting
            self._successors[state] = self._arrived(self._plan.edges[waiting.edge].target, counts)
        return self._successors[state]

    def _arrived(self, position: int, counts: tuple[int, ...]) -> States:
        """The configurations of a run at a position."""
        here, edges = self._plan.positions[position], self._plan.edges
        reached = {
            self._number(edge, counts) for edge in here.outgoing if crossed(self._plan, counts, edges[edge]) is not None
        }
        if any(left(self._plan, counts, self._plan.accepts[accept].leaves) is not None for accept in here.accepts):
            reached.add(FINAL)
        return frozenset(reached)

    def _number(self, number: int, counts: tuple[int, ...]) -> int:
        key = (number, counts)
        if key not in self._numbers:
            self._numbers[key] = len(self._waiting)
            edge = self._plan.edges[number]
            symbol = self._symbol(number)
            rivals = 1 << symbol
            for rival in edge.rivals:
                rivals |= 1 << self._symbol(rival)
            free = edge.operator is Contiguity.ANY or edge.begins
            blocked = rivals if edge.operator is Contiguity.NEXT else None
            self._waiting.append(Waiting(number, counts, symbol, 0 if free else blocked))
        return self._numbers[key]

    def _symbol(self, edge: int) -> int:
        (symbol,) = self._plan.positions[self._plan.edges[edge].target].symbols
        return symbol
