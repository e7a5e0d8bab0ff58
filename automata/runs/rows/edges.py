"""The edges and positions of a plan, prepared for meeting one event at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arrays.times import ENDLESS_NS
from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan, PlannedEdge
from automata.runs.rows.conditions import Conditions, Decided
from automata.values import NONE

Bounds = tuple[tuple[int, int], ...]
"""Columns of counts, and what they are compared with."""


@dataclass(frozen=True, slots=True)
class RowCrossing:
    """The effects of an edge on repetitions and iterations. Columns are those of `automata.chains.table`.

    at_least, below (column, bound): counts that the run must have reached, or not yet
    forgets         (variable, column of the row whose value it gets back)
    loops           columns of counts that go up by one
    enters          (column of the count, column of the entry, column of the entry that it takes over; NONE: the row)
    begins          (column of the last row inside, column of the row before) of the iterations that it begins
    limit           of its operator; ENDLESS_NS where there is none
    deadlines       columns of the clocks that must not have run out
    again, anew     columns of the row from which an iteration was begun: it is the run's own, and there is none
    """

    at_least: Bounds
    below: Bounds
    forgets: Bounds
    loops: tuple[int, ...]
    enters: tuple[tuple[int, int, int], ...]
    begins: tuple[tuple[int, int], ...]
    limit: int
    deadlines: tuple[int, ...]
    again: tuple[int, ...]
    anew: tuple[int, ...]

    def last(self, row: Sequence[int]) -> int:
        """The last time at which a run may take it."""
        return min([row[col.HIGH_TIME] + self.limit, *[row[column] for column in self.deadlines]])


@dataclass(frozen=True, slots=True)
class RowEdge(RowCrossing):
    """An edge to a step.

    symbols     taken together
    index       which of its source's indexes finds the runs that an event may extend
    key         where the values of the join key stand in a candidate of the step
    brings      (place in a candidate, variable) of what the join key has not compared
    closes      see PlannedEdge
    closed, bit where a run keeps that it has taken the edge
    blockers, beyond    the bits of CLOSED that end it; (column, bits) of others that do
    cleared     columns that are set to 0
    tells       (place in a candidate, variable, column that is 1 where the candidate binds it)
    marks       columns that are set to 1
    inside      columns of the last row inside, of the iterations that the target is in
    own         columns that are set to NONE
    left        columns of the row that left a possessive repetition, which it is
    ended       columns of extensions: a run that has one may not take the edge
    clocks      (column, limit, whether the clock may be running) of the clocks that it sets
    limited     a limit decides whether a run may take it
    bounded     a count, or one of `beyond`, decides whether a run may take it
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
    closed: int
    bit: int
    blockers: int
    beyond: Bounds
    cleared: tuple[int, ...]
    tells: tuple[tuple[int, int, int], ...]
    marks: tuple[int, ...]
    inside: tuple[int, ...]
    own: tuple[int, ...]
    left: tuple[int, ...]
    ended: tuple[int, ...]
    decided: Decided
    clocks: tuple[tuple[int, int, bool], ...]
    limited: bool
    bounded: bool = field(init=False)
    notes: bool = field(init=False)

    def __post_init__(self) -> None:
        noted = self.enters, self.loops, self.marks, self.inside, self.own, self.cleared, self.tells, self.clocks
        object.__setattr__(self, "bounded", bool(self.at_least or self.below or self.beyond))
        object.__setattr__(self, "notes", any(noted))


@dataclass(frozen=True, slots=True)
class RowOpening(RowCrossing):
    """An edge to an ALL.

    starts      the positions at which the members begin
    cleared     columns of the clocks of limited steps that begin with the ALL
    clock       column of the clock of the operator's limit; NONE: there is none
    limited     a limit of the operator, or of one around it, sets that clock
    """

    starts: tuple[int, ...]
    cleared: tuple[int, ...]
    clock: int
    limited: bool


@dataclass(frozen=True, slots=True)
class RowEnd:
    """A possible end of a match.

    accept      its number
    reached     the counts that it must have reached
    free        no condition is left to be decided
    """

    accept: int
    reached: Bounds
    decided: Decided
    free: bool


@dataclass(frozen=True, slots=True)
class RowCompletion:
    """A possessive repetition of which an iteration may end at a position.

    reached     counts that it must have reached
    begun, extension, sibling   see `automata.chains.table.Layout`
    definite    see `automata.chains.extensions.Extensions`
    closing     (column, bits), one of which must be set for each edge, in a run that then can only leave it; None: no
                run is ended by an extension
    """

    reached: Bounds
    begun: int
    extension: int
    sibling: int
    definite: bool
    closing: tuple[Bounds, ...] | None


@dataclass(frozen=True, slots=True)
class RowPosition:
    """One position; what is not described here is as in PlannedPosition.

    indexes     the variables of each index over the runs that stand here
    ends        matches that end here
    finishes    (ALL, member, counts that it must have reached) of the members that end here
    joined      what decides whether an ALL may be complete here; nothing elsewhere
    lapses      the edges from it to a step, if all of them are limited
    all_closed  column → its bits, all of them set, in a run that can take no edge any more; {}: there are no such runs
    """

    indexes: tuple[tuple[int, ...], ...]
    only_strict: bool
    all_closed: Mapping[int, int]
    ends: tuple[RowEnd, ...]
    completes: tuple[RowCompletion, ...]
    goes_on: bool
    opens: tuple[int, ...]
    finishes: tuple[tuple[int, int, Bounds], ...]
    joined: Decided
    lapses: tuple[RowCrossing, ...]


def row_positions(chains: ChainStore, conditions: Conditions) -> list[RowPosition]:
    """Every position of the plan."""
    return [_position(chains, conditions, number) for number in range(len(chains.plan.positions))]


def _position(chains: ChainStore, conditions: Conditions, number: int) -> RowPosition:
    plan = chains.plan
    position = plan.positions[number]
    decided = conditions.decided(position.final, None, patient=False)
    return RowPosition(
        _indexes(plan, number),
        position.only_strict,
        chains.layout.closed_masks(range(len(position.outgoing))) if position.closing else {},
        tuple(RowEnd(n, _leaving(chains, plan.accepts[n].leaves), decided, decided.nothing) for n in position.accepts),
        tuple(_completion(chains, number, repetition) for repetition in position.completes),
        bool(position.onward),
        position.opens,
        tuple((which, member, _leaving(chains, accept.leaves)) for which, member, accept in position.finishes),
        conditions.decided(position.arriving if position.any_order != NONE else (), None, patient=True),
        tuple(RowCrossing(*_crossing(chains, plan.edges[n])) for n in position.onward) if position.lapses else (),
    )


def _completion(chains: ChainStore, position: int, repetition: int) -> RowCompletion:
    layout, extensions = chains.layout, chains.extensions
    end = next(end for end in chains.plan.repetitions[repetition].ends if end.position == position)
    closing = extensions.closing(position, repetition) if repetition in extensions.free else None
    return RowCompletion(
        _leaving(chains, end.leaves),
        layout.begun(repetition),
        layout.extension(repetition),
        layout.sibling(repetition),
        repetition in extensions.definite,
        None if closing is None else tuple(tuple(layout.closed_masks(places).items()) for places in closing),
    )


def row_edges(chains: ChainStore, conditions: Conditions) -> list[RowEdge]:
    """The edges that lead to a step."""
    edges = enumerate(chains.plan.edges)
    return [_edge(chains, conditions, n, edge) for n, edge in edges if chains.plan.positions[edge.target].symbols]


def _edge(chains: ChainStore, conditions: Conditions, number: int, edge: PlannedEdge) -> RowEdge:
    plan, layout = chains.plan, chains.layout
    target, blockers = plan.positions[edge.target], layout.closed_masks(edge.blockers)
    return RowEdge(
        *_crossing(chains, edge),
        number,
        edge.source,
        edge.target,
        target.symbols,
        _indexes(plan, edge.source).index(edge.key),
        tuple(target.scope.index(variable) for variable in edge.key),
        tuple((place, variable) for place, variable in enumerate(target.scope) if variable not in edge.key),
        edge.operator is Contiguity.STRICT,
        edge.closes,
        *layout.closed_at(edge.place),
        blockers.get(col.CLOSED, 0),
        tuple((column, mask) for column, mask in blockers.items() if column != col.CLOSED),
        layout.closed[1:],
        tuple((target.scope.index(v), v, column) for v, column in layout.told.items() if v in target.scope),
        tuple(layout.marker(marker) for marker in target.markers),
        tuple(layout.inside(domain) for domain in target.inside),
        tuple(layout.own),
        tuple(layout.left(r) for r in edge.leaves if r in plan.possessive),
        tuple(layout.extension(r) for r in edge.leaves if r in chains.extensions.free),
        conditions.decided(target.arriving, edge, patient=True),
        tuple((layout.clock(clock), limit, clock not in edge.starts) for clock, limit in edge.timed),
        edge.limited,
    )


def row_opening(chains: ChainStore, edge: PlannedEdge) -> RowOpening:
    """An edge that leads to an ALL."""
    unordered = chains.plan.unordered[chains.plan.positions[edge.target].any_order]
    return RowOpening(
        *_crossing(chains, edge),
        tuple(member.start for member in unordered.members),
        tuple(map(chains.layout.clock, edge.starts)),
        chains.layout.clock(unordered.clock) if unordered.clock != NONE else NONE,
        edge.limited,
    )


def able(edge: RowCrossing, row: Sequence[int]) -> bool:
    """True if the repetitions of a run allow an edge."""
    for column, bound in edge.at_least:
        if row[column] < bound:
            return False
    return all(row[column] < bound for column, bound in edge.below)


def unbounded(edge: RowEdge, row: Sequence[int]) -> bool:
    """True if neither the repetitions of a run nor an edge of `beyond` that it has taken keep it from an edge."""
    return able(edge, row) and not any(row[column] & mask for column, mask in edge.beyond)


def cross(edge: RowCrossing, row: list[int], old: Sequence[int], number: int) -> None:
    """Notes in a new row what an edge does to repetitions and iterations of the run with this row and number."""
    for column in edge.loops:
        row[column] += 1
    for count, entry, before in edge.enters:
        row[count], row[entry] = 1, number if before == NONE else old[before]
    for inside, previous in edge.begins:
        row[previous] = old[inside]
    for column in edge.again:
        row[column] = number
    for column in edge.anew:
        row[column] = NONE


def _indexes(plan: Plan, position: int) -> tuple[tuple[int, ...], ...]:
    """The join keys of the edges from a position to a step, each once."""
    return tuple(dict.fromkeys(plan.edges[edge].key for edge in plan.positions[position].onward))


def _crossing(
    chains: ChainStore, edge: PlannedEdge
) -> tuple[
    Bounds, Bounds, Bounds, tuple[int, ...], tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...], int,
    tuple[int, ...], tuple[int, ...], tuple[int, ...],
]:  # fmt: skip
    """The fields of RowCrossing."""
    plan, layout, loops = chains.plan, chains.layout, (edge.loop,) if edge.loop != NONE else ()
    at_most = [(layout.count(loop), plan.repetitions[loop].at_most) for loop in loops]
    entry = layout.entry(edge.loop) if loops else NONE
    return (
        _leaving(chains, edge.leaves),
        tuple((column, most) for column, most in at_most if most is not None),
        tuple((variable, entry) for variable in edge.forgets),
        tuple(map(layout.count, loops)),
        tuple((layout.count(repetition), layout.entry(repetition), entry) for repetition in edge.enters),
        tuple((layout.inside(d), layout.previous(d)) for d in plan.positions[edge.target].inside & edge.begun),
        ENDLESS_NS if edge.limit is None else edge.limit,
        tuple(map(layout.clock, edge.deadlines)),
        tuple(layout.begun(loop) for loop in loops if loop in plan.possessive),
        tuple(layout.begun(repetition) for repetition in edge.enters if repetition in plan.possessive),
    )


def _leaving(chains: ChainStore, repetitions: tuple[int, ...]) -> Bounds:
    """The counts that repetitions must have reached to be left."""
    return tuple((chains.layout.count(r), chains.plan.repetitions[r].at_least) for r in repetitions)
