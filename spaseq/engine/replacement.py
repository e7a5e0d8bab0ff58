"""A query in place of another one, with its state: what may differ between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sparql_gpm.algebra.traversal import map_children, map_expressions, map_operands
from sparql_gpm.pattern import TRUE, Constant, Exists, Expression, Filter, LeftJoin, Pattern
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.physical.plan import PhysicalPlan

_MASK = Constant(TRUE)
"""Stands for every constant of a FILTER."""
_HINT = "keep='nothing' begins anew; keep='window' rebuilds the state from the events of the window"


def check_same_state(old: TemporalQuery, new: TemporalQuery, were: PhysicalPlan, are: PhysicalPlan) -> None:
    """Raises InputError unless what is kept of one query is what the other one would have kept.

    Only SELECT, the template and constants of FILTERs may differ, as far as they need no other values.

    were, are   the plans by which the two are run
    """
    found = next(_differences(old, new), None)
    if found is None and (_shape(were) != _shape(are) or were.compiled.program != are.compiled.program):
        found = "the values that it keeps: SELECT needs others"
    if found is not None:
        message = f"query '{new.name}' cannot go on with the state of '{old.name}': it has changed in {found}"
        raise InputError(message, hint=_HINT)


def _differences(old: TemporalQuery, new: TemporalQuery) -> Iterator[str]:
    """The parts of a query in which the two differ and may not, in words."""
    parts: list[tuple[str, Callable[[TemporalQuery], Any]]] = [
        ("FROM", lambda query: query.streams),
        ("REGISTER STREAM", lambda query: query.register),
        ("SEQ", lambda query: query.sequence),
        ("WITHIN", lambda query: query.window),
        ("PARTITION BY", lambda query: (query.partition, query.using)),
        ("its selector", lambda query: query.selector),
        ("AFTER MATCH", lambda query: (query.skip, query.skip_to)),
        ("DISTINCT", lambda query: query.distinct),
        ("LIMIT", lambda query: query.limit),
        ("FROM NAMED", lambda query: query.knowledge),
        ("its DEFINEs", lambda query: tuple(map(_pattern, query.patterns))),
        ("FILTER", lambda query: tuple((masked(each.expression), each.at_end) for each in query.filters)),
        ("BIND", lambda query: query.binds),
        ("SELECT or CONSTRUCT", lambda query: query.template is None),
        ("OVER MATCHES", lambda query: query.over and replace(query.over, having=None)),
    ]
    for name, part in parts:
        if part(old) != part(new):
            yield name


def _pattern(pattern: Any) -> Any:
    conditions = tuple(map(masked, pattern.conditions))
    return replace(pattern, pattern=_masked_pattern(pattern.pattern), conditions=conditions)


def masked(expression: Expression) -> Expression:
    """The condition of a FILTER without its constants."""
    match expression:
        case Constant():
            return _MASK
        case Exists(pattern):
            return replace(expression, pattern=_masked_pattern(pattern))
        case _:
            return map_operands(expression, masked)


def _masked_pattern(pattern: Pattern) -> Pattern:
    """The pattern without the constants of its FILTERs."""
    pattern = map_children(pattern, _masked_pattern)
    return map_expressions(pattern, masked) if isinstance(pattern, Filter | LeftJoin) else pattern


def _shape(plan: PhysicalPlan) -> tuple[Any, ...]:
    query = plan.compiled.query
    variables = tuple((pattern.name, pattern.variables) for pattern in query.patterns)
    return plan.evaluator, plan.form, plan.later, query.variables, variables, plan.compiled.reads_graphs
