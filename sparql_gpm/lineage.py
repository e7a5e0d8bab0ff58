"""The triples by which a pattern has a solution in an event: those of its graph and of knowledge bases (its lineage).

All derivations count: each solution of the triple patterns that gives the solution asked for names its triples. Where a
subquery groups or cuts off rows, every row that it may have read counts. What MINUS, EXISTS and expressions look at
gives nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

import numpy as np

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.canonical import renamed
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import map_children, map_nodes
from sparql_gpm.algebra.triple_terms import statements
from sparql_gpm.background import Background
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.pattern import Node, Path, PathTriple, Pattern, Triple, Variable
from sparql_gpm.terms import IRI, Term

TermTriple = tuple[Term, Term, Term]
Bindings = Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Lineage:
    """The triples of the event's graph, and of each knowledge base by IRI; in the order in which they were found."""

    triples: dict[TermTriple, None] = field(default_factory=dict)
    knowledge: dict[str, dict[TermTriple, None]] = field(default_factory=dict)

    def add(self, home: str | None, triple: TermTriple) -> None:
        """One more triple; home: the IRI of a knowledge base, None for the event's graph."""
        (self.triples if home is None else self.knowledge.setdefault(home, {}))[triple] = None


def lineage(
    pattern: Pattern,
    solution: Bindings,
    event: EventBatch,
    dictionary: Dictionary,
    evaluator: ExpressionEvaluator,
    background: Background | None = None,
) -> Lineage:
    """The lineage of a solution of a pattern in an event, which is a batch of one; raises BackgroundError."""
    written = repr(pattern)
    opened = _opened(pattern, next(name for n in count() if (name := f"hidden{n}_") not in written), count())
    found = compile_pattern(opened, dictionary, evaluator, background).match(event)
    columns = {name: dictionary.terms(column.tolist()) for name, column in found.columns.items()}
    graph = _Graph([tuple(dictionary.terms(row)) for row in np.array(event.terms).T.tolist()])
    traced = Lineage()
    for row in range(len(found)):
        own = {name: term for name, terms in columns.items() if (term := terms[row]) is not None}
        if all(own.get(name, term) == term for name, term in solution.items()):
            for home, triple in _triple_patterns(opened, None):
                _trace(traced, graph, _home(home, own), triple, own)
    return traced


def _opened(pattern: Pattern, hidden: str, numbers: Iterator[int]) -> Pattern:
    """The pattern with all its variables in scope: blank nodes are variables, and subqueries their patterns.

    hidden  begins the names of variables that the pattern hides; no other variable has it
    """

    def inside(child: Pattern) -> Pattern:
        return _opened(child, hidden, numbers)

    def visible(node: Node) -> Node:
        is_hidden = isinstance(node, Variable) and node.name.startswith("_:")
        return Variable(hidden + node.name[2:].encode().hex()) if is_hidden and isinstance(node, Variable) else node

    match pattern:
        case algebra.Project(inner, variables):
            below = inside(inner)
            own = sorted(name for name in in_scope(below) if name not in variables and not name.startswith(hidden))
            return renamed(below, {name: f"{hidden}{name}_{next(numbers)}" for name in own})
        case algebra.Distinct(inner) | algebra.Slice(inner) | algebra.OrderBy(inner) | algebra.Group(inner):
            return inside(inner)
        case algebra.BGP(triples):
            return algebra.BGP(tuple(map_nodes(member, visible) for member in triples))
        case algebra.Extend(inner, variable, expression):
            below = inside(inner)
            return algebra.Extend(below, variable, expression) if variable not in in_scope(below) else below
        case algebra.Minus(left):
            return inside(left)
        case algebra.Filter(inner=inner) if _is_grouped(inner):
            return inside(inner)
    return map_children(pattern, inside)


def _is_grouped(pattern: Pattern) -> bool:
    """True for HAVING's filter, and for values computed of groups: what they read is gone."""
    match pattern:
        case algebra.Group():
            return True
        case algebra.Filter(inner=inner) | algebra.Extend(inner=inner):
            return _is_grouped(inner)
    return False


def _triple_patterns(pattern: Pattern, home: Node | None) -> Iterator[tuple[Node | None, Triple | PathTriple]]:
    """Every triple pattern with the knowledge base that it is matched in; None: the event's graph."""
    match pattern:
        case algebra.BGP(triples):
            yield from ((home, triple) for triple, _ in statements(triples))
        case algebra.Graph(name, inner) | algebra.Service(name, inner):
            yield from _triple_patterns(inner, name)
        case algebra.Join(left, right) | algebra.LeftJoin(left, right) | algebra.Union(left, right):
            yield from _triple_patterns(left, home)
            yield from _triple_patterns(right, home)
        case algebra.Values() | algebra.EventData() | algebra.Minus():
            return
        case _:
            yield from _triple_patterns(pattern.inner, home)


def _home(name: Node | None, bindings: Bindings) -> str | None:
    bound = bindings.get(name.name) if isinstance(name, Variable) else name
    return bound.value if isinstance(bound, IRI) else None


def _trace(traced: Lineage, graph: _Graph, home: str | None, triple: Triple | PathTriple, bindings: Bindings) -> None:
    """Adds the triples by which a triple pattern holds under bindings; none where a branch was not taken."""
    ends = [bindings.get(n.name) if isinstance(n, Variable) else n for n in (triple.subject, triple.object)]
    subject, target = ends
    if subject is None or target is None:
        return
    if isinstance(triple, PathTriple):
        for each in graph.route(triple.path, subject, target) if home is None else ():
            traced.add(None, each)
        return
    predicate = bindings.get(triple.predicate.name) if isinstance(triple.predicate, Variable) else triple.predicate
    if predicate is not None and (home is not None or (subject, predicate, target) in graph.triples):
        traced.add(home, (subject, predicate, target))


Hop = tuple[Term, Term, tuple[TermTriple, ...]]
"""Two nodes that a path relates, and the triples between them."""


class _Graph:
    """The triples of an event, to follow property paths along."""

    def __init__(self, triples: Iterable[Sequence[Term | None]]) -> None:
        self.triples = {(s, p, o) for s, p, o in triples if s is not None and p is not None and o is not None}

    def route(self, path: Path, start: Term, end: Term) -> list[TermTriple]:
        """The triples on any way along a path from one node to another."""
        hops = self._hops(path)
        return list(dict.fromkeys(t for s, o, triples in hops if (s, o) == (start, end) for t in triples))

    def _hops(self, path: Path) -> list[Hop]:
        match path:
            case algebra.Link(iri):
                return [(s, o, ((s, p, o),)) for s, p, o in self.triples if p == iri]
            case algebra.Inverse(inner):
                return [(o, s, triples) for s, o, triples in self._hops(inner)]
            case algebra.PathSequence(first, second):
                rest = self._hops(second)
                return _merged(
                    (s, o, (*one, *other)) for s, m, one in self._hops(first) for n, o, other in rest if m == n
                )
            case algebra.PathAlternative(left, right):
                return _merged([*self._hops(left), *self._hops(right)])
            case algebra.Repeat(inner, _, unbounded):
                return _closure(self._hops(inner)) if unbounded else self._hops(inner)
            case algebra.NegatedSet(forward, backward):
                ahead = [(s, o, ((s, p, o),)) for s, p, o in self.triples if p not in forward]
                back = [(o, s, ((s, p, o),)) for s, p, o in self.triples if p not in backward]
                return _merged([*(ahead if forward or not backward else []), *(back if backward else [])])
            case _:
                assert_never(path)


def _merged(hops: Iterable[Hop]) -> list[Hop]:
    """One hop for each pair of nodes, with the triples of all ways."""
    found: dict[tuple[Term, Term], dict[TermTriple, None]] = {}
    for start, end, triples in hops:
        found.setdefault((start, end), {}).update(dict.fromkeys(triples))
    return [(start, end, tuple(triples)) for (start, end), triples in found.items()]


def _closure(hops: Sequence[Hop]) -> list[Hop]:
    """One hop for each pair of nodes that some number of hops relates, with the triples of all ways between them."""
    ahead: dict[Term, list[Hop]] = {}
    for hop in hops:
        ahead.setdefault(hop[0], []).append(hop)
    reached = {start: _reached(start, ahead) for start in ahead}
    found = []
    for start, ends in reached.items():
        for end in ends:
            between = [hop for hop in hops if _lies_between(hop, start, end, reached)]
            found.append((start, end, tuple(dict.fromkeys(t for _, _, triples in between for t in triples))))
    return found


def _reached(start: Term, ahead: Mapping[Term, Sequence[Hop]]) -> dict[Term, None]:
    """The nodes that at least one hop leads to."""
    found: dict[Term, None] = {}
    waiting = deque([start])
    while waiting:
        for _, end, _ in ahead.get(waiting.popleft(), ()):
            if end not in found:
                found[end] = None
                waiting.append(end)
    return found


def _lies_between(hop: Hop, start: Term, end: Term, reached: Mapping[Term, Mapping[Term, None]]) -> bool:
    begins = hop[0] == start or hop[0] in reached.get(start, {})
    return begins and (hop[1] == end or end in reached.get(hop[1], {}))
