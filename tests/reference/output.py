"""Rows: projection, provenance, constructed graphs, order, DISTINCT, LIMIT (specification 3.4, 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from sparql_gpm.pattern import Node, TermParts, Variable
from sparql_gpm.terms import IRI, BlankNode, Term, TripleTerm, to_ntriples
from spaseq.lang import ast
from tests.reference.expression import Scope, value_or_none
from tests.reference.names import graph_name
from tests.reference.shape import names
from tests.reference.view import scope_of, with_binds
from tests.reference.whole import Match, skip
from tests.reference.world import World


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the answer.

    time, start bindings, …     of SELECT; `bindings` holds no unbound variable
    triples                     of CONSTRUCT: the graph, None for SELECT
    graph                       of CONSTRUCT: its name
    events                      per step taken, in order of SEQ, the graph names of its events in order
    """

    time: int
    start: int
    bindings: Mapping[str, Term]
    triples: frozenset[tuple[Term, Term, Term]] | None
    events: Mapping[str, tuple[str, ...]]
    graph: str | None = None

    def lines(self) -> list[str]:
        """The constructed graph as sorted N-Triples lines."""
        return sorted(f"{' '.join(map(to_ntriples, triple))} ." for triple in self.triples or ())


Keyed = tuple[tuple[object, ...], Match, Row]
"""(output order, match, its row)."""


def rows(world: World, selected: Sequence[Match]) -> list[Keyed]:
    """The rows of one partition in output order: AFTER MATCH, then projection, DISTINCT, LIMIT.

    The projected values are part of the order in which AFTER MATCH walks the matches, so they come first here.
    """
    ordered = sorted((_keyed(world, match) for match in selected), key=lambda keyed: keyed[0])
    kept = {id(match) for match in skip(world, [match for _, match, _ in ordered])}
    limit, distinct = world.query.limit, world.query.distinct
    reported: list[Keyed] = []
    for keyed in ordered:
        _, match, row = keyed
        if id(match) not in kept:
            continue
        same = [other for _, earlier, other in reported if earlier.positions[-1] == match.positions[-1]]
        if distinct and any(other.bindings == row.bindings for other in same):
            continue
        if limit is None or len(same) < limit:
            reported.append(keyed)
    return reported


def _keyed(world: World, match: Match) -> Keyed:
    events = sorted({entry.event for entry in match.entries}, key=lambda event: event.position)
    scope = with_binds(scope_of(match.entries, (), world.given, world.loops), world.query.binds)
    bindings, triples, graph = {}, None, None
    if world.query.template is None:
        bindings = _project(world, scope)
        reported = [bindings.get(name) for name in projected(world)]
    else:
        triples = construct(world.query.template, scope)
        reported = _used(world.query.template, scope)
        graph = graph_name(world, match.entries)
    values = tuple((0, "") if term is None else (1, to_ntriples(term)) for term in reported)
    row = Row(events[-1].time, events[0].time, bindings, triples, _provenance(world, match), graph)
    return (*match.order, values, graph or ""), match, row


def projected(world: World) -> tuple[str, ...]:
    """The columns; `*` is the variables in scope in GPMs of positive steps, of BINDs beside them, of PARTITION BY."""
    if world.query.columns is not None:
        return tuple(column.variable for column in world.query.columns)
    computed = {bind.variable for bind in world.query.binds} | set(world.query.partition)
    return tuple(sorted(computed.union(*(world.gpms[step].scope for step in names(world.root)))))


def _project(world: World, scope: Scope) -> dict[str, Term]:
    """μ projected; an expression sees the columns before it, an error leaves its column unbound."""
    bindings = dict(scope.bindings)
    for column in world.query.columns or ():
        if column.expression is not None:
            value = value_or_none(column.expression, Scope(bindings, scope.series))
            if value is not None:
                bindings[column.variable] = value
    return {name: bindings[name] for name in projected(world) if name in bindings}


def _provenance(world: World, match: Match) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for step in names(world.root):
        taken = sorted((e.event for e in match.entries if e.step == step), key=lambda event: event.position)
        if taken:
            found[step] = tuple(event.name for event in taken)
    return found


def construct(template: Sequence[ast.TemplateTriple], scope: Scope) -> frozenset[tuple[Term, Term, Term]]:
    """The template's triples; those with an unbound or impossible part are left out."""
    inside = {part.term.name: part for triple in template if isinstance(part := triple.pattern, TermParts)}

    def term(node: Node) -> Term | None:
        if isinstance(node, Variable) and node.name in inside:
            part = inside[node.name]
            found = stated(term(part.subject), term(part.predicate), term(part.object))
            return None if found is None else TripleTerm(*found)
        if _is_blank(node):
            return BlankNode(node.name[2:])
        return scope.bindings.get(node.name) if isinstance(node, Variable) else node

    built: set[tuple[Term, Term, Term]] = set()
    for triple in template:
        if not isinstance(triple.pattern, TermParts):
            o = term(triple.pattern.object) if triple.object is None else value_or_none(triple.object, scope)
            found = stated(term(triple.pattern.subject), term(triple.pattern.predicate), o)
            built |= set() if found is None else {found}
    return frozenset(built)


def stated(s: Term | None, p: Term | None, o: Term | None) -> tuple[IRI | BlankNode, IRI, Term] | None:
    """The triple of three terms, None if it is none."""
    return (s, p, o) if isinstance(s, IRI | BlankNode) and isinstance(p, IRI) and o is not None else None


def _used(template: Sequence[ast.TemplateTriple], scope: Scope) -> list[Term | None]:
    """The values of the variables and computed objects of a template, in the order in which it names them."""
    found: list[Term | None] = []
    for triple in template:
        nodes = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
        found += [scope.bindings.get(n.name) for n in nodes if isinstance(n, Variable) and not _is_blank(n)]
        found += [] if triple.object is None else [value_or_none(triple.object, scope)]
    return found


def _is_blank(node: Node) -> TypeGuard[Variable]:
    """Whether it is a blank node of the template, which is fresh in each graph."""
    return isinstance(node, Variable) and node.name.startswith("_:")
