"""The edges and positions of an automaton, prepared for meeting one event at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from automata.chains.table import FIXED
from automata.plan.automaton import START, Accept, Action, Crossing, Edge
from automata.plan.expression import Contiguity
from automata.runs.columns.core import Core
from automata.runs.rows.conditions import Conditions, Decided
from automata.values import NONE

Actions = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One edge to a step. Columns are those of `automata.chains.table`.

    symbols     taken together
    index       which of its source's indexes finds the runs that an event may extend
    key         where the values of the join key stand in a way of taking the step
    brings      (place in a way, variable) of what the join key has not compared
    bit, blockers   of CLOSED, under skip-till-next: what it sets, and what keeps runs from taking the edge
    at_least, below (column, bound): counts that the run must have reached, or not yet
    forgets     (variable, column of the row whose value it gets back): what a new iteration binds afresh
    enters      (column of the count, column of the entry, column of the entry that it takes over; NONE: the run's row)
    loops       columns of counts
    marks       columns that are set to 1
    tracks      (column of the row itself, column that takes over what stood there; NONE: none does)
    members     columns that are set to NONE
    bounded     a count decides whether a run may take it
    notes       taking it changes more in the row than what every step does
    """

    number: int
    source: int
    target: int
    symbols: tuple[int, ...]
    index: int
    key: tuple[int, ...]
    brings: tuple[tuple[int, int], ...]
    strict: bool
    closes: bool
    bit: int
    blockers: int
    at_least: Actions
    below: Actions
    forgets: Actions
    enters: tuple[tuple[int, int, int], ...]
    loops: tuple[int, ...]
    marks: tuple[int, ...]
    tracks: Actions
    members: tuple[int, ...]
    decided: Decided
    bounded: bool = field(init=False)
    notes: bool = field(init=False)

    def __post_init__(self) -> None:
        """What is asked of every run."""
        object.__setattr__(self, "bounded", bool(self.at_least or self.below))
        noted = self.enters or self.loops or self.marks or self.tracks or self.members
        object.__setattr__(self, "notes", bool(noted))


@dataclass(frozen=True, slots=True)
class Opening:
    """An edge to an ALL; fields as those of `Step`.

    tracks      (column of the last row inside, column of the row before) of the iterations that the edge begins
    starts      positions at which the members begin
    """

    at_least: Actions
    below: Actions
    forgets: Actions
    enters: tuple[tuple[int, int, int], ...]
    loops: tuple[int, ...]
    tracks: Actions
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class End:
    """A way in which a match may end.

    accept      its number
    reached     the counts that it must have reached
    free        no condition is left to be decided
    """

    accept: int
    reached: Actions
    decided: Decided
    free: bool


@dataclass(frozen=True, slots=True)
class Place:
    """One position.

    indexes     the variables of each index over the runs that stand here
    adjacent    runs here wait for the very next event only
    all_closed  CLOSED of a run that can take no edge any more; -1 if there is none such
    ends        matches that end here
    goes_on     some edge to a step leaves it
    opens       the edges to an ALL
    finishes    (ALL, member, counts that it must have reached) of the members that end here
    joined      what decides whether an ALL may be complete here
    """

    indexes: tuple[tuple[int, ...], ...]
    adjacent: bool
    all_closed: int
    ends: tuple[End, ...]
    goes_on: bool
    opens: tuple[int, ...]
    finishes: tuple[tuple[int, int, Actions], ...]
    joined: Decided


def steps_of(core: Core) -> list[int]:
    """The edges that lead to a step, not to an ALL."""
    automaton = core.automaton
    return [n for n, edge in enumerate(automaton.edges) if automaton.positions[edge.target].symbols]


def places_of(core: Core, conditions: Conditions) -> list[Place]:
    """Every position of the automaton."""
    return [_place(core, conditions, number) for number in range(len(core.automaton.positions))]


def _place(core: Core, conditions: Conditions, number: int) -> Place:
    automaton = core.automaton
    onward = [edge for edge in automaton.outgoing[number] if automaton.positions[automaton.edges[edge].target].symbols]
    edges = [automaton.edges[edge] for edge in automaton.outgoing[number]]
    closing = bool(edges) and all(edge.operator is Contiguity.NEXT and not edge.rivals for edge in edges)
    ends = [(n, accept) for n, accept in enumerate(automaton.accepts) if accept.position == number]
    decided = conditions.ending(number)
    finishes = [
        (which, place, _reached(core, accept))
        for which, unordered in enumerate(automaton.unordered)
        for place, member in enumerate(unordered.members)
        for accept in member.accepts
        if accept.position == number
    ]
    return Place(
        tuple(dict.fromkeys(core.bindings.key(edge) for edge in onward)),
        number != START and all(edge.operator is Contiguity.STRICT for edge in edges),
        (1 << len(edges)) - 1 if closing else -1,
        tuple(End(n, _reached(core, accept), decided, decided == Decided()) for n, accept in ends),
        bool(onward),
        tuple(edge for edge in automaton.outgoing[number] if edge not in onward),
        tuple(finishes),
        conditions.joining(number) if automaton.positions[number].any_order >= 0 else Decided(),
    )


def step_of(core: Core, conditions: Conditions, places: Sequence[Place], number: int) -> Step:
    """An edge that leads to a step."""
    automaton, layout, analysis = core.automaton, core.layout, core.analysis
    edge = automaton.edges[number]
    scope = sorted(analysis.scope[edge.target])
    key = core.bindings.key(number)
    bits = {other: 1 << place for place, other in enumerate(automaton.outgoing[edge.source])}
    return Step(
        number,
        edge.source,
        edge.target,
        automaton.positions[edge.target].symbols,
        places[edge.source].indexes.index(key),
        tuple(scope.index(variable) for variable in key),
        tuple((place, variable) for place, variable in enumerate(scope) if variable not in key),
        edge.operator is Contiguity.STRICT,
        edge.operator is Contiguity.NEXT,
        bits[number],
        bits[number] | sum(bits[rival] for rival in edge.rivals),
        _leaving(core, edge.actions),
        _below(core, edge),
        _forgotten(core, edge),
        _entered(core, edge),
        _looped(core, edge),
        tuple(layout.marker(m) for m, (_, home) in enumerate(analysis.markers) if home == edge.target),
        _tracks(core, number),
        tuple(layout.member(member) for member in range(layout.members)),
        conditions.arriving(edge),
    )


def opening_of(core: Core, number: int) -> Opening:
    """An edge that leads to an ALL."""
    automaton, layout, tracks = core.automaton, core.layout, core.tracks
    edge = automaton.edges[number]
    begun = [t for t in range(len(tracks)) if tracks.inside(t, edge.target) and tracks.begins(t, edge)]
    return Opening(
        _leaving(core, edge.actions),
        _below(core, edge),
        _forgotten(core, edge),
        _entered(core, edge),
        _looped(core, edge),
        tuple((layout.inside(track), layout.previous(track)) for track in begun),
        tuple(member.start for member in automaton.unordered[automaton.positions[edge.target].any_order].members),
    )


def able(edge: Step | Opening, row: Sequence[int]) -> bool:
    """Whether the repetitions of a run allow an edge."""
    for column, bound in edge.at_least:
        if row[column] < bound:
            return False
    return all(row[column] < bound for column, bound in edge.below)


def _loops(edge: Edge) -> list[int]:
    return [action.repetition for action in edge.actions if action.crossing is Crossing.LOOP]


def _looped(core: Core, edge: Edge) -> tuple[int, ...]:
    return tuple(core.layout.count(repetition) for repetition in _loops(edge))


def _below(core: Core, edge: Edge) -> Actions:
    bounds = [(core.layout.count(r), core.automaton.repetitions[r].at_most) for r in _loops(edge)]
    return tuple((column, most) for column, most in bounds if most is not None)


def _forgotten(core: Core, edge: Edge) -> Actions:
    return tuple((v, core.layout.entry(r)) for r in _loops(edge) for v in sorted(core.analysis.locals[r]))


def _entered(core: Core, edge: Edge) -> tuple[tuple[int, int, int], ...]:
    layout = core.layout
    return tuple(
        (layout.count(r), layout.entry(r), NONE if begun is None else layout.entry(begun))
        for r, begun in edge.entries()
    )


def _tracks(core: Core, number: int) -> Actions:
    edge, tracks, layout = core.automaton.edges[number], core.tracks, core.layout
    inside = [track for track in range(len(tracks)) if tracks.inside(track, edge.target)]
    return tuple(
        (layout.inside(track), layout.previous(track) if tracks.begins(track, edge) else NONE) for track in inside
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
