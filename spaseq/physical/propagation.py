"""The aggregates of OVER MATCHES that are propagated along the automaton, so that no match is built."""

from __future__ import annotations

from dataclasses import dataclass, replace

from automata.plan.plan import Plan, compile_plan
from automata.propagation.applicability import why_not_propagated
from automata.propagation.measures import Kind, Measured
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.pattern import Aggregate, Variable
from spaseq.physical.program import Compiled

_KINDS = {"COUNT": Kind.COUNT, "SUM": Kind.SUM, "AVG": Kind.SUM, "MIN": Kind.MIN, "MAX": Kind.MAX}
_OF_ITERATIONS = {
    Kind.SUM: (Kind.COUNT, Kind.SUM),
    Kind.MIN: (Kind.COUNT, Kind.SUM, Kind.MIN, Kind.MAX),
    Kind.MAX: (Kind.COUNT, Kind.SUM, Kind.MIN, Kind.MAX),
}
"""The aggregates over iterations that another one over matches may be asked of."""


@dataclass(frozen=True, slots=True)
class Propagation:
    """The aggregates to propagate, and the plan to propagate them along.

    plan        of the query's own windows
    groups      the variables of GROUP BY
    measured    the aggregates that are kept of partial matches
    asked       aggregate of the query → its place in `measured`; None: COUNT(*)
    """

    plan: Plan
    groups: tuple[int, ...]
    measured: tuple[Measured, ...]
    asked: tuple[int | None, ...]


class NotPropagated(Exception):
    """The matches have to be built; the reason in words."""


def propagation_of(compiled: Compiled) -> Propagation:
    """The propagation of a query OVER MATCHES; raises NotPropagated."""
    query = compiled.query
    assert query.over is not None, query.name
    if query.register is not None and query.window.in_events:
        raise NotPropagated("a derived stream whose times are those of the last matches")
    numbers = {name: number for number, name in enumerate(query.variables)}
    for name in query.over.keys:
        if name not in numbers:
            raise NotPropagated(f"GROUP BY ?{name}, which no step binds")
    groups = tuple(numbers[name] for name in query.over.keys)
    wanted = [_measured(aggregate, numbers) for aggregate in query.over.aggregates]
    measured = tuple(dict.fromkeys(each for each in wanted if each is not None))
    plan = compile_plan(replace(compiled.program, window=query.window))
    reason = why_not_propagated(plan, groups, measured)
    if reason is not None:
        raise NotPropagated(reason)
    return Propagation(plan, groups, measured, tuple(None if each is None else measured.index(each) for each in wanted))


def why_not_propagation(compiled: Compiled) -> str | None:
    """The reason why matches have to be built, in words, or None."""
    try:
        propagation_of(compiled)
    except NotPropagated as reason:
        return str(reason)
    return None


def _measured(aggregate: Aggregate, numbers: dict[str, int]) -> Measured | None:
    """The measured aggregate of the matches; None for COUNT(*)."""
    kind, argument = _KINDS.get(aggregate.name), aggregate.argument
    if kind is None or (aggregate.distinct and kind not in (Kind.MIN, Kind.MAX)):
        raise NotPropagated(f"{expression_text(aggregate)} asks for values, not for numbers of them")
    if argument is None:
        return None
    inner: Kind | None = None
    if isinstance(argument, Aggregate) and argument.name != "AVG" and not argument.distinct:
        inner = _KINDS.get(argument.name)
        if inner in _OF_ITERATIONS.get(kind, ()):
            argument = argument.argument
    if not isinstance(argument, Variable) or argument.name not in numbers:
        raise NotPropagated(f"{expression_text(aggregate)} is computed from more than one variable of a step")
    return Measured(kind, numbers[argument.name], inner)
