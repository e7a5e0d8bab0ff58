"""The conditions evaluated at each position, and the variables they may wait for (specification 3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from automata.plan.automaton import START, Automaton
from automata.plan.program import MATCH, FoldValue, IterationValue, Program, Reference
from automata.plan.variables import BoundVariables, Variables
from automata.values import NONE

_NOTHING: Variables = frozenset()


@dataclass(frozen=True, slots=True)
class EvaluationPoint:
    """One condition at one position: it is evaluated there once it waits for nothing.

    condition   its number
    owner       the position whose step the condition belongs to; START for a condition of the match
    at_owner    the position just taken is the owner, and the condition the one of this very iteration
    waiting     variables that, while unbound, can still be bound after the position just taken
    waits       the same for every position
    lossy       an iteration may leave unbound what an earlier one bound and the condition, decided then, depends on
    marker      which marker column tells whether the owner was taken; NONE: none is needed
    iterated    the owner lies in a repetition that may have moved on: each instance is looked up in its own iteration
    spent       (variable that is waited for, repetition) pairs: only a further iteration of it, of which there are so
                many at most, can still bind the variable
    """

    condition: int
    owner: int
    at_owner: bool
    waiting: Variables
    waits: tuple[Variables, ...]
    lossy: bool
    marker: int
    iterated: bool
    spent: tuple[tuple[int, int], ...]


def watched_variables(program: Program, condition: int) -> Variables:
    """The variables whose rebinding by a later iteration makes the condition be evaluated again (specification 3.1)."""
    iterated = {
        r.variable for r in program.conditions[condition].references if isinstance(r, IterationValue | FoldValue)
    }
    return _others(program, condition) | iterated


def foreign_variables(program: Program, condition: int) -> Variables:
    """The variables that a condition may wait for: neither its own step binds them, nor a partition by USING."""
    return _others(program, condition).difference(own for _, own in program.given)


def _others(program: Program, condition: int) -> Variables:
    """The variables of a condition that its own step does not bind: all of a condition of the match.

    A variable of a partition by USING is that of the steps with its name.
    """
    spec, names = program.conditions[condition], dict(program.given)
    own = program.symbols[spec.symbol].scope if spec.symbol >= 0 else _NOTHING
    return frozenset(names.get(variable, variable) for variable in spec.variables()) - own - {NONE}


class Waiting:
    """The evaluation points of one program.

    markers     (condition, owner) pairs with a marker column
    arriving    position → those of runs that come to it
    final       position → those of runs that end a match there
    """

    def __init__(self, program: Program, automaton: Automaton, variables: BoundVariables, walked: Variables) -> None:
        self._program = program
        self._automaton = automaton
        self._scope = variables.scope
        unsure = [(scope - certain) & walked for scope, certain in zip(variables.scope, variables.certain, strict=True)]
        self._lost = [
            (variables.local[number] - _always_bound(automaton, variables, number)).union(
                *(unsure[position] for position in repetition.positions)
            )
            for number, repetition in enumerate(automaton.repetitions)
        ]
        conditions = range(len(program.conditions))
        self._watched = [watched_variables(program, condition) for condition in conditions]
        self._foreign = [foreign_variables(program, condition) for condition in conditions]
        self._losing = [
            frozenset(repetition for repetition, lost in enumerate(self._lost) if watched & lost)
            for watched in self._watched
        ]
        self._arcs = _arcs(automaton)
        self._reached: dict[tuple[int, frozenset[int]], tuple[frozenset[int], Variables]] = {}
        positions = range(len(automaton.positions))
        self._sources: list[list[int]] = [[] for _ in positions]
        for edge in automaton.edges:
            self._sources[edge.target].append(edge.source)
        owned = [
            (condition, owner)
            for condition, spec in enumerate(program.conditions)
            for owner in positions
            if spec.symbol in automaton.positions[owner].symbols or (spec.symbol == MATCH and owner == START)
        ]
        self._waits = {pair: tuple(self._waiting(*pair, position) for position in positions) for pair in owned}
        open_ = [pair for pair in owned if self._waits[pair][pair[1]] or self._is_rebound(*pair)]
        self._open = {*open_, *(pair for pair in owned if pair[1] == START)}
        self.markers = tuple(pair for pair in open_ if pair[1] != START)
        self._marker = {pair: marker for marker, pair in enumerate(self.markers)}
        self.arriving = [tuple(point for pair in owned for point in self._at(*pair, p)) for p in positions]
        self.final = [tuple(self._point(*pair, p) for pair in owned if self._is_final(pair, p)) for p in positions]

    def _at(self, condition: int, owner: int, position: int) -> Iterator[EvaluationPoint]:
        pair, point = (condition, owner), self._point(condition, owner, position, at_owner=position == owner)
        if position == owner:
            yield point
        elif self._program.conditions[condition].at_end:
            return
        elif pair in self._open and position in self._following(owner, owner, loops=True):
            sources = self._sources[position]
            first = owner == START and START in sources
            decides = first or any(self._waits[pair][source] - point.waiting for source in sources)
            joins = self._joins(position) and any(self._waits[pair])
            if decides or joins or point.spent or self._scope[position] & self._watched[condition]:
                yield point

    def _is_rebound(self, condition: int, owner: int) -> bool:
        """True if a later repeated step may bind a variable of a condition, so that it is evaluated again."""
        watched, around = self._watched[condition], self._automaton.positions[owner].repetitions
        return any(
            watched & self._scope[position] and not set(self._automaton.positions[position].repetitions) <= {*around}
            for position in self._following(owner, owner)
        )

    def _is_final(self, pair: tuple[int, int], position: int) -> bool:
        at_end = self._program.conditions[pair[0]].at_end
        return at_end or (pair in self._open and bool(self._waits[pair][position]))

    def _point(self, condition: int, owner: int, position: int, at_owner: bool = False) -> EvaluationPoint:
        pair, around = (condition, owner), self._automaton.positions[owner].repetitions
        lossy = not self._losing[condition].issubset(around)
        lossy |= self._joins(position) and not all(isinstance(r, int) for r in self._references(condition))
        waits = self._waits[pair]
        return EvaluationPoint(
            condition,
            owner,
            at_owner,
            waits[position],
            waits,
            lossy and not at_owner and not self._program.conditions[condition].at_end,
            self._marker.get(pair, NONE),
            bool(around) and not at_owner,
            tuple(self._spent(owner, position, waits[position])),
        )

    def _joins(self, position: int) -> bool:
        """True at an ALL: what its members have decided is not decided again, though they did not see each other."""
        return self._automaton.positions[position].any_order != NONE

    def _references(self, condition: int) -> tuple[Reference, ...]:
        return self._program.conditions[condition].references

    def _spent(self, owner: int, position: int, waiting: Variables) -> Iterator[tuple[int, int]]:
        for variable in sorted(waiting):
            for repetition in self._automaton.positions[position].repetitions:
                if self._automaton.repetitions[repetition].at_most is None:
                    continue
                if variable not in self._scope_after(position, owner, frozenset({repetition})):
                    yield variable, repetition

    def _waiting(self, condition: int, owner: int, position: int) -> Variables:
        foreign = self._foreign[condition]
        return foreign and foreign & self._scope_after(position, owner)

    def _following(self, position: int, owner: int, loops: bool = False) -> frozenset[int]:
        """Positions that can still be taken after `position`, in the iterations that `owner` stands in.

        loops       in further iterations of these, too
        """
        return self._after(position, _NOTHING if loops else frozenset(self._automaton.positions[owner].repetitions))[0]

    def _scope_after(self, position: int, owner: int, never: frozenset[int] = _NOTHING) -> Variables:
        """The variables of those positions, where also the repetitions `never` begin no further iteration."""
        return self._after(position, never.union(self._automaton.positions[owner].repetitions))[1]

    def _after(self, position: int, ended: frozenset[int]) -> tuple[frozenset[int], Variables]:
        """Positions that can still be taken after one while some repetitions begin no iteration; their variables.

        A repetition that does not hold the position changes nothing: its first iteration has all its positions.
        """
        ended = ended.intersection(self._automaton.positions[position].repetitions)
        if (position, ended) not in self._reached:
            seen: set[int] = set()
            front = [position]
            while front:
                for target, loop in self._arcs[front.pop()]:
                    if target not in seen and loop not in ended:
                        seen.add(target)
                        front.append(target)
            self._reached[position, ended] = frozenset(seen), _NOTHING.union(*(self._scope[each] for each in seen))
        return self._reached[position, ended]


def _always_bound(automaton: Automaton, variables: BoundVariables, repetition: int) -> Variables:
    """The variables that every iteration has bound at its end."""
    accepts = [accept for u in automaton.unordered for member in u.members for accept in member.accepts]
    ends = {edge.source for edge in automaton.edges if repetition in (edge.loop, *edge.leaves)}
    ends |= {accept.position for accept in (*automaton.accepts, *accepts) if repetition in accept.leaves}
    return frozenset.intersection(*(variables.always.bound[position] for position in ends))


def _arcs(automaton: Automaton) -> list[list[tuple[int, int]]]:
    """position → (position that may be taken after it, repetition that begins a new iteration on the way)."""
    arcs: list[list[tuple[int, int]]] = [[] for _ in automaton.positions]
    for edge in automaton.edges:
        target, *starts = automaton.targets(edge)
        arcs[edge.source] += [(position, edge.loop) for position in starts or [target]]
    for unordered in automaton.unordered:
        for member in unordered.members:
            others = [other.start for other in unordered.members if other is not member]
            for position in member.positions:
                arcs[position] += [(start, NONE) for start in (*others, unordered.position)]
    return arcs
