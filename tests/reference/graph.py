"""[[P]]: the solutions of a graph pattern over one graph, by nested loops (SPARQL 1.2, 18.5).

Inside, solutions are a list (a multiset): subqueries count them. `solutions` makes the set of 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Constant,
    Distinct,
    EventData,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathTriple,
    Pattern,
    Project,
    Service,
    Slice,
    TermParts,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, Term, TripleTerm, to_ntriples
from tests.reference.aggregate import fold
from tests.reference.expression import Scope, holds, value_or_none
from tests.reference.paths import Triples, pairs
from tests.reference.substitute import substitute
from tests.reference.values import order_key

Mu = dict[str, Term]
"""A solution mapping; blank nodes of the pattern are in it under their `_:` names until the end."""

Solution = tuple[tuple[str, Term], ...]
"""A solution mapping as a value: sorted pairs."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The event's graph as the default graph, the KBs as named ones (3.1).

    event       its graph name and time, for AS and AT
    """

    default: Triples
    named: Mapping[str, Triples]
    event: tuple[Term, Term]


def solutions(pattern: Pattern, dataset: Dataset) -> list[Solution]:
    """`[[P]]` as a set of solution mappings, in a fixed order."""
    found = {
        tuple(sorted((name, term) for name, term in mu.items() if not name.startswith("_:")))
        for mu in evaluate(pattern, dataset, dataset.default)
    }
    return sorted(found, key=lambda solution: [(name, to_ntriples(term)) for name, term in solution])


def exists(pattern: Exists, bindings: Mapping[str, Term], dataset: Dataset, active: Triples) -> bool:
    """Whether the pattern has a solution once the bindings are substituted (18.6); negation is the caller's."""
    return bool(evaluate(substitute(pattern.pattern, bindings), dataset, active))


def compatible(left: Mapping[str, Term], right: Mapping[str, Term]) -> bool:
    """Whether two mappings agree wherever both bind."""
    return all(right.get(name, term) == term for name, term in left.items())


def evaluate(pattern: Pattern, dataset: Dataset, active: Triples) -> list[Mu]:
    """The multiset of solutions over the active graph."""

    def of(inner: Pattern) -> list[Mu]:
        return evaluate(inner, dataset, active)

    def true(condition: Expression, mu: Mu) -> bool:
        return holds(condition, _scope(mu, dataset, active))

    match pattern:
        case BGP(triples):
            return _basic(triples, active)
        case Join(left, right):
            others = of(right)
            return [mu | nu for mu in of(left) for nu in others if compatible(mu, nu)]
        case LeftJoin(left, right, condition):
            return _left_join(of(left), of(right), lambda mu: condition is None or true(condition, mu))
        case Union(left, right):
            return of(left) + of(right)
        case Minus(left, right):
            removed = [_named(nu) for nu in of(right)]
            return [mu for mu in of(left) if not any(_excludes(_named(mu), nu) for nu in removed)]
        case Filter(condition, inner):
            return [mu for mu in of(inner) if true(condition, mu)]
        case Extend(inner, variable, expression):
            return [_extend(mu, variable, value_or_none(expression, _scope(mu, dataset, active))) for mu in of(inner)]
        case Values(variables, rows):
            named = [zip(variables, row, strict=True) for row in rows]
            return [{name: term for name, term in row if term is not None} for row in named]
        case EventData(name, time):
            return [{key: term for key, term in zip((name, time), dataset.event, strict=True) if key is not None}]
        case Graph(name, inner):
            return _background(name, inner, dataset)
        case Service():
            raise ValueError("the reference has no network")
    return _solution_modifier(pattern, dataset, active)


def _solution_modifier(pattern: Pattern, dataset: Dataset, active: Triples) -> list[Mu]:
    """What only subqueries have (18.2.4, 18.2.5)."""
    match pattern:
        case Group(inner, keys, aggregates):
            return _group(evaluate(inner, dataset, active), keys, aggregates, dataset, active)
        case OrderBy(inner, order):
            return _sorted(evaluate(inner, dataset, active), order, dataset, active)
        case Project(inner, variables):
            rows = evaluate(inner, dataset, active)
            return [{name: mu[name] for name in variables if name in mu} for mu in rows]
        case Distinct(inner):
            rows = evaluate(inner, dataset, active)
            return [mu for place, mu in enumerate(rows) if mu not in rows[:place]]
        case Slice(inner, offset, limit):
            rows = evaluate(inner, dataset, active)[offset:]
            return rows if limit is None else rows[:limit]
    raise AssertionError(pattern)


def _scope(mu: Mu, dataset: Dataset, active: Triples) -> Scope:
    return Scope(mu, exists=lambda pattern, bindings: exists(pattern, bindings, dataset, active))


def _named(mu: Mu) -> Mu:
    return {name: term for name, term in mu.items() if not name.startswith("_:")}


def _excludes(mu: Mu, nu: Mu) -> bool:
    """MINUS removes what is compatible and shares a variable."""
    return compatible(mu, nu) and bool(mu.keys() & nu.keys())


def _extend(mu: Mu, variable: str, value: Term | None) -> Mu:
    return mu if value is None else mu | {variable: value}


def _left_join(left: Sequence[Mu], right: Sequence[Mu], true: Callable[[Mu], bool]) -> list[Mu]:
    """Each left solution with every partner for which the condition holds, or alone."""
    rows: list[Mu] = []
    for mu in left:
        partners = [mu | nu for nu in right if compatible(mu, nu) and true(mu | nu)]
        rows += partners or [mu]
    return rows


def _background(name: IRI | Variable, inner: Pattern, dataset: Dataset) -> list[Mu]:
    """`GRAPH <iri>` over that KB; `GRAPH ?g` over every KB that the query names."""
    if isinstance(name, IRI):
        return evaluate(inner, dataset, dataset.named.get(name.value, frozenset()))
    rows: list[Mu] = []
    for iri, graph in dataset.named.items():
        here = {name.name: IRI(iri)}
        rows += [mu | here for mu in evaluate(inner, dataset, graph) if compatible(mu, here)]
    return rows


def _basic(triples: Sequence[Triple | PathTriple | TermParts], active: Triples) -> list[Mu]:
    """One triple pattern after the other, each extending the solutions so far."""
    rows: list[Mu] = [{}]
    for triple in triples:
        rows = [mu | nu for mu in rows for nu in _one(triple, mu, active)]
    return rows


def _one(triple: Triple | PathTriple | TermParts, mu: Mu, active: Triples) -> list[Mu]:
    """What a member of a basic graph pattern adds to a solution."""
    subject, object_ = _at(triple.subject, mu), _at(triple.object, mu)
    if isinstance(triple, Triple):
        wanted: tuple[Node, ...] = (subject, _at(triple.predicate, mu), object_)
        found: Sequence[tuple[Term, ...]] = list(active)
    elif isinstance(triple, TermParts):
        wanted = (_at(triple.term, mu), subject, _at(triple.predicate, mu), object_)
        inside = {inner for stated in active for inner in _triple_terms(stated[2])}
        found = [(term, term.subject, term.predicate, term.object) for term in inside]
    else:
        wanted = (subject, object_)
        constants = [node for node in (triple.subject, triple.object) if not isinstance(node, Variable)]
        found = pairs(triple.path, active, constants)
        if not constants and (bound := [node for node in wanted if not isinstance(node, Variable)]):
            found = list(found) + [p for p in pairs(triple.path, active, bound) if p not in found]
    return [nu for terms in found if (nu := _unify(wanted, terms)) is not None]


def _triple_terms(term: Term) -> list[TripleTerm]:
    """The triple terms in a term, itself included."""
    return [term, *_triple_terms(term.object)] if isinstance(term, TripleTerm) else []


def _at(node: Node, mu: Mu) -> Node:
    return mu.get(node.name, node) if isinstance(node, Variable) else node


def _unify(nodes: Sequence[Node], terms: Sequence[Term]) -> Mu | None:
    nu: Mu = {}
    for node, term in zip(nodes, terms, strict=True):
        if isinstance(node, Variable):
            if nu.setdefault(node.name, term) != term:
                return None
        elif node != term:
            return None
    return nu


def _group(
    rows: Sequence[Mu],
    keys: Sequence[tuple[str, Expression]],
    aggregates: Sequence[tuple[str, Aggregate]],
    dataset: Dataset,
    active: Triples,
) -> list[Mu]:
    """One solution per group, its keys and aggregates bound; without keys there is always one group."""
    groups: dict[tuple[Term | None, ...], list[Mu]] = {} if keys else {(): []}
    for mu in rows:
        key = tuple(value_or_none(expression, _scope(mu, dataset, active)) for _, expression in keys)
        groups.setdefault(key, []).append(mu)
    solved: list[Mu] = []
    for key, members in groups.items():
        result = {name: term for (name, _), term in zip(keys, key, strict=True) if term is not None}
        for name, aggregate in aggregates:
            result = _extend(result, name, _aggregate(aggregate, members, dataset, active))
        solved.append(result)
    return solved


def _aggregate(aggregate: Aggregate, rows: Sequence[Mu], dataset: Dataset, active: Triples) -> Term | None:
    """An error among the values is an error of the whole, except that COUNT and SAMPLE skip it."""
    if aggregate.argument is None:
        marks = [Constant(IRI(str(place))).term for place, _ in enumerate(_distinct(rows, aggregate.distinct))]
        return fold(aggregate, marks)
    values = [value_or_none(aggregate.argument, _scope(mu, dataset, active)) for mu in rows]
    known = [value for value in values if value is not None]
    if len(known) < len(values) and aggregate.name.upper() not in ("COUNT", "SAMPLE"):
        return None
    return fold(aggregate, known)


def _distinct(rows: Sequence[Mu], wanted: bool) -> Sequence[Mu]:
    return [mu for place, mu in enumerate(rows) if mu not in rows[:place]] if wanted else rows


def _sorted(
    rows: Sequence[Mu], order: Sequence[tuple[Expression, bool]], dataset: Dataset, active: Triples
) -> list[Mu]:
    def compare(left: Mu, right: Mu) -> int:
        for expression, descending in order:
            a, b = (order_key(value_or_none(expression, _scope(mu, dataset, active))) for mu in (left, right))
            if a != b:
                return -1 if (a < b) != descending else 1
        return 0

    return sorted(rows, key=cmp_to_key(compare))
