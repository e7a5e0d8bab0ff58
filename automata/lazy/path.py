"""The paths through an automaton that a lazy evaluator follows, one chain each (K Sections 4 and 5.1).

Under skip-till-any an automaton is the union of its paths from start to accept: the multi-chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from automata.plan.automaton import START, Accept
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.plan.refusals import Refusal, first_refusal
from automata.values import NONE

PATHS_MAX = 64
"""Optional steps and branches multiply; beyond this many paths the runs of one automaton are the better plan."""


class NotLazy(Exception):
    """The reason why the lazy evaluators cannot run a program, in words that follow "because"."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    edge, loop      the edge that takes it, and the one that takes its next iteration (NONE: it is not repeated)
    position        of the automaton
    at_least        iterations
    """

    edge: int
    loop: int
    position: int
    symbols: tuple[int, ...]
    at_least: int = 1


@dataclass(frozen=True, slots=True)
class AllOf:
    """An ALL, opened by `edge`; each member a path of its own."""

    edge: int
    unordered: int
    members: tuple[tuple[Item, ...], ...]


Item = Step | AllOf


@dataclass(frozen=True, slots=True)
class Path:
    """A path from start to the automaton's accept with this number."""

    items: tuple[Item, ...]
    accept: int


def paths(plan: Plan) -> tuple[Path, ...]:
    """All paths; raises NotLazy where the automaton is not the union of a few chains under skip-till-any."""
    _check(plan)
    found = []
    for items, accept in _Walk(plan).paths(START, plan.accepts):
        found.append(Path(items, accept))
        if len(found) > PATHS_MAX:
            raise NotLazy(f"its optional steps and branches make more than {PATHS_MAX} chains")
    return tuple(found)


def walk(items: Sequence[Item]) -> Iterator[Item]:
    """Every item of a path, those of the members of an ALL included."""
    for item in items:
        yield item
        if isinstance(item, AllOf):
            for member in item.members:
                yield from walk(member)


def _check(plan: Plan) -> None:
    refusal = first_refusal(plan, Refusal.HOP, Refusal.POSSESSIVE)
    if refusal is not None:
        raise NotLazy(refusal)
    starts = {START, *(member.start for unordered in plan.unordered for member in unordered.members)}
    for edge in plan.edges:
        if edge.source not in starts and edge.operator is not Contiguity.ANY:
            where = "between the iterations of a step" if edge.loop != NONE else "between two steps"
            raise NotLazy(f"'{edge.operator.value}' stands {where}: buffered events are joined under ':' only")
    for repetition in plan.repetitions:
        inside = [plan.positions[position] for position in repetition.positions]
        if any(position.any_order != NONE for position in inside):
            raise NotLazy("an ALL( ) is repeated")
        if len(inside) > 1:
            raise NotLazy("a group of several steps is repeated")
        if len(inside[0].symbols) > 1:
            raise NotLazy("a conjunction is repeated")
        if len(inside[0].repetitions) > 1:
            raise NotLazy("a repetition is repeated")


class _Walk:
    """Ways from a position to one of some accepts."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def paths(self, source: int, accepts: Sequence[Accept]) -> Iterator[tuple[tuple[Item, ...], int]]:
        """Each path, and the number of the accept that it ends at."""
        for number, accept in enumerate(accepts):
            if accept.position == source:
                yield (), number
        for number in self._plan.positions[source].outgoing:
            edge = self._plan.edges[number]
            if edge.loop == NONE:
                for item in self._items(number):
                    for rest, accept_number in self.paths(edge.target, accepts):
                        yield (item, *rest), accept_number

    def _items(self, number: int) -> Iterator[Item]:
        edge = self._plan.edges[number]
        position = self._plan.positions[edge.target]
        if position.any_order == NONE:
            yield self._step(number)
            return
        unordered = self._plan.unordered[position.any_order]
        members = [[items for items, _ in self.paths(member.start, member.accepts)] for member in unordered.members]
        for chosen in product(*members):
            yield AllOf(number, position.any_order, chosen)

    def _step(self, number: int) -> Step:
        target = self._plan.edges[number].target
        position = self._plan.positions[target]
        if not position.repetitions:
            return Step(number, NONE, target, position.symbols)
        repetition = self._plan.repetitions[position.repetitions[-1]]
        loop = next((n for n in position.outgoing if self._plan.edges[n].target == target), NONE)
        return Step(number, loop, target, position.symbols, repetition.at_least)
