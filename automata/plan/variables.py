"""The variables that are bound along an automaton: in every run, and in some run (specification 3.1-3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from automata.plan import expression as nodes
from automata.plan.automaton import START, Automaton, Edge
from automata.plan.expression import Contiguity
from automata.plan.program import Program, Reference
from automata.values import NONE

Variables = frozenset[int]
_NOTHING: Variables = frozenset()


@dataclass(frozen=True, slots=True)
class Flow:
    """The variables that runs have bound, in every one of them or in some.

    bound       position → by the runs that are there
    before      position → by those about to take its step, without what a new iteration forgets
    entered     repetition → by those that enter it: every iteration begins with their values
    """

    bound: tuple[Variables, ...]
    before: tuple[Variables, ...]
    entered: tuple[Variables, ...]


@dataclass(frozen=True, slots=True)
class BoundVariables:
    """The variables of one program along its automaton.

    scope       position → those that its step may bind
    certain     position → the variables that every solution of its step binds
    local       repetition → those that its steps may bind
    always      bound in every run
    ever        bound in some run
    """

    scope: tuple[Variables, ...]
    certain: tuple[Variables, ...]
    local: tuple[Variables, ...]
    always: Flow
    ever: Flow

    def kept(self, edge: Edge, flow: Flow) -> Variables:
        """The bindings of a run at an edge's step: a new iteration forgets what was not bound when it was entered."""
        return _kept(edge, self.local, flow.bound[edge.source], flow.entered)


def bound_variables(program: Program, automaton: Automaton, given: Variables) -> BoundVariables:
    """All of them; `given` are variables that the run at START may have bound."""
    fixed = frozenset(program.partition)
    taken = [[program.symbols[symbol] for symbol in position.symbols] for position in automaton.positions]
    scope = tuple(_NOTHING.union(*(symbol.scope for symbol in step)) for step in taken)
    certain = tuple(_NOTHING.union(fixed if step else (), *(symbol.certain for symbol in step)) for step in taken)
    local = tuple(_NOTHING.union(*(scope[p] for p in loop.positions)) - fixed for loop in automaton.repetitions)
    everything, arcs = frozenset(range(program.variables)), _arcs(automaton)
    always = _flow(automaton, arcs, local, certain, everything, _NOTHING, frozenset.intersection)
    arcs += [
        (Edge(accept.position, unordered.position, Contiguity.ANY, (), (), (), NONE, (), None, ()), unordered.position)
        for unordered in automaton.unordered
        for member in unordered.members
        for accept in member.accepts
    ]
    ever = _flow(automaton, arcs, local, scope, _NOTHING, given, frozenset.union)
    return BoundVariables(scope, certain, local, _with_members(automaton, always), ever)


def _arcs(automaton: Automaton) -> list[tuple[Edge, int]]:
    """Every edge with each of the positions that it leads to."""
    return [(edge, target) for edge in automaton.edges for target in automaton.targets(edge)]


def _flow(
    automaton: Automaton,
    arcs: Sequence[tuple[Edge, int]],
    local: Sequence[Variables],
    own: Sequence[Variables],
    initial: Variables,
    given: Variables,
    meet: Callable[[Variables, Variables], Variables],
) -> Flow:
    """The fixed point over all arcs.

    own         position → what its step binds
    initial     before any arc is followed
    given       at START
    meet        what holds of two arcs to one place
    """
    bound, before = [initial] * len(automaton.positions), [initial] * len(automaton.positions)
    entered = [initial] * len(automaton.repetitions)
    bound[START], known = given, None
    while known != (flow := Flow(tuple(bound), tuple(before), tuple(entered))):
        known = flow
        for edge, target in arcs:
            for repetition in edge.enters:
                here = bound[edge.source] if edge.loop == NONE else entered[edge.loop]
                entered[repetition] = meet(entered[repetition], here)
            here = _kept(edge, local, bound[edge.source], entered)
            before[target] = meet(before[target], here)
            bound[target] = meet(bound[target], here | own[target])
    return flow


def _kept(edge: Edge, local: Sequence[Variables], bound: Variables, entered: Sequence[Variables]) -> Variables:
    return bound if edge.loop == NONE else bound - (local[edge.loop] - entered[edge.loop])


def _with_members(automaton: Automaton, always: Flow) -> Flow:
    """After an ALL what each of its members has bound is bound, too."""
    bound = list(always.bound)
    for unordered in automaton.unordered:
        ends = [[bound[accept.position] for accept in member.accepts] for member in unordered.members]
        bound[unordered.position] = bound[unordered.position].union(*(frozenset.intersection(*end) for end in ends))
    return replace(always, bound=tuple(bound))


def iteration_domains(
    references: Iterable[Reference], program: Program, automaton: Automaton, variables: BoundVariables
) -> dict[int, frozenset[int]]:
    """Variable that is iterated over → the innermost repetitions around the steps that have it in scope.

    Steps of a negated group in a repetition are such steps, too.
    """
    scopes = [
        (position.repetitions[-1], scope)
        for position, scope in zip(automaton.positions, variables.scope, strict=True)
        if position.repetitions
    ]
    scopes += [
        (part.repetitions[-1], program.symbols[step.symbol].scope)
        for part in automaton.negations
        if part.repetitions
        for step, around in nodes.steps(part.expression)
        if not any(isinstance(node, nodes.Repetition) for node in around)
    ]
    return {
        variable: frozenset(repetition for repetition, scope in scopes if variable in scope)
        for variable in {each.variable for each in references if not isinstance(each, int)}
    }


def walked_variables(
    domains: Mapping[int, frozenset[int]], automaton: Automaton, variables: BoundVariables, given: Variables
) -> Variables:
    """The iterated variables of which the last row of an iteration does not have the value.

    A run may have bound them when an iteration begins, which then binds them itself or not; or iterations of two
    repetitions go on at one time. `given` as for `bound_variables`.
    """

    def may_be_from_outside(variable: int, repetition: int) -> bool:
        begun = (edge.target for edge in automaton.edges if repetition in (edge.loop, *edge.enters))
        return variable in variables.ever.entered[repetition] and any(
            automaton.positions[target].repetitions[-1] != repetition or variable not in variables.certain[target]
            for target in begun
        )

    return frozenset(
        variable
        for variable, domain in domains.items()
        if variable in given
        or any(may_be_from_outside(variable, repetition) for repetition in domain)
        or any(_at_one_time(automaton, one, other) for one, other in permutations(domain, 2))
    )


def _at_one_time(automaton: Automaton, one: int, other: int) -> bool:
    """True if a repetition is inside of another one, or they are in two members of an ALL."""
    mine, others = automaton.repetitions[one].positions, automaton.repetitions[other].positions
    beside = (permutations(unordered.members, 2) for unordered in automaton.unordered)
    return mine <= others or any(
        mine <= member.positions and others <= rival.positions for pairs in beside for member, rival in pairs
    )


def told_variables(automaton: Automaton, variables: BoundVariables, walked: Variables) -> tuple[int, ...]:
    """See `Plan.told`."""
    of_repetitions: set[int] = set()
    every: set[int] = set()
    for number in range(len(automaton.positions)):
        outside = [r for r, loop in enumerate(automaton.repetitions) if number not in loop.positions]
        unsure = variables.scope[number] - variables.certain[number]
        of_repetitions |= unsure.intersection(_NOTHING.union(*(variables.local[repetition] for repetition in outside)))
        every |= unsure
    return (*sorted(of_repetitions), *sorted((every & walked) - of_repetitions))
