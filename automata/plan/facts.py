"""What can be said of an automaton before any event: which variables are bound where, and which
conditions may still be waiting at which position (specification 3.1, "a condition waits").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from automata.plan.automaton import KNOWN_MAX, START, Automaton, Crossing, Edge
from automata.plan.program import FoldValue, IterationValue, Program


@dataclass(frozen=True, slots=True)
class Check:
    """A condition to look at when a position is taken.

    condition   its number
    home        the position whose step the condition belongs to
    waiting     variables that, while unbound, can still be bound after the position just taken
    waits       the same for every position
    lossy       an iteration may leave unbound what an earlier one bound and the condition depends on
    at_home     the position just taken is `home`, and the instance the one that begins there
    marker      which marker column tells whether `home` was taken; -1: none is needed
    iterated    `home` lies in a repetition that may have moved on: each instance is looked up in its own iteration
    spent       (variable that is waited for, repetition) pairs: only a further iteration of it, of which there are so
                many at most, can still bind the variable
    """

    condition: int
    home: int
    waiting: frozenset[int]
    waits: tuple[frozenset[int], ...]
    lossy: bool
    at_home: bool
    marker: int
    iterated: bool
    spent: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Facts about one program and its automaton.

    scope       position → variables its step may bind
    certain     position → variables bound in every run that is there
    possible    position → variables bound in some run that is there, by a step
    locals      repetition → variables that its iterations may bind afresh
    entered     repetition → variables bound in every run that enters it: every iteration keeps their values
    checks      position → conditions to look at on arrival
    final       position → conditions still to be decided when a match ends there
    markers     (condition, home) pairs with a marker column
    tracked     variable → the repetitions whose iterations PREV, FIRST, LAST and aggregates range over
    """

    scope: tuple[frozenset[int], ...]
    certain: tuple[frozenset[int], ...]
    possible: tuple[frozenset[int], ...]
    locals: tuple[frozenset[int], ...]
    entered: tuple[frozenset[int], ...]
    checks: tuple[tuple[Check, ...], ...]
    final: tuple[tuple[Check, ...], ...]
    markers: tuple[tuple[int, int], ...]
    tracked: Mapping[int, frozenset[int]]


@lru_cache(maxsize=KNOWN_MAX)
def analyse(program: Program, automaton: Automaton, given: frozenset[int] = frozenset()) -> Analysis:
    """All facts; `given` are variables that the run at START has already bound."""
    scope = tuple(
        frozenset().union(*(program.symbols[symbol].scope for symbol in position.symbols))
        for position in automaton.positions
    )
    fixed = frozenset(program.partition) | given
    local = tuple(
        frozenset().union(*(scope[position] for position in repetition.positions)) - fixed
        for repetition in automaton.repetitions
    )
    certain, before, entered = _certain(program, automaton, local, given)
    lost = tuple(local[r] - _always_bound(automaton, certain, r) for r in range(len(automaton.repetitions)))
    waits = _Waits(program, automaton, scope, lost)
    return Analysis(
        scope,
        certain,
        waits.possible(),
        local,
        entered,
        waits.checks(),
        waits.final(),
        waits.markers,
        _tracked(program, automaton, scope, before),
    )


def watched_variables(program: Program, condition: int) -> frozenset[int]:
    """The variables whose rebinding by a later iteration makes the condition be looked at again (specification 3.1)."""
    spec = program.conditions[condition]
    iterated = {r.variable for r in spec.references if isinstance(r, IterationValue | FoldValue)}
    return (spec.variables() - program.symbols[spec.symbol].scope) | iterated


def after_actions(
    variables: frozenset[int], edge: Edge, entry: list[frozenset[int]], local: tuple[frozenset[int], ...]
) -> frozenset[int]:
    """The variables still bound once an edge has reset what its loops bind afresh."""
    for action in edge.actions:
        if action.crossing is Crossing.LOOP:
            variables -= local[action.repetition] - entry[action.repetition]
    return variables


def _certain(
    program: Program, automaton: Automaton, local: tuple[frozenset[int], ...], given: frozenset[int]
) -> tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...], tuple[frozenset[int], ...]]:
    """What is bound in every run that has taken each position, that is about to, and that enters each repetition."""
    everything = frozenset(range(program.variables))
    certain = [everything] * len(automaton.positions)
    before = [everything] * len(automaton.positions)
    certain[START] = given
    entry = [everything] * len(automaton.repetitions)
    arrivals = _arrivals(automaton)
    changed = True
    while changed:
        changed = False
        for edge, targets in arrivals:
            bound = certain[edge.source]
            for repetition, begun in edge.entries():
                entry[repetition] &= bound if begun is None else entry[begun]
            bound = after_actions(bound, edge, entry, local)
            for target in targets:
                own = frozenset().union(*(program.symbols[s].certain for s in automaton.positions[target].symbols))
                partition = frozenset(program.partition) if automaton.positions[target].symbols else frozenset()
                reached = bound | own | partition
                changed |= not certain[target] <= reached or not before[target] <= bound
                certain[target] &= reached
                before[target] &= bound
    return tuple(certain), tuple(before), tuple(entry)


def _always_bound(automaton: Automaton, certain: tuple[frozenset[int], ...], repetition: int) -> frozenset[int]:
    """What every iteration has bound at its end."""
    ways = [(edge.source, edge.actions) for edge in automaton.edges]
    ways += [(accept.position, accept.actions) for accept in automaton.accepts]
    ways += [(a.position, a.actions) for u in automaton.unordered for member in u.members for a in member.accepts]
    ends = {position for position, actions in ways for action in actions if action.repetition == repetition}
    inside = ends & automaton.repetitions[repetition].positions
    return frozenset.intersection(*(certain[position] for position in inside))


def _arrivals(automaton: Automaton) -> list[tuple[Edge, tuple[int, ...]]]:
    """Every edge with the positions it leads to: that of an ALL, and the starts of its members, together."""
    result = []
    for edge in automaton.edges:
        number = automaton.positions[edge.target].any_order
        starts = tuple(member.start for member in automaton.unordered[number].members) if number >= 0 else ()
        result.append((edge, (edge.target, *starts)))
    return result


def _tracked(
    program: Program, automaton: Automaton, scope: tuple[frozenset[int], ...], before: tuple[frozenset[int], ...]
) -> dict[int, frozenset[int]]:
    """The innermost repetitions around the steps that first bind each variable that is iterated over."""
    read = [reference for condition in program.conditions for reference in condition.references]
    wanted = {r.variable for r in (*read, *program.outputs) if isinstance(r, IterationValue | FoldValue)}
    tracked = {}
    for variable in wanted:
        inside = [
            number
            for number, position in enumerate(automaton.positions)
            if variable in scope[number] and position.repetitions
        ]
        first = [number for number in inside if variable not in before[number]]
        tracked[variable] = frozenset(automaton.positions[number].repetitions[-1] for number in first or inside)
    return tracked


class _Waits:
    """Which conditions can be waiting where."""

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        scope: tuple[frozenset[int], ...],
        lost: tuple[frozenset[int], ...],
    ) -> None:
        self.program = program
        self.lost = lost
        self.automaton = automaton
        self.scope = scope
        self.homes = [
            (condition, home)
            for condition, spec in enumerate(program.conditions)
            for home, position in enumerate(automaton.positions)
            if spec.symbol in position.symbols
        ]
        self.arcs = _arcs(automaton)
        self.markers = tuple(pair for pair in self.homes if self._may_wait(*pair))

    def checks(self) -> tuple[tuple[Check, ...], ...]:
        """See `Analysis`."""
        return tuple(
            tuple(check for pair in self.homes for check in self._at(*pair, position))
            for position in range(len(self.automaton.positions))
        )

    def final(self) -> tuple[tuple[Check, ...], ...]:
        """See `Analysis`."""
        return tuple(
            tuple(self._check(*pair, position) for pair in self.markers if self._waiting(*pair, position))
            for position in range(len(self.automaton.positions))
        )

    def possible(self) -> tuple[frozenset[int], ...]:
        """See `Analysis`."""
        possible = list(self.scope)
        for source in range(len(self.scope)):
            for position in self._following(source, source, loops=True):
                possible[position] |= self.scope[source]
        return tuple(possible)

    def _may_wait(self, condition: int, home: int) -> bool:
        return bool(self._waiting(condition, home, home)) or self._rebound_later(condition, home)

    def _rebound_later(self, condition: int, home: int) -> bool:
        wanted = self.program.conditions[condition].variables() - self._own(condition)
        return any(self.scope[position] & wanted for position in self._following(home, home))

    def _own(self, condition: int) -> frozenset[int]:
        return self.program.symbols[self.program.conditions[condition].symbol].scope

    def _at(self, condition: int, home: int, position: int) -> list[Check]:
        if position == home:
            return [self._check(condition, home, position, at_home=True)]
        if (condition, home) not in self.markers or position not in self._following(home, home, loops=True):
            return []
        wanted = self.program.conditions[condition].variables() - self._own(condition)
        sources = [edge.source for edge in self.automaton.edges if edge.target == position]
        now = self._waiting(condition, home, position)
        settles = any(self._waiting(condition, home, source) - now for source in sources)
        unordered = self.automaton.positions[position].any_order >= 0
        check = self._check(condition, home, position)
        return [check] if settles or unordered or check.spent or self.scope[position] & wanted else []

    def _check(self, condition: int, home: int, position: int, at_home: bool = False) -> Check:
        pair = (condition, home)
        return Check(
            condition,
            home,
            self._waiting(condition, home, position),
            tuple(self._waiting(condition, home, other) for other in range(len(self.automaton.positions))),
            not at_home and self._lossy(condition, home),
            at_home,
            self.markers.index(pair) if pair in self.markers else -1,
            bool(self.automaton.positions[home].repetitions) and not at_home,
            tuple(self._spent(condition, home, position)),
        )

    def _spent(self, condition: int, home: int, position: int) -> Iterator[tuple[int, int]]:
        for variable in sorted(self._waiting(condition, home, position)):
            for repetition in self.automaton.positions[position].repetitions:
                if self.automaton.repetitions[repetition].at_most is not None:
                    others = self._following(position, home, never=frozenset({repetition}))
                    if not any(variable in self.scope[other] for other in others):
                        yield variable, repetition

    def _lossy(self, condition: int, home: int) -> bool:
        around = self.automaton.positions[home].repetitions
        watched = watched_variables(self.program, condition)
        return any(watched & lost for repetition, lost in enumerate(self.lost) if repetition not in around)

    def _waiting(self, condition: int, home: int, position: int) -> frozenset[int]:
        wanted = self.program.conditions[condition].variables() - self._own(condition)
        if not wanted:
            return frozenset()
        return wanted & frozenset().union(*(self.scope[p] for p in self._following(position, home)))

    def _following(
        self, position: int, home: int, loops: bool = False, never: frozenset[int] = frozenset()
    ) -> frozenset[int]:
        """Positions that can still be taken after `position`, in the iterations that `home` stands in.

        never       repetitions that begin no further iteration
        """
        around = never if loops else never.union(self.automaton.positions[home].repetitions)
        seen: set[int] = set()
        front = [position]
        while front:
            source = front.pop()
            for target, looped in self.arcs[source]:
                if target not in seen and not looped & around:
                    seen.add(target)
                    front.append(target)
        return frozenset(seen)


def _arcs(automaton: Automaton) -> list[list[tuple[int, frozenset[int]]]]:
    """position → (position that may be taken after it, repetitions that begin a new iteration on the way)."""
    arcs: list[list[tuple[int, frozenset[int]]]] = [[] for _ in automaton.positions]
    for edge, targets in _arrivals(automaton):
        looped = frozenset(action.repetition for action in edge.actions if action.crossing is Crossing.LOOP)
        joined = automaton.positions[edge.target].any_order >= 0
        arcs[edge.source] += [(target, looped) for target in (targets[1:] if joined else targets)]
    for unordered in automaton.unordered:
        for member in unordered.members:
            others = [other.start for other in unordered.members if other is not member]
            for position in member.positions:
                arcs[position] += [(start, frozenset()) for start in others]
                arcs[position].append((unordered.position, frozenset()))
    return arcs
