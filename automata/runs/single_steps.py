"""The edges of an automaton, prepared for meeting one event at a time; and which programs can be run so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from automata.analysis import analyse
from automata.expression import Contiguity
from automata.nfa import START, Accept, Action, Crossing, build_automaton
from automata.program import Host, Program, Selector, Skip
from automata.runs.core import Core
from automata.runs.table import FIXED, NONE

Test = Callable[[Sequence[int]], bool]
"""Whether a condition holds, given the value of every variable; UNBOUND for one that has none."""
Actions = tuple[tuple[int, int], ...]


@runtime_checkable
class TestHost(Host, Protocol):
    """A host that looks at one combination of bindings at a time as well."""

    def test(self, condition: int) -> Test:
        """A condition that reads plain variables only, ready to be asked again and again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One edge. Columns are those of `automata.runs.table`.

    symbol      the one symbol of its target
    index       which of its source's indexes finds the runs that an event may extend
    key         where the values of the join key stand in a solution
    scope       (place in a solution, variable)
    bit, blockers   of CLOSED, under skip-till-next: what it sets, and what keeps runs from taking the edge
    at_least, below (column, bound): counts that the run must have reached, or not yet
    forgets     (variable, column of the row whose value it gets back): what a new iteration binds afresh
    enters      (column of the count, column of the entry, column of the entry that it takes over; NONE: the run's row)
    loops       columns of counts
    """

    number: int
    source: int
    target: int
    symbol: int
    index: int
    key: tuple[int, ...]
    scope: tuple[tuple[int, int], ...]
    strict: bool
    closes: bool
    bit: int
    blockers: int
    at_least: Actions
    below: Actions
    forgets: Actions
    enters: tuple[tuple[int, int, int], ...]
    loops: tuple[int, ...]
    tests: tuple[Test, ...]

    @property
    def bounded(self) -> bool:
        """Whether a count decides if a run may take it."""
        return bool(self.at_least or self.below)


@dataclass(frozen=True, slots=True)
class Place:
    """One position.

    indexes     the variables of each index over the runs that stand here
    adjacent    runs here wait for the very next event only
    all_closed  CLOSED of a run that can take no edge any more; -1 if there is none such
    ends        for each accept, the counts that a match must have reached
    goes_on     some edge leaves it
    """

    indexes: tuple[tuple[int, ...], ...]
    adjacent: bool
    all_closed: int
    ends: tuple[Actions, ...]
    goes_on: bool


def runs_singly(program: Program) -> bool:
    """Whether the program has nothing but steps of one event, repetitions and choices, under a window of time.

    Conditions must be decided when their step is taken.
    """
    automaton = build_automaton(program.expression)
    analysis = analyse(program, automaton)
    checks = [check for position in analysis.checks for check in position]
    return (
        not (program.partition or program.window.in_events or program.outputs or analysis.tracked or analysis.markers)
        and program.selector is Selector.ALL
        and program.skip is Skip.NO_SKIP
        and not (automaton.absences or automaton.unordered)
        and not any(analysis.final)
        and all(len(position.symbols) == 1 for position in automaton.positions[START + 1 :])
        and all(check.at_home and not check.waiting for check in checks)
        and not any(program.conditions[check.condition].needs_event for check in checks)
    )


def places_of(core: Core) -> list[Place]:
    """Every position of the automaton."""
    automaton, places = core.automaton, []
    for number in range(len(automaton.positions)):
        edges = [automaton.edges[edge] for edge in automaton.outgoing[number]]
        closing = bool(edges) and all(edge.operator is Contiguity.NEXT and not edge.rivals for edge in edges)
        places.append(
            Place(
                tuple(dict.fromkeys(core.extender.key_columns(edge) for edge in automaton.outgoing[number])),
                number != START and all(edge.operator is Contiguity.STRICT for edge in edges),
                (1 << len(edges)) - 1 if closing else -1,
                tuple(_reached(core, accept) for accept in automaton.accepts if accept.position == number),
                bool(edges),
            )
        )
    return places


def steps_of(program: Program, core: Core, places: Sequence[Place], host: TestHost) -> list[Step]:
    """Every edge of the automaton."""
    return [_step(program, core, places, host, number) for number in range(len(core.automaton.edges))]


def _step(program: Program, core: Core, places: Sequence[Place], host: TestHost, number: int) -> Step:
    automaton, layout = core.automaton, core.layout
    edge = automaton.edges[number]
    (symbol,) = automaton.positions[edge.target].symbols
    scope = sorted(program.symbols[symbol].scope)
    key = core.extender.key_columns(number)
    bits = {other: 1 << place for place, other in enumerate(automaton.outgoing[edge.source])}
    crossed = {way: [a.repetition for a in edge.actions if a.crossing is way] for way in Crossing}
    before = next((layout.entry(r) for r in crossed[Crossing.LOOP]), NONE)
    bounds = [(layout.count(r), automaton.repetitions[r].at_most) for r in crossed[Crossing.LOOP]]
    return Step(
        number,
        edge.source,
        edge.target,
        symbol,
        places[edge.source].indexes.index(key),
        tuple(scope.index(variable) for variable in key),
        tuple(enumerate(scope)),
        edge.operator is Contiguity.STRICT,
        edge.operator is Contiguity.NEXT,
        bits[number],
        bits[number] | sum(bits[rival] for rival in edge.rivals),
        _leaving(core, edge.actions),
        tuple((column, most) for column, most in bounds if most is not None),
        tuple((v, layout.entry(r)) for r in crossed[Crossing.LOOP] for v in sorted(core.analysis.locals[r])),
        tuple((layout.count(r), layout.entry(r), before) for r in crossed[Crossing.ENTER]),
        tuple(layout.count(r) for r in crossed[Crossing.LOOP]),
        tuple(host.test(check.condition) for check in core.analysis.checks[edge.target]),
    )


def _reached(core: Core, accept: Accept) -> Actions:
    return _leaving(core, accept.actions)


def _leaving(core: Core, actions: tuple[Action, ...]) -> Actions:
    """The counts that repetitions must have reached to be left."""
    left = [a.repetition for a in actions if a.crossing is Crossing.LEAVE]
    return tuple((core.layout.count(r), core.automaton.repetitions[r].at_least) for r in left)


def register_columns(core: Core) -> slice:
    """The columns of a row that hold the values of the variables."""
    assert core.layout.registers.start == FIXED, core.layout
    return core.layout.registers
