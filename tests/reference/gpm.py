"""The GPMs of a query: what belongs to [[P]], what is a condition of the step (specification 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparql_gpm.pattern import Expression, Filter, Pattern
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.lang import ast
from tests.conformance.times import to_iso
from tests.reference.graph import Dataset, Solution, solutions
from tests.reference.scope import exists_variables, free_variables, graph_names, in_scope, iterated, parts
from tests.reference.shape import Node, names
from tests.reference.stream import Event, Events, Triples


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a step.

    variables   all it uses; those inside EXISTS only when some step binds them
    foreign     those that its own GPM does not bind: it may wait for them
    watched     those whose rebinding by a later repeated step makes it be checked again
    """

    expression: Expression
    variables: frozenset[str]
    foreign: frozenset[str]
    watched: frozenset[str]


@dataclass(frozen=True, slots=True)
class Gpm:
    """A graph pattern matching expression, its filters sorted out."""

    name: str
    streams: tuple[str, ...]
    pattern: Pattern
    scope: frozenset[str]
    conditions: tuple[Condition, ...]


def gpms(query: ast.Query, root: Node) -> dict[str, Gpm]:
    """The GPMs used in SEQ, by name."""
    defines = {define.name: define for define in query.defines}
    used = [defines[name] for name in names(root, positive=False)]
    given = query.partition if query.using else ()
    anywhere = frozenset(given).union(*(in_scope(define.pattern) for define in used))
    return {define.name: _gpm(define, anywhere) for define in used}


def _gpm(define: ast.Define, anywhere: frozenset[str]) -> Gpm:
    """A top-level FILTER with all variables in scope belongs to [[P]], any other is a condition."""
    scope, pattern = in_scope(define.pattern), define.pattern
    conditions: list[Condition] = []
    for written in define.filters:
        expression = written.expression
        used = free_variables(expression) | (exists_variables(expression) & anywhere)
        repeated = iterated(expression)
        if used <= scope and not repeated and not _counts(expression):
            pattern = Filter(expression, pattern)
        else:
            foreign = used - scope
            conditions.append(Condition(expression, used, foreign, foreign | repeated))
    return Gpm(define.name, define.streams, pattern, scope, tuple(conditions))


def match_conditions(query: ast.Query) -> tuple[tuple[Condition, ...], tuple[Expression, ...]]:
    """The FILTERs beside the DEFINEs: those that wait, and those that are decided when the match is complete.

    The latter have an aggregate, PREV, FIRST or LAST, or read the variable of a BIND.
    """
    computed = {bind.variable for bind in query.binds}
    waiting: list[Condition] = []
    at_end: list[Expression] = []
    for written in query.filters:
        used = free_variables(written.expression)
        if iterated(written.expression) or _counts(written.expression) or used & computed:
            at_end.append(written.expression)
        else:
            waiting.append(Condition(written.expression, used, used, used))
    return tuple(waiting), tuple(at_end)


def _counts(expression: Expression) -> bool:
    return any(type(part).__name__ in ("Aggregate", "Iteration") for part in parts(expression))


def knowledge(query: ast.Query, kb: Mapping[str, Triples]) -> dict[str, Triples]:
    """The KBs that the query names, by FROM NAMED or by GRAPH."""
    named = set(query.knowledge).union(*(graph_names(define.pattern) for define in query.defines))
    if query.using is not None:
        named |= graph_names(query.using.pattern)
    for define in query.defines:
        for condition in define.filters:
            named |= graph_names(Filter(condition.expression, define.pattern))
    return {iri: frozenset(kb[iri]) for iri in sorted(named)}


def dataset_of(event: Event, named: Mapping[str, Triples]) -> Dataset:
    """What a pattern is evaluated over in one event."""
    return Dataset(event.triples, named, (IRI(event.name), Literal(to_iso(event.time), XSD + "dateTime")))


def solve_using(using: ast.Using, events: Events, named: Mapping[str, Triples]) -> dict[Event, list[Solution]]:
    """The solutions of the pattern of USING in every event of every declared stream."""
    return {event: solutions(using.pattern, dataset_of(event, named)) for event in events}


def solve(gpm: Gpm, events: Events, named: Mapping[str, Triples]) -> dict[Event, list[Solution]]:
    """`[[P]]` of every event on the GPM's streams that has a solution."""
    found = {event: solutions(gpm.pattern, dataset_of(event, named)) for event in events if event.stream in gpm.streams}
    return {event: mappings for event, mappings in found.items() if mappings}
