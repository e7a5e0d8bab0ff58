"""Everything a query's matches are made of, for one partition: events, solutions, order, window."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sparql_gpm.pattern import Expression
from sparql_gpm.terms import Term
from spaseq.lang import ast
from tests.reference.gpm import Condition, Gpm, gpms, knowledge, match_conditions, solve, solve_using
from tests.reference.graph import Solution
from tests.reference.shape import (
    Ancestry,
    Loop,
    Maybe,
    Never,
    Node,
    Path,
    ancestry,
    children,
    names,
    shape,
    takes,
    unpossessed,
)
from tests.reference.stream import Event, Events, Triples, before
from tests.reference.view import Entry
from tests.reference.window import Frame


@dataclass(frozen=True, slots=True)
class World:
    """One query over its events, in one partition.

    waiting     the FILTERs beside the DEFINEs that are decided as soon as they wait for nothing
    at_end      those that are decided when a match is complete
    solutions   [[P]] per step name and event
    using       that of USING per event; None without it
    given       the partition's variables, bound before the first step
    substream   the events that `,`, STRICT and EVENTS look at
    loops       per variable, the innermost repetitions around the steps that bind it
    negated     per place of `!` and `?`, what must not occur
    """

    query: ast.Query
    root: Node
    gpms: Mapping[str, Gpm]
    waiting: Sequence[Condition]
    at_end: Sequence[Expression]
    named: Mapping[str, Triples]
    events: Events
    solutions: Mapping[str, Mapping[Event, list[Solution]]]
    using: Mapping[Event, list[Solution]] | None
    given: Mapping[str, Term]
    substream: Events
    frame: Frame
    lines: Ancestry
    loops: Mapping[str, frozenset[int]]
    negated: Mapping[int, Node]
    entries: dict[tuple[str, Event, Solution, int, Path], Entry] = field(default_factory=dict)

    def contiguous(self, left: Events, right: Events) -> bool:
        """`,`: no event f' of any stream declared by the query has e < f' < f."""
        return not any(before(left, (event,)) and before((event,), right) for event in self.substream)

    def candidates(self, step: str, negated: bool) -> list[tuple[Event, Solution]]:
        """The (event, ν) that a step can take; without USING a positive one must bind the partition's variables."""
        return [
            (event, solution)
            for event, mappings in self.solutions[step].items()
            for solution in mappings
            if negated or self.using is not None or all(name in dict(solution) for name in self.given)
        ]

    def entry(self, step: str, event: Event, solution: Solution, place: int, path: Path) -> Entry:
        """The one Entry value for these parts."""
        return self.entries.setdefault((step, event, solution, place, path), Entry(step, event, solution, place, path))


def whole_world(query: ast.Query, events: Events, kb: Mapping[str, Triples]) -> World:
    """The world of a query without partitions: every event counts, its place is its position."""
    root = shape(query.sequence)
    used, named = gpms(query, root), knowledge(query, kb)
    waiting, at_end = match_conditions(query)
    return World(
        query=query,
        root=root,
        gpms=used,
        waiting=waiting,
        at_end=at_end,
        named=named,
        events=events,
        solutions={name: solve(gpm, events, named) for name, gpm in used.items()},
        using=None if query.using is None else solve_using(query.using, events, named),
        given={},
        substream=events,
        frame=Frame(query.window, lambda event: Fraction(event.position)),
        lines=ancestry(root),
        loops=_loops(root, used),
        negated=_negated(root),
    )


def partitions(world: World) -> list[World]:
    """One world per value of the partition's variables, in a fixed order; the world itself without PARTITION BY."""
    variables = world.query.partition
    if not variables:
        return [world]
    if world.using is not None:
        found = [solution for mappings in world.using.values() for solution in mappings]
    else:
        found = [solution for step in names(world.root) for _, solution in world.candidates(step, negated=True)]
    bound = [dict(solution) for solution in found if all(name in dict(solution) for name in variables)]
    keys = {tuple(solution[name] for name in variables) for solution in bound}
    return [_partition(world, dict(zip(variables, key, strict=True))) for key in sorted(keys, key=repr)]


def _partition(world: World, given: Mapping[str, Term]) -> World:
    """The substream of events for which some GPM used in SEQ has a solution with that value; with USING its pattern.

    With USING nothing outside of it is looked at.
    """
    telling = world.solutions.values() if world.using is None else (world.using,)

    def belongs(event: Event) -> bool:
        return any(
            all(dict(solution).get(name) == term for name, term in given.items())
            for per_event in telling
            for solution in per_event.get(event, ())
        )

    solutions = world.solutions
    if world.using is not None:
        solutions = {
            name: {event: mappings for event, mappings in per_event.items() if belongs(event)}
            for name, per_event in world.solutions.items()
        }
    substream = tuple(event for event in world.events if belongs(event))
    positions = [event.position for event in substream]

    def place(event: Event) -> Fraction:
        """An event outside counts as standing right before the next one in the substream."""
        rank = bisect_left(positions, event.position)
        inside = rank < len(positions) and positions[rank] == event.position
        return Fraction(rank) if inside else rank - Fraction(1, 2)

    frame = Frame(world.query.window, place)
    return replace(world, solutions=solutions, given=given, substream=substream, frame=frame, entries={})


def _loops(root: Node, used: Mapping[str, Gpm]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    lines = ancestry(root)
    for take in takes(root, positive=False):
        around = [node.place for node, _ in lines[take.place] if isinstance(node, Loop)]
        for members in take.alternatives if around else ():
            for name in members:
                for variable in used[name].scope:
                    found.setdefault(variable, set()).add(around[-1])
    return {variable: frozenset(places) for variable, places in found.items()}


def _negated(node: Node) -> dict[int, Node]:
    found = {node.place: unpossessed(node.inner)} if isinstance(node, Never | Maybe) else {}
    for child in children(node):
        found |= _negated(child)
    return found
