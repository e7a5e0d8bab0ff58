"""The automaton of a pattern expression: a position automaton (Glushkov), hence free of ε.

A position is one occurrence of a step; a run *at* a position has just taken it. An edge says which
step may come next, under which contiguity, which negations are thereby passed and which repetitions
are entered, iterated or left. NFA^scep of G Section 6.1 with its edge labels (streams, operator,
pattern) on the target position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, product

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, Limit, limits_of, steps
from automata.values import NONE

START = 0
"""The position of the run that has taken nothing yet."""
_ALTERNATIVES_MAX = 4096
"""Optional steps that open the branches of one choice multiply; this many combinations are too many."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A negation that lies on an edge.

    negation    its number
    at_source   it stands in the iteration of the edge's source (else: of its target)
    """

    negation: int
    at_source: bool


@dataclass(frozen=True, slots=True)
class Position:
    """A state. `symbols` is empty for START, for the start of an ALL member, and for an ALL itself.

    any_order   the number of that ALL; NONE: it is none
    """

    symbols: tuple[int, ...]
    repetitions: tuple[int, ...]
    any_order: int


@dataclass(frozen=True, slots=True)
class Edge:
    """From having taken `source` to taking `target`.

    rivals      edges of the same source that are "this step" too, for skip-till-next (specification 3.2)
    leaves      repetitions that it leaves, innermost first
    loop        the repetition that it then begins another iteration of; NONE: of none
    enters      repetitions that it enters at last, outermost first
    limit       of the operator, in nanoseconds: of the time since the last event; None: there is none
    starts      the clocks that it starts anew
    """

    source: int
    target: int
    operator: Contiguity
    rivals: tuple[int, ...]
    passed: tuple[Passed, ...]
    leaves: tuple[int, ...]
    loop: int
    enters: tuple[int, ...]
    limit: int | None
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Accept:
    """A position at which an expression (a match, the match of an ALL member) may end; `leaves` as for Edge."""

    position: int
    passed: tuple[Passed, ...]
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """Bounds and contiguity of one repetition, the positions inside it, and the ends of an iteration."""

    at_least: int
    at_most: int | None
    contiguity: Contiguity
    positions: frozenset[int]
    possessive: bool
    ends: tuple[Accept, ...]


@dataclass(frozen=True, slots=True)
class NegatedPart:
    """A negation: what must not happen, and the repetitions around it, outermost first.

    limit   it looks only at events so long, in nanoseconds, after the last event before it (where there is none: before
            the first one after it); None: at all
    """

    expression: Expression
    repetitions: tuple[int, ...]
    limit: int | None


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock of limits (as of timed automata): a run keeps the last time at which it may take an event inside.

    limit       of a limited step: so long, in nanoseconds, after its first event; NONE: an operator's limit before an
                ALL, told by the edge that opens it
    positions   inside the limited step; the starts of the ALL's members
    """

    limit: int
    positions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an ALL: its own start, and where it may end."""

    start: int
    accepts: tuple[Accept, ...]
    positions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Unordered:
    """An ALL: the position taken once all members are there.

    clock   of the limit of an operator before it; NONE: there is none
    """

    position: int
    members: tuple[Member, ...]
    clock: int


@dataclass(frozen=True, slots=True)
class Automaton:
    """Positions and edges; `outgoing[p]` are the numbers of the edges that leave p."""

    positions: tuple[Position, ...]
    edges: tuple[Edge, ...]
    outgoing: tuple[tuple[int, ...], ...]
    accepts: tuple[Accept, ...]
    repetitions: tuple[Loop, ...]
    negations: tuple[NegatedPart, ...]
    unordered: tuple[Unordered, ...]
    clocks: tuple[Clock, ...]

    def targets(self, edge: Edge) -> tuple[int, ...]:
        """The positions that an edge leads to: to an ALL, those of its members' starts as well."""
        number = self.positions[edge.target].any_order
        starts = (member.start for member in self.unordered[number].members) if number != NONE else ()
        return (edge.target, *starts)


def build_automaton(expression: Expression) -> Automaton:
    """The automaton of an expression; linear in its size but for optional steps that open `|` branches."""
    builder = _Builder()
    fragment = builder.fragment(expression, ())
    builder.connect(Accept(START, (), ()), _unconstrained(fragment.firsts), Contiguity.ANY)
    outgoing: list[list[int]] = [[] for _ in builder.positions]
    for number, edge in enumerate(builder.edges):
        outgoing[edge.source].append(number)
    builder.limit_unordered()
    return Automaton(
        tuple(builder.positions),
        tuple(builder.edges),
        tuple(tuple(numbers) for numbers in outgoing),
        fragment.lasts,
        tuple(repetition for repetition in builder.repetitions if repetition is not None),
        tuple(builder.negations),
        tuple(builder.unordered),
        tuple(clock for clock in builder.clocks if clock is not None),
    )


@dataclass(frozen=True, slots=True)
class _First:
    """A way into a fragment. `key` survives copying and names it among its rivals."""

    key: int
    position: int
    operator: Contiguity | None = None
    rivals: tuple[int, ...] = ()
    passed: tuple[Passed, ...] = ()
    enters: tuple[int, ...] = ()
    limit: int | None = None
    starts: tuple[int, ...] = ()


_Group = tuple[_First, ...]
"""First steps that are rivals of each other under one operator."""


@dataclass(frozen=True, slots=True)
class _Fragment:
    """firsts: alternatives that do not see each other; skips: the negations passed by taking nothing."""

    firsts: tuple[_Group, ...]
    lasts: tuple[Accept, ...]
    skips: tuple[tuple[int, ...], ...] = ()


class _Builder:
    def __init__(self) -> None:
        self.positions: list[Position] = [Position((), (), NONE)]
        self.edges: list[Edge] = []
        self.repetitions: list[Loop | None] = []
        self.negations: list[NegatedPart] = []
        self.unordered: list[Unordered] = []
        self.clocks: list[Clock | None] = []
        self._keys: Iterator[int] = count()
        self._alone: dict[Edge, int] = {}

    def fragment(self, node: Expression, around: tuple[int, ...]) -> _Fragment:
        match node:
            case nodes.Step() | nodes.Conjunction():
                return self._single(Position(tuple(step.symbol for step, _ in steps(node)), around, NONE))
            case nodes.Sequence():
                return self._sequence(node, around)
            case nodes.Choice(branches):
                return self._choice([self.fragment(branch, around) for branch in branches])
            case nodes.AnyOrder(members):
                return self._any_order(members, around)
            case nodes.Repetition():
                return self._repetition(node, around)
            case nodes.Optional(inner):
                taken = self.fragment(inner, around)
                absent = self._negation(nodes.without_possession(inner), None, around)
                return replace(taken, skips=(*taken.skips, (absent,)))
            case nodes.Negation(inner, limit=limit):
                return _Fragment((), (), ((self._negation(inner, limit, around),),))
            case nodes.Limited(inner, limit):
                return self._limited(inner, limit, around)

    def limit_unordered(self) -> None:
        """Gives a clock to every ALL that an operator with a limit stands before; of nested ones, outer ones first."""
        timed: set[int] = set()
        for number, unordered in enumerate(self.unordered):
            openings = [edge for edge in self.edges if edge.target == unordered.position]
            if any(edge.limit is not None or edge.source in timed for edge in openings):
                starts = frozenset(member.start for member in unordered.members)
                timed |= starts
                self.unordered[number] = replace(unordered, clock=len(self.clocks))
                self.clocks.append(Clock(NONE, starts))

    def connect(
        self, last: Accept, firsts: tuple[_Group, ...], operator: Contiguity, loop: int = NONE, limit: int | None = None
    ) -> None:
        """Edges from a way out to every way in; an edge without rivals that is already there serves again."""
        for group in firsts:
            numbers: dict[int, int] = {}
            for first in group:
                edge = Edge(
                    last.position,
                    first.position,
                    first.operator or operator,
                    (),
                    last.passed + first.passed,
                    last.leaves,
                    loop,
                    first.enters,
                    first.limit if first.operator else limit,
                    first.starts,
                )
                numbers[first.key] = self._edge(edge, alone=len(group) == 1 or edge.operator is not Contiguity.NEXT)
            for first in group:
                number = numbers[first.key]
                rivals = first.rivals if first.operator else tuple(key for key in numbers if key != first.key)
                if self.edges[number].operator is Contiguity.NEXT and rivals:
                    self.edges[number] = replace(self.edges[number], rivals=tuple(numbers[key] for key in rivals))

    def _edge(self, edge: Edge, alone: bool) -> int:
        if alone and edge in self._alone:
            return self._alone[edge]
        self.edges.append(edge)
        if alone:
            self._alone[edge] = len(self.edges) - 1
        return len(self.edges) - 1

    def _single(self, position: Position) -> _Fragment:
        number = len(self.positions)
        self.positions.append(position)
        return _Fragment(((_First(next(self._keys), number),),), (Accept(number, (), ()),))

    def _negation(self, inner: Expression, limit: Limit | None, around: tuple[int, ...]) -> int:
        self.negations.append(NegatedPart(inner, around, limit.size if limit else None))
        return len(self.negations) - 1

    def _limited(self, inner: Expression, limit: Limit, around: tuple[int, ...]) -> _Fragment:
        number, before = len(self.clocks), len(self.positions)
        self.clocks.append(None)
        fragment = self.fragment(inner, around)
        self.clocks[number] = Clock(limit.size, frozenset(range(before, len(self.positions))))
        return replace(
            fragment,
            firsts=tuple(
                tuple(replace(first, starts=(number, *first.starts)) for first in group) for group in fragment.firsts
            ),
        )

    def _sequence(self, node: nodes.Sequence[int], around: tuple[int, ...]) -> _Fragment:
        firsts: list[_Group] = []
        dangling: list[Accept] = []
        leads: list[tuple[int, ...]] = [()]
        before = [(None, None), *zip(node.operators, map(_size, limits_of(node)), strict=True)]
        for item, (operator, limit) in zip(node.items, before, strict=True):
            fragment = self.fragment(item, around)
            firsts += [_led(group, lead, operator, limit) for lead in leads for group in fragment.firsts]
            for last in dangling:
                assert operator is not None
                self.connect(last, fragment.firsts, operator, limit=limit)
            skipped = [_skip(last, skip) for last in dangling for skip in fragment.skips]
            dangling = [*fragment.lasts, *skipped]
            leads = [lead + skip for lead in leads for skip in fragment.skips]
        return _Fragment(tuple(firsts), tuple(dangling), tuple(leads))

    def _choice(self, branches: list[_Fragment]) -> _Fragment:
        combinations = product(*(branch.firsts for branch in branches))
        firsts: list[_Group] = []
        for combination in combinations:
            assert len(firsts) < _ALTERNATIVES_MAX, "too many optional steps open the branches of one choice"
            firsts.append(self._renewed(tuple(first for group in combination for first in group)))
        return _Fragment(tuple(firsts), tuple(last for branch in branches for last in branch.lasts))

    def _renewed(self, group: _Group) -> _Group:
        keys = {first.key: next(self._keys) for first in group}
        return tuple(
            replace(first, key=keys[first.key], rivals=tuple(keys[rival] for rival in first.rivals)) for first in group
        )

    def _repetition(self, node: nodes.Repetition[int], around: tuple[int, ...]) -> _Fragment:
        assert node.contiguity is not None, node
        number = len(self.repetitions)
        self.repetitions.append(None)
        before = len(self.positions)
        inner = self.fragment(node.inner, (*around, number))
        positions = frozenset(range(before, len(self.positions)))
        possessive = node.possessive and node.at_most != node.at_least
        bounds = node.at_least, node.at_most
        self.repetitions[number] = Loop(*bounds, node.contiguity, positions, possessive, inner.lasts)
        if node.at_most != 1:
            for last in inner.lasts:
                self.connect(last, inner.firsts, node.contiguity, number)
        firsts = tuple(
            tuple(replace(first, enters=(number, *first.enters)) for first in group) for group in inner.firsts
        )
        return _Fragment(firsts, tuple(replace(last, leaves=(*last.leaves, number)) for last in inner.lasts))

    def _any_order(self, members: tuple[Expression, ...], around: tuple[int, ...]) -> _Fragment:
        fragment = self._single(Position((), around, len(self.unordered)))
        position = fragment.lasts[0].position
        number = len(self.unordered)
        self.unordered.append(Unordered(position, (), NONE))
        built = tuple(self._member(member, around) for member in members)
        self.unordered[number] = Unordered(position, built, NONE)
        return fragment

    def _member(self, node: Expression, around: tuple[int, ...]) -> Member:
        start = len(self.positions)
        self.positions.append(Position((), around, NONE))
        inner = self.fragment(node, around)
        self.connect(Accept(start, (), ()), _unconstrained(inner.firsts), Contiguity.ANY)
        return Member(start, inner.lasts, frozenset(range(start, len(self.positions))))


def _size(limit: Limit | None) -> int | None:
    return limit.size if limit else None


def _led(group: _Group, lead: tuple[int, ...], operator: Contiguity | None, limit: int | None) -> _Group:
    """The group as a way into a chain, after the negations `lead` and the operator written before it."""
    passed = tuple(Passed(negation, at_source=False) for negation in lead)
    mates = tuple(first.key for first in group)
    return tuple(
        replace(
            first,
            passed=passed + first.passed,
            operator=first.operator or operator,
            limit=first.limit if first.operator else limit,
            rivals=first.rivals
            if first.operator or operator is None
            else tuple(key for key in mates if key != first.key),
        )
        for first in group
    )


def _skip(last: Accept, skip: tuple[int, ...]) -> Accept:
    return replace(last, passed=last.passed + tuple(Passed(negation, at_source=True) for negation in skip))


def _unconstrained(firsts: tuple[_Group, ...]) -> tuple[_Group, ...]:
    """The ways in where no step comes before: an operator behind leading negations has nothing to hold between."""
    return tuple(tuple(replace(first, operator=None, rivals=(), limit=None) for first in group) for group in firsts)
