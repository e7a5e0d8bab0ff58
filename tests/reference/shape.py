"""What is written in SEQ( ), with every default filled in and every place numbered (specification 2, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, product

from automata.plan import expression as syntax
from automata.plan.expression import Contiguity
from spaseq.lang.ast import Expr

Path = tuple[tuple[int, int], ...]
"""(place of a repetition, iteration counted from 0), outermost first: where in the repetitions something stands."""


@dataclass(frozen=True, slots=True)
class Take:
    """One positive step: a set of events at one time, one per member of one alternative.

    `A` is ((A,),), `A & B` is ((A, B),), `(A | B) & C` is ((A, C), (B, C)); `written` are A, B, C in this order.
    """

    alternatives: tuple[tuple[str, ...], ...]
    written: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Series:
    """Items in order; operators[i], with limits[i], is written before items[i], the first is None."""

    items: tuple[Node, ...]
    operators: tuple[Contiguity | None, ...]
    limits: tuple[int | None, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Either:
    """`X | Y`."""

    branches: tuple[Node, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition; `first` is what its first iteration matches once the optional steps of that are settled."""

    first: Node
    inner: Node
    at_least: int
    at_most: int | None
    between: Contiguity
    possessive: bool
    place: int


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """`ALL(A, B, …)`."""

    members: tuple[Node, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Never:
    """`A!`, `A! WITHIN limit`."""

    inner: Node
    place: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Maybe:
    """`A?`, before `variants` has settled it."""

    inner: Node
    place: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """`B+ WITHIN limit`."""

    inner: Node
    limit: int
    place: int


Node = Take | Series | Either | Loop | AnyOrder | Never | Maybe | Bounded


def shape(sequence: Expr) -> Node:
    """The sequence with the contiguity of each repetition filled in.

    Not written, it is `;` if no positive step is written before the repetition, else `,` (3.2).
    """
    places = count()
    return _shape(sequence, False, places)


def _shape(expr: Expr, preceded: bool, places: Iterator[int]) -> Node:
    place = next(places)
    match expr:
        case syntax.Step(name):
            return Take(((name,),), (name,), place)
        case syntax.Conjunction():
            return Take(tuple(_alternatives(expr)), tuple(_written(expr)), place)
        case syntax.Sequence(items, operators):
            nodes: list[Node] = []
            for item in items:
                nodes.append(_shape(item, preceded, places))
                preceded = preceded or _has_positive(nodes[-1])
            limits = (limit.size if limit else None for limit in syntax.limits_of(expr))
            return Series(tuple(nodes), (None, *operators), (None, *limits), place)
        case syntax.Choice(branches):
            return Either(tuple(_shape(branch, preceded, places) for branch in branches), place)
        case syntax.AnyOrder(members):
            return AnyOrder(tuple(_shape(member, preceded, places) for member in members), place)
        case syntax.Repetition(inner, at_least, at_most, contiguity, possessive):
            between = contiguity or (Contiguity.STRICT if preceded else Contiguity.NEXT)
            body = _shape(inner, preceded, places)
            return Loop(body, body, at_least, at_most, between, possessive, place)
        case syntax.Optional(inner):
            return Maybe(_shape(inner, preceded, places), place)
        case syntax.Negation(inner, limit=limit):
            return Never(_shape(inner, preceded, places), place, limit.size if limit else None)
        case syntax.Limited(inner, limit):
            return Bounded(_shape(inner, preceded, places), limit.size, place)


def _alternatives(expr: Expr) -> Iterator[tuple[str, ...]]:
    """`(A | B) & C` is A & C or B & C."""
    match expr:
        case syntax.Step(name):
            yield (name,)
        case syntax.Conjunction(members):
            for combination in product(*(tuple(_alternatives(member)) for member in members)):
                yield tuple(name for names in combination for name in names)
        case syntax.Choice(branches):
            for branch in branches:
                yield from _alternatives(branch)
        case syntax.Sequence((only,)):
            yield from _alternatives(only)
        case _:
            raise AssertionError(f"not a member of &: {expr}")


def _written(expr: Expr) -> Iterator[str]:
    """The steps of a conjunction, from left to right."""
    match expr:
        case syntax.Step(name):
            yield name
        case syntax.Conjunction(parts) | syntax.Choice(parts) | syntax.Sequence(parts):
            for part in parts:
                yield from _written(part)
        case _:
            raise AssertionError(f"not a member of &: {expr}")


def children(node: Node) -> tuple[Node, ...]:
    """The nodes written directly inside."""
    match node:
        case Take():
            return ()
        case Series(items):
            return items
        case Either(branches):
            return branches
        case AnyOrder(members):
            return members
        case Loop(inner=inner) | Never(inner) | Maybe(inner) | Bounded(inner):
            return (inner,)


def takes(node: Node, positive: bool = True) -> Iterator[Take]:
    """The steps in the order written; those inside `!` only when `positive` is False."""
    if isinstance(node, Take):
        yield node
    elif not (positive and isinstance(node, Never)):
        for child in children(node):
            yield from takes(child, positive)


def names(node: Node, positive: bool = True) -> list[str]:
    """The step names in order of first appearance."""
    return list(dict.fromkeys(name for take in takes(node, positive) for name in take.written))


def _has_positive(node: Node) -> bool:
    return next(takes(node), None) is not None


def variants(node: Node) -> list[Node]:
    """`A?` is the union of two patterns, one with `A` and one with `A!` in its place.

    A repetition is settled up to its first iteration, a member of ALL( ) when it is matched.
    """
    match node:
        case Maybe(inner, place):
            return [*variants(inner), Never(inner, place)]
        case Series(items):
            return [replace(node, items=chosen) for chosen in product(*map(variants, items))]
        case Bounded(inner):
            return [replace(node, inner=chosen) for chosen in variants(inner)]
        case Either(branches, place):
            return [Either(chosen, place) for chosen in product(*map(variants, branches))]
        case Loop(inner=inner):
            return [replace(node, first=first) for first in variants(inner)]
    return [node]


def unpossessed(node: Node) -> Node:
    """What is negated: in the `A!` that `A?` stands for a second `+` is ignored."""
    match node:
        case Loop(inner=inner):
            body = unpossessed(inner)
            return replace(node, first=body, inner=body, possessive=False)
        case Series(items=items):
            return replace(node, items=tuple(map(unpossessed, items)))
        case Either(branches=branches):
            return replace(node, branches=tuple(map(unpossessed, branches)))
        case AnyOrder(members=members):
            return replace(node, members=tuple(map(unpossessed, members)))
        case Never(inner=inner) | Maybe(inner=inner) | Bounded(inner=inner):
            return replace(node, inner=unpossessed(inner))
    return node


def firsts(node: Node, path: Path, limit: int | None) -> list[tuple[Take, Path, int | None]]:
    """The first positive steps of a settled node, with where they stand; all branches of a choice.

    limit   of the operator before the node; an operator inside stands before its own step alone
    """
    match node:
        case Take():
            return [(node, path, limit)]
        case Series(items, _, limits):
            own = (limit, *limits[1:])
            return next((found for item, its in zip(items, own, strict=True) if (found := firsts(item, path, its))), [])
        case Either(branches):
            return [found for branch in branches for found in firsts(branch, path, limit)]
        case Loop(first=first, place=place):
            return firsts(first, (*path, (place, 0)), limit)
        case Bounded(inner):
            return firsts(inner, path, limit)
    return []


Ancestry = dict[int, tuple[tuple[Node, int], ...]]
"""Per place, the (node, index of the child taken) from the root down to it."""


def ancestry(root: Node) -> Ancestry:
    """Where every place stands in the sequence."""
    found: Ancestry = {}

    def visit(node: Node, above: tuple[tuple[Node, int], ...]) -> None:
        found[node.place] = above
        for index, child in enumerate(children(node)):
            visit(child, (*above, (node, index)))

    visit(root, ())
    return found


def followers(lines: Ancestry, at: int, path: Path, instance: Path, within: int | None) -> Iterator[str]:
    """The steps that can still follow a place and are in the instance's iterations, or outside them (3.1).

    at          place of what was taken last; `path` its iterations
    instance    the iterations of the step whose condition asks
    within      place of the `!` (or left out `?`) whose group is looked for: nothing outside follows

    Optional steps, untaken branches ahead and the other members of ALL( ) are included.
    """
    here, asking = dict(path), dict(instance)
    for node, index in reversed(lines[at]):
        if node.place == within:
            return
        around = [above.place for above, _ in lines[node.place] if isinstance(above, Loop)]
        if any(loop in asking and asking[loop] != here[loop] for loop in around):
            continue
        match node:
            case Series(items):
                for item in items[index + 1 :]:
                    yield from names(item)
            case AnyOrder(members):
                for other, member in enumerate(members):
                    if other != index:
                        yield from names(member)
            case Loop(inner=inner, at_most=at_most, place=place):
                if place not in asking and (at_most is None or here[place] + 1 < at_most):
                    yield from names(inner)
