"""The forms of a graph pattern that end with a pattern over a knowledge base, by the rules of `rules`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sparql_gpm.pattern import Extend, Filter, Graph, Join, LeftJoin, Minus, Pattern
from sparql_gpm.terms import IRI
from spaseq.optimise.rules import LIFTS, filter_enters, joined, operands, splits


@dataclass(frozen=True, slots=True)
class Form:
    """The graph pattern as `LeftJoin(rest, last, condition)`.

    of          the node of the pattern that `last` is, or is a part of
    beside      the patterns that it was joined with, each of whose solutions must provably have one in `last`;
                None: it was optional
    """

    rest: Pattern
    last: Graph
    of: Graph
    beside: tuple[Pattern, ...] | None = None
    condition: bool = False


def forms(pattern: Pattern) -> Iterator[Form]:
    """Every form of the pattern, the outermost first."""
    match pattern:
        case LeftJoin(_, Graph(IRI()) as last, _):
            node = filter_enters(pattern)
            assert isinstance(node, LeftJoin) and isinstance(node.right, Graph), node
            yield Form(node.left, node.right, last, condition=node.condition is not None)
    match pattern:
        case Join() | Graph():
            yield from _inner_forms(operands(pattern))
        case LeftJoin() | Minus():
            for form in forms(pattern.left):
                yield from _lifted(replace(pattern, left=_as_optional(form)), form)
        case Filter() | Extend():
            for form in forms(pattern.inner):
                yield from _lifted(replace(pattern, inner=_as_optional(form)), form)


def _inner_forms(joint: tuple[Pattern, ...]) -> Iterator[Form]:
    for place, part in enumerate(joint):
        others = joint[:place] + joint[place + 1 :]
        if not isinstance(part, Graph):
            for form in forms(part):
                yield from _lifted(Join(_as_optional(form), joined(others)), form)
        elif isinstance(part.name, IRI):
            yield Form(joined(others), part, part, others)
            for kept, last in splits(part):
                rest = (*joint[:place], kept, *joint[place + 1 :])
                yield Form(joined(rest), last, part, rest)


def _as_optional(form: Form) -> LeftJoin:
    return LeftJoin(form.rest, form.last, None)


def _lifted(node: Pattern, form: Form) -> Iterator[Form]:
    """The form of the pattern around a form; none if no rule applies."""
    if form.condition:
        return
    for rule in LIFTS:
        match rule(node):
            case LeftJoin(rest, last, None) if last is form.last:
                yield replace(form, rest=rest)
                return
