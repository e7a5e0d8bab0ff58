"""The non-deterministic CEA of a pattern: which step a run waits for, and how often it has iterated.

Its states, the *configurations*, are read off the position automaton (`automata.plan.automaton`): a run at a position
is in one configuration for each edge that it may still take. A configuration is left by taking its step
(marking), or kept while other events pass, as its contiguity allows (not marking). They are numbered as they are met.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from automata.plan.automaton import START, Action, Automaton, Crossing
from automata.plan.expression import Contiguity

FINAL = 0
"""The configuration of a run that has just taken the last step of a match; no event keeps it."""

States = frozenset[int]
"""Numbers of configurations."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits for an edge's step.

    counts      iterations so far of each repetition, no higher than it matters
    stopped_by  bits of the symbols whose events it does not survive; None: it survives none
    """

    edge: int
    counts: tuple[int, ...]
    symbol: int
    stopped_by: int | None


class Configurations:
    """The states and transitions of one automaton; no negation, no `ALL( )`, one symbol a step."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._waiting: list[Waiting | None] = [None]
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._successors: dict[int, States] = {}
        self.start = self._arrived(START, (0,) * len(automaton.repetitions))

    def take(self, states: Iterable[int], symbol: int) -> States:
        """Where marking an event as `symbol` leads."""
        reached: set[int] = set()
        for state in states:
            waiting = self._waiting[state]
            if waiting is not None and waiting.symbol == symbol:
                reached |= self._successor(state, waiting)
        return frozenset(reached)

    def keep(self, states: Iterable[int], bits: int) -> States:
        """Which of the states an event with these symbols leaves as they are when it is not marked."""
        return frozenset(state for state in states if self._survives(self._waiting[state], bits))

    def path(self, word: Sequence[int]) -> list[int]:
        """The edges by which some match takes these symbols, whatever the events in between."""
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

    def _survives(self, waiting: Waiting | None, bits: int) -> bool:
        return waiting is not None and waiting.stopped_by is not None and not waiting.stopped_by & bits

    def _successor(self, state: int, waiting: Waiting) -> States:
        if state not in self._successors:
            edge = self._automaton.edges[waiting.edge]
            counts = self._crossed(waiting.counts, edge.actions)
            assert counts is not None, waiting
            self._successors[state] = self._arrived(edge.target, counts)
        return self._successors[state]

    def _arrived(self, position: int, counts: tuple[int, ...]) -> States:
        """The configurations of a run at a position."""
        reached = {
            self._number(edge, counts) for edge in self._automaton.outgoing[position] if self._able(edge, counts)
        }
        accepts = [accept for accept in self._automaton.accepts if accept.position == position]
        if any(self._crossed(counts, accept.actions) is not None for accept in accepts):
            reached.add(FINAL)
        return frozenset(reached)

    def _able(self, edge: int, counts: tuple[int, ...]) -> bool:
        return self._crossed(counts, self._automaton.edges[edge].actions) is not None

    def _crossed(self, counts: tuple[int, ...], actions: tuple[Action, ...]) -> tuple[int, ...] | None:
        """The counts after an edge's actions; None if they forbid it."""
        after = list(counts)
        for action in actions:
            repetition = self._automaton.repetitions[action.repetition]
            count = after[action.repetition]
            match action.crossing:
                case Crossing.ENTER:
                    after[action.repetition] = 1
                case Crossing.LEAVE:
                    if count < repetition.at_least:
                        return None
                    after[action.repetition] = 0
                case Crossing.LOOP:
                    if count == repetition.at_most:
                        return None
                    enough = repetition.at_least if repetition.at_most is None else repetition.at_most
                    after[action.repetition] = min(count + 1, enough)
        return tuple(after)

    def _number(self, number: int, counts: tuple[int, ...]) -> int:
        key = (number, counts)
        if key not in self._numbers:
            self._numbers[key] = len(self._waiting)
            edge = self._automaton.edges[number]
            symbol = self._symbol(number)
            rivals = 1 << symbol
            for rival in edge.rivals:
                rivals |= 1 << self._symbol(rival)
            free = edge.operator is Contiguity.ANY or edge.source == START
            blocked = rivals if edge.operator is Contiguity.NEXT else None
            self._waiting.append(Waiting(number, counts, symbol, 0 if free else blocked))
        return self._numbers[key]

    def _symbol(self, edge: int) -> int:
        (symbol,) = self._automaton.positions[self._automaton.edges[edge].target].symbols
        return symbol
