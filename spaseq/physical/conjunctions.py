"""Which steps are only ever taken together, so that one of them need not be matched where another is missing."""

from __future__ import annotations

from collections.abc import Iterable

from automata.plan.expression import Absent, AnyOrder, Chain, Either, Expression, Iterate, Maybe, Take
from automata.plan.program import Program


def conjunctions(program: Program) -> tuple[tuple[int, ...], ...]:
    """The sets of symbols whose every use is in one conjunction of just them; none with PARTITION BY.

    There an event that only one of them matches still counts: it is in its partition's substream (specification 3.4.2).
    """
    if program.partition:
        return ()
    taken = {tuple(sorted(set(take.symbols))) for take in _takes(program.expression)}
    return tuple(
        sorted(
            symbols
            for symbols in taken
            if len(symbols) > 1 and not any(set(symbols) & set(other) for other in taken if other != symbols)
        )
    )


def _takes(expression: Expression) -> Iterable[Take]:
    match expression:
        case Take():
            yield expression
        case Chain(items=parts) | Either(branches=parts) | AnyOrder(members=parts):
            for part in parts:
                yield from _takes(part)
        case Iterate(inner=inner) | Maybe(inner=inner) | Absent(inner=inner):
            yield from _takes(inner)
