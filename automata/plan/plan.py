"""The plan of a pattern: what is known of it before the first event, worked out once and read by all evaluators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from automata.plan import expression as nodes
from automata.plan import limits, possession
from automata.plan.automaton import (
    START,
    Accept,
    Automaton,
    Clock,
    Edge,
    Loop,
    NegatedPart,
    Position,
    Unordered,
    build_automaton,
)
from automata.plan.expression import Contiguity, symbols, walk
from automata.plan.program import (
    ELSEWHERE,
    ENDLESS,
    MATCH,
    Program,
    Reference,
    Selector,
    Skip,
)
from automata.plan.variables import Variables, bound_variables, iteration_domains, told_variables, walked_variables
from automata.plan.waiting import EvaluationPoint, Waiting
from automata.values import NONE

PLANS_MAX = 256
"""Plans that are remembered: queries that differ in constants alone have one."""
_NOTHING: Variables = frozenset()


@dataclass(frozen=True, slots=True)
class PlannedEdge(Edge):
    """An edge, with what is known of the runs that take it and of what it does to them.

    place           its place among the edges of its source
    blockers        under skip-till-next: the places of the edges that end it
    closes          it is one of these, its own or another one's, whatever its operator; an event that it does not
                    take, for it is not adjacent, ends them too
    begins          the runs at its source may not have had an event yet
    key             the join key: variables that both the runs and every solution of the step have bound
    shared          variables of the step that a run may have bound, ascending
    fresh           the other variables of the step
    merged          those of `shared` that are not in the key: either side may leave them to the other
    forgets         variables that the next iteration binds afresh: their values are those at the repetition's entry
    begun           iteration domains that it begins an iteration of
    timed           (clock, nanoseconds) of the limited steps around its target: an event inside sets the clock to so
                    long after its time at most
    deadlines       clocks that must not have run out
    """

    place: int
    blockers: tuple[int, ...]
    closes: bool
    begins: bool
    key: tuple[int, ...]
    shared: tuple[int, ...]
    fresh: tuple[int, ...]
    merged: tuple[int, ...]
    forgets: tuple[int, ...]
    begun: frozenset[int]
    timed: tuple[tuple[int, int], ...]
    deadlines: tuple[int, ...]

    @property
    def limited(self) -> bool:
        """True if a limit may keep a run from taking it."""
        return self.limit is not None or bool(self.deadlines)


@dataclass(frozen=True, slots=True)
class PlannedPosition(Position):
    """A position, with what may become of the runs there.

    onward          the edges from it to a step
    opens           the edges from it to an ALL
    accepts         the numbers of the accepts there
    finishes        (ALL, member, accept) where the match of a member may end there
    scope           variables that its step may bind, ascending
    certain         variables that every run there has bound
    live            variables that an event taken later may read, in a join or a condition
    arriving        conditions to evaluate when it is taken
    final           conditions still to decide when a match ends there
    markers         marker columns that taking it sets
    inside          iteration domains that it lies in
    completes       possessive repetitions of which an iteration may end there
    only_strict     nothing but an adjacent event extends a run there
    closing         a run that has taken every edge from it can take none any more
    timed           clocks of the limited steps around it
    lapses          every edge from it to a step is limited: a run there lapses with the last of their limits
    """

    outgoing: tuple[int, ...]
    onward: tuple[int, ...]
    opens: tuple[int, ...]
    accepts: tuple[int, ...]
    finishes: tuple[tuple[int, int, Accept], ...]
    scope: tuple[int, ...]
    certain: Variables
    live: Variables
    arriving: tuple[EvaluationPoint, ...]
    final: tuple[EvaluationPoint, ...]
    markers: tuple[int, ...]
    inside: frozenset[int]
    completes: tuple[int, ...]
    only_strict: bool
    closing: bool
    timed: tuple[int, ...]
    lapses: bool


@dataclass(frozen=True, slots=True)
class PlannedNegation(NegatedPart):
    """A negation, with how it is looked for.

    symbols     every symbol in it
    step        its symbol, where it is one step outside of repetitions; NONE: a group, or one that iterations see
    group       the plan by which a group is looked for
    """

    symbols: frozenset[int]
    step: int
    group: Plan | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A program and its automaton, with the facts that evaluators go by.

    given           variables that the run at START may have bound
    local, entered  repetition → variables that its iterations may bind afresh; bound in every run that enters it
    told            variables that a repetition may bind, and a step outside of it may bind or leave unbound; then the
                    others that any step may bind or leave unbound and that are in `walked`
    markers         (condition, position of its step) pairs that have a marker column
    domains         iteration domains: repetitions over whose iterations PREV, FIRST, LAST and aggregates range
    domain_of       variable that is iterated over → its domain
    walked          those of which iterations are not told by rows and pointers, but by whole chains
    member_keys     ALL → variables that each of its members has bound at its end
    used, negated   symbols that steps take; symbols that negations look for
    conditions      symbol → the numbers of its conditions
    selects         matches are chosen among each other, by a selector or AFTER MATCH
    patience        accept → a match that ends there waits so long, in nanoseconds, for the negations at its end; None:
                    for the end of its window
    looks_back      so long before its first event, in nanoseconds, a match looks for negations; None: as its window
    limits          every limit of an operator, a step or an absence, in nanoseconds
    possessive      the possessive repetitions
    trailing        accept → a match may have to wait there for a negation, or a possessive repetition, at its end
    whole_slots     a slice must not end between two events of one time
    substreams      negations look at the events of each partition
    """

    program: Program
    given: Variables
    positions: tuple[PlannedPosition, ...]
    edges: tuple[PlannedEdge, ...]
    accepts: tuple[Accept, ...]
    repetitions: tuple[Loop, ...]
    negations: tuple[PlannedNegation, ...]
    unordered: tuple[Unordered, ...]
    clocks: tuple[Clock, ...]
    local: tuple[Variables, ...]
    entered: tuple[Variables, ...]
    told: tuple[int, ...]
    markers: tuple[tuple[int, int], ...]
    domains: tuple[frozenset[int], ...]
    domain_of: Mapping[int, int]
    walked: Variables
    member_keys: tuple[tuple[int, ...], ...]
    used: frozenset[int]
    negated: frozenset[int]
    conditions: tuple[tuple[int, ...], ...]
    selects: bool
    patience: tuple[int | None, ...]
    looks_back: int | None
    limits: tuple[int, ...]
    possessive: tuple[int, ...]
    trailing: tuple[bool, ...]
    whole_slots: bool
    substreams: bool

    @property
    def trails(self) -> bool:
        """A match may have to wait at its end."""
        return any(self.trailing)


@lru_cache(PLANS_MAX)
def compile_plan(program: Program, given: Variables = frozenset()) -> Plan:
    """The plan of a program, one for equal ones; `given` are variables that the run at START may have bound."""
    return _Compiler(program, build_automaton(program.expression), given).plan()


def references_of(program: Program) -> tuple[Reference, ...]:
    """Everything that conditions and outputs read."""
    return (*program.outputs, *(reference for condition in program.conditions for reference in condition.references))


def walks(plan: Plan, references: Sequence[Reference]) -> bool:
    """True if one of these is told by whole chains."""
    return any(not isinstance(reference, int) and reference.variable in plan.walked for reference in references)


class _Compiler:
    def __init__(self, program: Program, automaton: Automaton, given: Variables) -> None:
        self._program = program
        self._automaton = automaton
        self._given = given
        self._variables = bound_variables(program, automaton, given)
        tracked = iteration_domains(references_of(program), program, automaton, self._variables)
        self._walked = walked_variables(tracked, automaton, self._variables, given)
        self._waiting = Waiting(program, automaton, self._variables, self._walked)
        self._domains = tuple(dict.fromkeys(tracked.values()))
        self._domain_of = {variable: self._domains.index(domain) for variable, domain in tracked.items()}
        self._inside = [
            frozenset(p for repetition in domain for p in automaton.repetitions[repetition].positions)
            for domain in self._domains
        ]

    def plan(self) -> Plan:
        program, automaton, variables = self._program, self._automaton, self._variables
        negations = tuple(map(self._negation, automaton.negations))
        groups = any(not isinstance(part.expression, nodes.Step | nodes.Conjunction) for part in negations)
        return Plan(
            program,
            self._given,
            self._positions(),
            tuple(map(self._edge, range(len(automaton.edges)))),
            automaton.accepts,
            automaton.repetitions,
            negations,
            automaton.unordered,
            automaton.clocks,
            variables.local,
            variables.always.entered,
            told_variables(automaton, variables, self._walked),
            self._waiting.markers,
            self._domains,
            self._domain_of,
            self._walked,
            tuple(map(self._member_key, automaton.unordered)),
            frozenset(symbol for position in automaton.positions for symbol in position.symbols),
            frozenset[int]().union(*(part.symbols for part in negations)),
            tuple(
                tuple(n for n, condition in enumerate(program.conditions) if condition.symbol == symbol)
                for symbol in range(len(program.symbols))
            ),
            program.selector is not Selector.ALL or program.skip is not Skip.NO_SKIP,
            limits.patience(automaton),
            limits.looks_back(automaton),
            limits.every_limit(automaton),
            possession.possessive(automaton),
            tuple(bool(accept.passed) or possession.ends(automaton, accept) for accept in automaton.accepts),
            program.streams > 1 or any(isinstance(node, nodes.Conjunction) for node in walk(program.expression)),
            bool(program.partition) and (groups or (program.window.in_events and bool(negations))),
        )

    # --- edges ------------------------------------------------------------------------------------

    def _edge(self, number: int) -> PlannedEdge:
        edge, variables = self._automaton.edges[number], self._variables
        target = self._automaton.positions[edge.target]
        certain = frozenset[int]().union(*(self._program.symbols[symbol].certain for symbol in target.symbols))
        key = variables.kept(edge, variables.always) & certain
        scope = variables.scope[edge.target]
        shared = scope & variables.kept(edge, variables.ever)
        outgoing = self._automaton.outgoing[edge.source]
        places = {other: place for place, other in enumerate(outgoing)}
        crossed = {edge.loop, *edge.enters}
        loops, skips = edge.loop != NONE, edge.operator is Contiguity.NEXT
        beside = [self._automaton.edges[other] for other in outgoing]
        return PlannedEdge(
            edge.source,
            edge.target,
            edge.operator,
            edge.rivals,
            edge.passed,
            edge.leaves,
            edge.loop,
            edge.enters,
            edge.limit,
            edge.starts,
            places[number],
            tuple(sorted(places[other] for other in (number, *edge.rivals))) if skips else (),
            skips or any(number in other.rivals for other in beside),
            not self._automaton.positions[edge.source].symbols,
            _ascending(key),
            _ascending(shared),
            _ascending(scope - shared),
            _ascending(shared - key),
            _ascending(variables.local[edge.loop] - variables.always.entered[edge.loop]) if loops else (),
            frozenset(n for n, domain in enumerate(self._domains) if domain & crossed),
            limits.timed(self._automaton, edge.target),
            limits.deadlines(self._automaton, edge),
        )

    # --- positions --------------------------------------------------------------------------------

    def _positions(self) -> tuple[PlannedPosition, ...]:
        live = self._live()
        return tuple(self._position(number, live[number]) for number in range(len(self._automaton.positions)))

    def _position(self, number: int, live: Variables) -> PlannedPosition:
        automaton, position = self._automaton, self._automaton.positions[number]
        outgoing = automaton.outgoing[number]
        edges = [automaton.edges[edge] for edge in outgoing]
        onward = tuple(edge for edge in outgoing if automaton.positions[automaton.edges[edge].target].symbols)
        return PlannedPosition(
            position.symbols,
            position.repetitions,
            position.any_order,
            outgoing,
            onward,
            tuple(edge for edge in outgoing if edge not in onward),
            tuple(n for n, accept in enumerate(automaton.accepts) if accept.position == number),
            tuple(self._finishes(number)),
            _ascending(self._variables.scope[number]),
            self._variables.always.bound[number],
            live,
            self._waiting.arriving[number],
            self._waiting.final[number],
            tuple(marker for marker, (_, owner) in enumerate(self._waiting.markers) if owner == number),
            frozenset(n for n, inside in enumerate(self._inside) if number in inside),
            possession.completes(automaton, number),
            number != START and all(edge.operator is Contiguity.STRICT for edge in edges),
            bool(edges) and all(edge.operator is Contiguity.NEXT and not edge.rivals for edge in edges),
            tuple(clock for clock, _ in limits.timed(automaton, number)),
            limits.lapses(automaton, onward),
        )

    def _finishes(self, position: int) -> list[tuple[int, int, Accept]]:
        return [
            (which, place, accept)
            for which, unordered in enumerate(self._automaton.unordered)
            for place, member in enumerate(unordered.members)
            for accept in member.accepts
            if accept.position == position
        ]

    def _live(self) -> list[Variables]:
        """See `PlannedPosition.live`."""
        read = [
            scope.union(*(self._program.conditions[point.condition].variables() for point in (*arriving, *final)))
            for scope, arriving, final in zip(
                self._variables.scope, self._waiting.arriving, self._waiting.final, strict=True
            )
        ]
        live, known = [frozenset[int]()] * len(read), None
        while known != live:
            known = list(live)
            for edge in self._automaton.edges:
                live[edge.source] |= read[edge.target] | live[edge.target]
        return live

    # --- negations and ALL ------------------------------------------------------------------------

    def _negation(self, part: NegatedPart) -> PlannedNegation:
        used = frozenset(symbols(part.expression))
        if isinstance(part.expression, nodes.Step) and not part.repetitions:
            return PlannedNegation(part.expression, part.repetitions, part.limit, used, part.expression.symbol, None)
        program = replace(
            self._program,
            expression=part.expression,
            window=ENDLESS,
            partition=(),
            using=NONE,
            selector=Selector.ALL,
            skip=Skip.NO_SKIP,
            outputs=(),
            conditions=tuple(
                replace(condition, symbol=ELSEWHERE) if condition.symbol == MATCH else condition
                for condition in self._program.conditions
            ),
        )
        group = compile_plan(program, self._given.union(*self._variables.scope))
        return PlannedNegation(part.expression, part.repetitions, part.limit, used, NONE, group)

    def _member_key(self, unordered: Unordered) -> tuple[int, ...]:
        ends = [accept.position for member in unordered.members for accept in member.accepts]
        return _ascending(frozenset.intersection(*(self._variables.always.bound[position] for position in ends)))


def _ascending(variables: Variables) -> tuple[int, ...]:
    return tuple(sorted(variables))
