"""The places of a sequence: its nodes, numbered in the order of the text (specification 2, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, product

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, limits_of

Path = tuple[tuple[int, int], ...]
"""(number of a repetition's place, iteration from 0), outermost first: where in the repetitions something stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node of the sequence.

    node    of the normal form
    items   the places directly inside
    first   of a repetition: what its first iteration matches, once optional steps are settled
    symbols of a step: those that it takes at one time, in the order written
    """

    number: int
    node: Expression
    items: tuple[Place, ...] = ()
    first: Place | None = None
    symbols: tuple[int, ...] = ()


Lines = Mapping[int, tuple[tuple[Place, int], ...]]
"""Per number, the (place, index of the item) from the root down to it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is to be taken next: its place, its iterations, and the limit of the operator before it."""

    place: Place
    path: Path
    limit: int | None


@dataclass(frozen=True, slots=True)
class Before:
    """The operator before a step, with its limit, and all that "this step" means for `;`."""

    operator: Contiguity | None
    limit: int | None
    rivals: tuple[Step, ...]

    def unlimited(self) -> Before:
        """The same without its limit."""
        return replace(self, limit=None, rivals=tuple(replace(step, limit=None) for step in self.rivals))


NOTHING = Before(None, None, ())


def places_of(sequence: Expression) -> Place:
    """The root of a sequence in normal form."""
    numbers = count()

    def place(node: Expression) -> Place:
        number = next(numbers)
        if isinstance(node, nodes.Step | nodes.Conjunction):
            return Place(number, node, symbols=tuple(step.symbol for step, _ in nodes.steps(node)))
        return Place(number, node, tuple(map(place, nodes.children(node))))

    return place(sequence)


def is_step(place: Place) -> bool:
    """True for a step, or several at one time."""
    return isinstance(place.node, nodes.Step | nodes.Conjunction)


def lines_of(root: Place) -> Lines:
    """The way down to every place."""
    found: dict[int, tuple[tuple[Place, int], ...]] = {}

    def visit(place: Place, above: tuple[tuple[Place, int], ...]) -> None:
        found[place.number] = above
        for index, item in enumerate(place.items):
            visit(item, (*above, (place, index)))

    visit(root, ())
    return found


def steps_of(place: Place, positive: bool = True) -> Iterator[Place]:
    """The steps in the order written; those inside `!` only when `positive` is False."""
    if is_step(place):
        yield place
    elif not (positive and isinstance(place.node, nodes.Negation)):
        for item in place.items:
            yield from steps_of(item, positive)


def variants(place: Place) -> list[Place]:
    """The patterns of which it is the union: `A?` is `A`, or `A!` in its place.

    A repetition is settled up to its first iteration, a member of ALL( ) when it is matched.
    """
    match place.node:
        case nodes.Optional(inner):
            absent = nodes.Negation(nodes.without_possession(inner))
            return [*variants(place.items[0]), Place(place.number, absent, place.items)]
        case nodes.Sequence() | nodes.Choice():
            return [replace(place, items=chosen) for chosen in product(*map(variants, place.items))]
        case nodes.Limited():
            return [replace(place, items=(chosen,)) for chosen in variants(place.items[0])]
        case nodes.Repetition():
            return [replace(place, first=first) for first in variants(place.items[0])]
    return [place]


def negated_places(root: Place) -> dict[int, Place]:
    """Per number of a `!` or `?`, what must not occur."""
    found = {}
    if isinstance(root.node, nodes.Negation | nodes.Optional):
        found[root.number] = _unpossessed(root.items[0])
    for item in root.items:
        found |= negated_places(item)
    return found


def _unpossessed(place: Place) -> Place:
    return replace(
        place, node=nodes.without_possession(place.node), items=tuple(_unpossessed(item) for item in place.items)
    )


def sizes_of(sequence: nodes.Sequence[int]) -> tuple[int | None, ...]:
    """The limit of the operator before each item, in nanoseconds."""
    return (None, *(None if limit is None else limit.size for limit in limits_of(sequence)))


def first_steps(place: Place, path: Path, limit: int | None) -> tuple[Step, ...]:
    """The first positive steps of a settled place; all branches of a choice.

    limit   of the operator before the place; one inside stands before its own step alone
    """
    match place.node:
        case nodes.Step() | nodes.Conjunction():
            return (Step(place, path, limit),)
        case nodes.Sequence():
            limits = (limit, *sizes_of(place.node)[1:])
            found = (first_steps(item, path, own) for item, own in zip(place.items, limits, strict=True))
            return next((steps for steps in found if steps), ())
        case nodes.Choice():
            return tuple(step for branch in place.items for step in first_steps(branch, path, limit))
        case nodes.Repetition():
            return first_steps(place.first or place.items[0], (*path, (place.number, 0)), limit)
        case nodes.Limited():
            return first_steps(place.items[0], path, limit)
    return ()


def followers(lines: Lines, at: int, path: Path, asking: Path, within: int | None) -> Iterator[Place]:
    """The steps that can still follow a place, in the iterations `asking` or outside them (specification 3.1).

    at, path    the step taken last and its iterations
    within      the number of the `!` whose group is looked for: nothing outside follows
    """
    here, own = dict(path), dict(asking)
    for place, index in reversed(lines[at]):
        if place.number == within:
            return
        around = [above.number for above, _ in lines[place.number] if isinstance(above.node, nodes.Repetition)]
        if any(loop in own and own[loop] != here[loop] for loop in around):
            continue
        match place.node:
            case nodes.Sequence():
                for item in place.items[index + 1 :]:
                    yield from steps_of(item)
            case nodes.AnyOrder():
                for other, member in enumerate(place.items):
                    if other != index:
                        yield from steps_of(member)
            case nodes.Repetition(at_most=at_most):
                if place.number not in own and (at_most is None or here[place.number] + 1 < at_most):
                    yield from steps_of(place.items[0])


def repetitions_around(root: Place, scopes: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Per variable, the innermost repetitions around the steps that bind it; `scopes`: symbol → its variables."""
    lines, found = lines_of(root), dict[int, set[int]]()
    for step in steps_of(root, positive=False):
        around = [above.number for above, _ in lines[step.number] if isinstance(above.node, nodes.Repetition)]
        for variable in (v for symbol in step.symbols for v in scopes[symbol] if around):
            found.setdefault(variable, set()).add(around[-1])
    return {variable: frozenset(numbers) for variable, numbers in found.items()}
