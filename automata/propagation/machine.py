"""The lanes of a pattern: sets of partial matches that no later event tells apart, of which only aggregates are kept.

GRETA (Poppe et al. 2017) keeps a count for each event, COGRA (2019) one for each type of event where the contiguity
allows it. Here a lane holds the partial matches at one state that go on under one rule, whatever their last event:

skip-till-any    all of them, for ever
skip-till-next   those that no event with a symbol of this step, or of a rival of it, has followed yet
strict           those whose last event is the one just before
negation         those that no event with the negated symbol has followed yet
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from automata.plan.automaton import START, Passed
from automata.plan.counted import Counts, crossed, left
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan, PlannedEdge

ACCEPTED = -1
"""The state of complete matches."""
STATES_MAX = 256
"""States of a pattern, positions by iteration counts, that are propagated along."""
Symbols = frozenset[int]


class Ambiguous(Exception):
    """Some match may be reached in two ways: counted by ways it would be counted twice."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Partial matches at a state (ACCEPTED: complete ones).

    killers     an event with one of these symbols ends them, whether or not it extends them
    strict      every event ends them
    """

    state: int
    killers: Symbols
    strict: bool


@dataclass(frozen=True, slots=True)
class Move:
    """An event with a symbol extends what is in a lane.

    lane, target    numbers of the lane and of the state reached
    forgets         variables that are unbound before the step's own are bound
    """

    lane: int
    target: int
    forgets: frozenset[int]


@dataclass(frozen=True, slots=True)
class Machine:
    """States are numbers, the start is 0; lanes too.

    moves       symbol → the moves of an event with it
    entered     state → the lanes that its partial matches are in
    accepting   states at which a match may end with no negation behind it
    lanes       all lanes
    opening     lanes of the start: they hold the empty match
    ends        lanes of complete matches
    killed      symbol → the lanes that an event with it ends
    strict      lanes that every event ends
    symbols     every symbol that makes a difference
    openers     symbols that may begin a match, or keep one from beginning
    """

    moves: dict[int, tuple[Move, ...]]
    entered: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    lanes: tuple[Lane, ...]
    opening: tuple[int, ...]
    ends: tuple[int, ...]
    killed: dict[int, tuple[int, ...]]
    strict: tuple[int, ...]
    symbols: Symbols
    openers: Symbols


def machine_of(plan: Plan) -> Machine:
    """The machine of a plan of single steps and single negated ones; Ambiguous if a match is reached in two ways."""
    return _Builder(plan).machine()


class _Builder:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._numbers: dict[tuple[int, Counts], int] = {}
        self._lanes: dict[Lane, int] = {}
        self._reach()
        self._accepts = dict(self._ends())

    def machine(self) -> Machine:
        moves: dict[int, list[Move]] = defaultdict(list)
        for source, edge, target in self._arcs:
            forgets = frozenset(edge.forgets)
            moves[self._symbol(edge)].append(Move(self._number(self._lane(source, edge)), target, forgets))
        for killers in self._accepts.values():
            self._number(Lane(ACCEPTED, killers, False))
        lanes = tuple(self._lanes)
        check_unambiguous(self._moves_of_words(), frozenset(self._accepts))
        return Machine(
            {symbol: tuple(some) for symbol, some in moves.items()},
            self._entered(lanes),
            frozenset(state for state, killers in self._accepts.items() if not killers),
            lanes,
            tuple(number for number, lane in enumerate(lanes) if lane.state == 0),
            tuple(number for number, lane in enumerate(lanes) if lane.state == ACCEPTED),
            self._killed(lanes),
            tuple(number for number, lane in enumerate(lanes) if lane.strict),
            self._counted().union(moves, *(lane.killers for lane in lanes)),
            self._openers(lanes),
        )

    def _counted(self) -> Symbols:
        """The symbols whose events are next to each other in a partition, whatever else they do."""
        return self._plan.used | self._plan.negated if self._plan.program.partition else frozenset()

    def _reach(self) -> None:
        """Every state, the start first, and every arc (state, edge, state)."""
        self._state(START, (0,) * len(self._plan.repetitions))
        self._arcs: list[tuple[int, PlannedEdge, int]] = []
        waiting = list(self._numbers)
        while waiting:
            position, counts = waiting.pop()
            for number in self._plan.positions[position].outgoing:
                edge = self._plan.edges[number]
                after = crossed(self._plan, counts, edge)
                if after is None:
                    continue
                if (edge.target, after) not in self._numbers:
                    waiting.append((edge.target, after))
                target = self._state(edge.target, after)
                self._arcs.append((self._numbers[position, counts], edge, target))

    def _state(self, position: int, counts: Counts) -> int:
        number = self._numbers.setdefault((position, counts), len(self._numbers))
        if number >= STATES_MAX:
            raise Ambiguous(f"its iteration counts make more than {STATES_MAX} states")
        return number

    def _ends(self) -> Iterator[tuple[int, Symbols]]:
        """(state at which a match may end, symbols that must not follow)."""
        for (position, counts), state in self._numbers.items():
            accepts = [self._plan.accepts[number] for number in self._plan.positions[position].accepts]
            open_ = [accept for accept in accepts if left(self._plan, counts, accept.leaves) is not None]
            if len(open_) > 1:
                raise Ambiguous("a match may end in two ways at one step")
            for accept in open_:
                yield state, self._negated(accept.passed)

    def _lane(self, source: int, edge: PlannedEdge) -> Lane:
        if edge.begins:
            return Lane(source, self._negated(edge.passed), False)
        if edge.operator is Contiguity.STRICT:
            return Lane(source, frozenset(), True)  # nothing lies between, so no negation does
        killers = self._negated(edge.passed)
        if edge.operator is Contiguity.NEXT:
            beside = self._plan.positions[edge.source].outgoing
            killers |= {self._symbol(self._plan.edges[beside[place]]) for place in edge.blockers}
        return Lane(source, killers, False)

    def _negated(self, passed: tuple[Passed, ...]) -> Symbols:
        return frozenset(s for each in passed for s in self._plan.negations[each.negation].symbols)

    def _number(self, lane: Lane) -> int:
        return self._lanes.setdefault(lane, len(self._lanes))

    def _symbol(self, edge: PlannedEdge) -> int:
        (symbol,) = self._plan.positions[edge.target].symbols
        return symbol

    def _entered(self, lanes: tuple[Lane, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(
                number
                for number, lane in enumerate(lanes)
                if lane.state == state or (lane.state == ACCEPTED and self._accepts.get(state) == lane.killers)
            )
            for state in range(len(self._numbers))
        )

    def _killed(self, lanes: tuple[Lane, ...]) -> dict[int, tuple[int, ...]]:
        killed: dict[int, list[int]] = defaultdict(list)
        for number, lane in enumerate(lanes):
            for symbol in lane.killers:
                killed[symbol].append(number)
        return {symbol: tuple(some) for symbol, some in killed.items()}

    def _openers(self, lanes: tuple[Lane, ...]) -> Symbols:
        first = frozenset(self._symbol(edge) for source, edge, _ in self._arcs if source == 0)
        return first.union(*(lane.killers for lane in lanes if lane.state == 0))

    def _moves_of_words(self) -> dict[int, list[tuple[int, int]]]:
        """state → (symbol, state) for each arc."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for source, edge, target in self._arcs:
            found[source].append((self._symbol(edge), target))
        return found


def check_unambiguous(moves: dict[int, list[tuple[int, int]]], accepting: frozenset[int]) -> None:
    """Raises Ambiguous if two paths from 0 to accepting states take the same symbols (whatever the operators)."""
    pairs = {(0, 0)}
    before: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    twice: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        pair = one, other = waiting.pop()
        for at, (symbol, target) in enumerate(moves.get(one, ())):
            for there, (same, end) in enumerate(moves.get(other, ())):
                if symbol != same or (one == other and there < at):
                    continue
                reached = target, end
                before[reached].add(pair)
                if one == other and there != at and target == end:
                    twice.add(reached)
                if reached not in pairs:
                    pairs.add(reached)
                    waiting.append(reached)
    ending = {pair for pair in pairs if pair[0] in accepting and pair[1] in accepting}
    waiting = list(ending)
    while waiting:
        for pair in before[waiting.pop()] - ending:
            ending.add(pair)
            waiting.append(pair)
    if any(one != other for one, other in ending) or twice & ending:
        raise Ambiguous("the same events may be one match in two ways")
