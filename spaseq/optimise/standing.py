"""Where a step stands in a sequence, as far as rules about its variables want to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from automata.plan.expression import Absent, AnyOrder, Chain, Either, Expression, Iterate, Maybe, Take


@dataclass(frozen=True, slots=True)
class Standing:
    """A place of a step.

    negated     inside `!`
    skippable   inside `?` or a branch of `|`, so that a match may be without it
    repeated    inside a repetition
    sometimes   skippable inside a repetition, so that an iteration may be without it
    """

    negated: bool = False
    skippable: bool = False
    repeated: bool = False
    sometimes: bool = False


def standings(expression: Expression, symbol: int) -> tuple[Standing, ...]:
    """Every place of a step in a sequence."""
    return tuple(_places(expression, symbol, Standing()))


def _places(node: Expression, symbol: int, above: Standing) -> Iterator[Standing]:
    match node:
        case Take(symbols):
            yield from (above for taken in symbols if taken == symbol)
        case Chain(items) | AnyOrder(items):
            for item in items:
                yield from _places(item, symbol, above)
        case Either(branches):
            for branch in branches:
                yield from _places(branch, symbol, _skippable(above))
        case Maybe(inner):
            yield from _places(inner, symbol, _skippable(above))
        case Iterate(inner):
            yield from _places(inner, symbol, replace(above, repeated=True))
        case Absent(inner):
            yield from _places(inner, symbol, replace(above, negated=True))
        case _:
            assert_never(node)


def _skippable(above: Standing) -> Standing:
    return replace(above, skippable=True, sometimes=above.sometimes or above.repeated)
