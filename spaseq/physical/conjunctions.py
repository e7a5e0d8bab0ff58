"""Steps that occur only together, so that one of them need not be matched where another has no solution."""

from __future__ import annotations

from automata.plan.expression import Conjunction, Expression, steps, symbols
from automata.plan.program import Program


def conjunctions(program: Program) -> tuple[tuple[int, ...], ...]:
    """The sets of symbols whose every use is in one conjunction of just them; none with PARTITION BY.

    There an event that only one of them matches still counts: it is in its partition's substream (specification 3.4.2).
    """
    if program.partition:
        return ()
    taken = {frozenset(symbols(_whole(step, around))) for step, around in steps(program.expression)}
    together = [one for one in taken if len(one) > 1 and not any(one & other for other in taken if other != one)]
    return tuple(sorted(tuple(sorted(one)) for one in together))


def _whole(step: Expression, around: tuple[Expression, ...]) -> Expression:
    """The conjunction that a step is a member of, else the step."""
    return around[-1] if around and isinstance(around[-1], Conjunction) else step
