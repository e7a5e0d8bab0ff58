"""Writes a sequence expression without spans, so that a test reads as one line."""

from __future__ import annotations

from automata.plan.expression import (
    AnyOrder,
    Choice,
    Conjunction,
    Limit,
    Limited,
    Negation,
    Optional,
    Repetition,
    Sequence,
    Step,
    limits_of,
)
from spaseq.lang.ast import Expr


def notation(expression: Expr) -> str:
    """Every node in brackets: `seq(A ; repeat(B, 1..*, default))`."""
    match expression:
        case Step(name):
            return name
        case Sequence(items, operators):
            shown = [notation(item) for item in items]
            limits = (f" <={_seconds(limit)}" if limit else "" for limit in limits_of(expression))
            before = [f" {o.value}{limit} " for o, limit in zip(operators, limits, strict=True)]
            rest = "".join(operator + item for operator, item in zip(before, shown[1:], strict=True))
            return f"seq({shown[0]}{rest})"
        case Choice(branches):
            return f"choice({', '.join(map(notation, branches))})"
        case Conjunction(members):
            return f"both({', '.join(map(notation, members))})"
        case AnyOrder(members):
            return f"all({', '.join(map(notation, members))})"
        case Repetition(inner, at_least, at_most, contiguity, possessive):
            bounds = f"{at_least}..{'*' if at_most is None else at_most}{' possessive' if possessive else ''}"
            return f"repeat({notation(inner)}, {bounds}, {contiguity.value if contiguity else 'default'})"
        case Optional(inner):
            return f"optional({notation(inner)})"
        case Negation(inner, limit=limit):
            return f"not({notation(inner)}{f', {_seconds(limit)}' if limit else ''})"
        case Limited(inner, limit):
            return f"within({notation(inner)}, {_seconds(limit)})"


def _seconds(limit: Limit) -> str:
    return f"{limit.size / 1e9:g}"
