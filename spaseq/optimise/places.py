"""The places of a step in a sequence, with what the rules about its variables depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automata.plan import expression as nodes
from automata.plan.expression import Expression


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a step.

    negated     inside `!`
    skippable   inside `?` or a branch of `|`, so that a match may be without it
    sometimes   skippable inside a repetition, so that an iteration may be without it
    """

    negated: bool
    skippable: bool
    sometimes: bool


def places(expression: Expression, symbol: int) -> tuple[Place, ...]:
    """Every place of a step in a sequence."""
    return tuple(_place(around) for step, around in nodes.steps(expression) if step.symbol == symbol)


def _place(around: Sequence[Expression]) -> Place:
    negated = any(isinstance(node, nodes.Negation) for node in around)
    skippable = [isinstance(node, nodes.Optional | nodes.Choice) for node in around]
    repeated = [isinstance(node, nodes.Repetition) for node in around]
    sometimes = True in repeated and any(skippable[repeated.index(True) :])
    return Place(negated, any(skippable), sometimes)
