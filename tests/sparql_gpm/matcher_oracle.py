"""SPARQL 1.1, Section 18.5 by nested loops over dicts: the matcher's oracle. A multiset is a list of mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparql_gpm.pattern import (
    BGP,
    FALSE,
    TRUE,
    Aggregate,
    Call,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Member,
    Minus,
    NegatedSet,
    Node,
    OrderBy,
    Path,
    PathAlternative,
    PathSequence,
    Pattern,
    Project,
    Repeat,
    Slice,
    TermParts,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, XSD, Literal, Term, TripleTerm, to_ntriples

Mu = dict[str, Term]
Triples = frozenset[tuple[Term, Term, Term]]


class ExpressionError(Exception):
    """The expression has no value."""


class World:
    """The active graph, the knowledge bases, and what an enclosing EXISTS has substituted."""

    def __init__(self, graph: Triples, kbs: Mapping[str, Triples], given: Mu | None = None) -> None:
        self.graph, self.kbs, self.given = graph, kbs, given or {}

    def solve(self, pattern: Pattern) -> list[Mu]:
        match pattern:
            case BGP(triples):
                return self.bgp(triples)
            case Join(left, right):
                return join(self.solve(left), self.solve(right))
            case LeftJoin(left, right, condition):
                return self.left_join(self.solve(left), self.solve(right), condition)
            case Union(left, right):
                return self.solve(left) + self.solve(right)
            case Minus(left, right):
                others = self.solve(right)
                return [
                    m for m in self.solve(left) if not any(m.keys() & o.keys() and compatible(m, o) for o in others)
                ]
            case Filter(condition, inner):
                return [m for m in self.solve(inner) if self.holds(condition, m)]
            case Extend(inner, variable, expression):
                return self.agreeing([self.extended(m, variable, expression) for m in self.solve(inner)])
            case Values(variables, rows):
                found = [{v: t for v, t in zip(variables, row, strict=True) if t is not None} for row in rows]
                return self.agreeing(found)
            case Graph(IRI(name), inner):
                return World(self.kbs[name], self.kbs, self.given).solve(inner)
            case Graph(Variable(name), inner):
                return self.any_graph(name, inner)
            case Project(inner, variables):
                seen = {v: t for v, t in self.given.items() if v in variables}
                found = World(self.graph, self.kbs, seen).solve(inner)
                return [{v: m[v] for v in variables if v in m} for m in found]
            case Distinct(inner):
                return [dict(items) for items in dict.fromkeys(frozenset(m.items()) for m in self.solve(inner))]
            case Slice(inner, offset, limit):
                ordered = sorted(self.solve(inner), key=text)
                return ordered[offset:] if limit is None else ordered[offset : offset + limit]
            case OrderBy(inner, _):
                return self.solve(inner)
            case Group():
                return self.group(pattern)
        raise AssertionError(pattern)

    def agreeing(self, found: list[Mu]) -> list[Mu]:
        """What agrees with the substituted values, which are no variables any more."""
        kept = [m for m in found if compatible(m, self.given)]
        return [{v: t for v, t in m.items() if v not in self.given} for m in kept]

    def node(self, node: Node) -> Node:
        return self.given.get(node.name, node) if isinstance(node, Variable) else node

    def bgp(self, members: Sequence[Member]) -> list[Mu]:
        found: list[Mu] = [{}]
        for triple in (member for member in members if not isinstance(member, TermParts)):
            ends = (self.node(triple.subject), self.node(triple.object))
            if isinstance(triple, Triple):
                nodes = (ends[0], self.node(triple.predicate), ends[1])
                found = [e for m in found for t in self.graph if (e := unify(nodes, t, m)) is not None]
            else:
                pairs = list(self.path(ends[0], triple.path, ends[1]))
                found = [e for m in found for pair in pairs if (e := unify(ends, pair, m)) is not None]
        waiting = [member for member in members if isinstance(member, TermParts)]
        while waiting and found:
            parts = next(each for each in waiting if each.term.name in found[0])
            waiting.remove(parts)
            found = [e for m in found if (e := self.taken_apart(parts, m)) is not None]
        return [{v: t for v, t in m.items() if not v.startswith("_:")} for m in found]

    def taken_apart(self, parts: TermParts, m: Mu) -> Mu | None:
        term = m[parts.term.name]
        nodes = tuple(map(self.node, (parts.subject, parts.predicate, parts.object)))
        return unify(nodes, (term.subject, term.predicate, term.object), m) if isinstance(term, TripleTerm) else None

    # --- paths, Section 18.4: pairs of terms; a constant end is a term, a variable one is asked for ---------

    def nodes(self) -> set[Term]:
        return {t for s, _, o in self.graph for t in (s, o)}

    def path(self, x: Node, path: Path, y: Node) -> list[tuple[Term, Term]]:
        match path:
            case Link(iri):
                found = [(s, o) for s, p, o in self.graph if p == iri]
            case Inverse(inner):
                found = [(s, o) for o, s in self.path(y, inner, x)]
            case PathSequence(first, second):
                middle = Variable("?between")
                right = self.path(middle, second, y)
                found = [(s, o) for s, m in self.path(x, first, middle) for n, o in right if m == n]
            case PathAlternative(left, right_path):
                found = self.path(x, left, y) + self.path(x, right_path, y)
            case NegatedSet(forward, backward):
                found = [(s, o) for s, p, o in self.graph if p not in forward] if forward or not backward else []
                found += [(o, s) for s, p, o in self.graph if p not in backward] if backward else []
            case Repeat(inner, at_least_one, unbounded):
                found = self.repeat(x, inner, y, at_least_one, unbounded)
        return [(s, o) for s, o in found if (isinstance(x, Variable) or s == x) and (isinstance(y, Variable) or o == y)]

    def repeat(self, x: Node, path: Path, y: Node, at_least_one: bool, unbounded: bool) -> list[tuple[Term, Term]]:
        if isinstance(x, Variable) and not isinstance(y, Variable):
            return [(s, o) for o, s in self.repeat(y, Inverse(path), x, at_least_one, unbounded)]
        starts = self.nodes() if isinstance(x, Variable) else {x}
        return [(s, o) for s in starts for o in self.reach(s, path, at_least_one, unbounded)]

    def reach(self, start: Term, path: Path, at_least_one: bool, unbounded: bool) -> set[Term]:
        def step(term: Term) -> list[Term]:
            return [o for _, o in self.path(term, path, Variable("?next"))]

        reached = set() if at_least_one else {start}
        waiting = step(start)
        while waiting:
            term = waiting.pop()
            if term not in reached or (not unbounded and term == start):
                reached.add(term)
                waiting += step(term) if unbounded else []
        return reached

    # --- the rest -----------------------------------------------------------------------------------------

    def left_join(self, left: list[Mu], right: list[Mu], condition: Expression | None) -> list[Mu]:
        result = []
        for m in left:
            merged = join([m], right)
            kept = [e for e in merged if condition is None or self.holds(condition, e)]
            result += kept or [m]
        return result

    def extended(self, m: Mu, variable: str, expression: Expression) -> Mu:
        try:
            return {**m, variable: self.value(expression, m)}
        except ExpressionError:
            return m

    def any_graph(self, name: str, inner: Pattern) -> list[Mu]:
        found = []
        for iri, graph in self.kbs.items():
            found += join(World(graph, self.kbs, self.given).solve(inner), [{name: IRI(iri)}])
        return self.agreeing(found)

    def group(self, pattern: Group) -> list[Mu]:
        classes: dict[tuple[Term | None, ...], list[Mu]] = {} if pattern.keys else {(): []}
        for m in self.solve(pattern.inner):
            classes.setdefault(tuple(self.optional(e, m) for _, e in pattern.keys), []).append(m)
        found = []
        for key, members in classes.items():
            row = {name: term for (name, _), term in zip(pattern.keys, key, strict=True) if term is not None}
            found.append(row | {name: self.count(a, members) for name, a in pattern.aggregates})
        return self.agreeing(found)

    def count(self, aggregate: Aggregate, members: list[Mu]) -> Term:
        assert aggregate.name == "COUNT"
        if aggregate.argument is None:
            values: list[object] = [frozenset(m.items()) for m in members]
        else:
            values = [v for m in members if (v := self.optional(aggregate.argument, m)) is not None]
        return integer(len(set(values)) if aggregate.distinct else len(values))

    def optional(self, expression: Expression, m: Mu) -> Term | None:
        try:
            return self.value(expression, m)
        except ExpressionError:
            return None

    def holds(self, expression: Expression, m: Mu) -> bool:
        try:
            return self.value(expression, m) == TRUE
        except ExpressionError:
            return False

    def value(self, expression: Expression, m: Mu) -> Term:
        match expression:
            case Constant(term):
                return term
            case Variable(name):
                term = (m | self.given).get(name)
                if term is None:
                    raise ExpressionError
                return term
            case Exists(pattern, negated):
                return boolean(bool(World(self.graph, self.kbs, m | self.given).solve(pattern)) != negated)
            case Call("BOUND", (Variable(name),)):
                return boolean(name in m | self.given)
            case Call("&&" | "||" as name, (left, right)):
                return self.logic(name == "||", self.optional(left, m), self.optional(right, m))
            case Call("!", (inner,)):
                return boolean(self.value(inner, m) != TRUE)
            case Call("SAMETERM", (left, right)):
                return boolean(self.value(left, m) == self.value(right, m))
            case Call("<", (left, right)):
                return boolean(less(self.value(left, m), self.value(right, m)))
        raise AssertionError(expression)

    def logic(self, decisive: bool, left: Term | None, right: Term | None) -> Term:
        if boolean(decisive) in (left, right):
            return boolean(decisive)
        if left is None or right is None:
            raise ExpressionError
        return boolean(not decisive)


def boolean(value: bool) -> Literal:
    return TRUE if value else FALSE


def integer(value: int) -> Literal:
    return Literal(str(value), XSD + "integer")


def less(left: Term, right: Term) -> bool:
    if not isinstance(left, Literal) or not isinstance(right, Literal) or left.datatype != right.datatype:
        raise ExpressionError
    read = int if left.datatype == XSD + "integer" else ["false", "true"].index
    return read(left.lexical) < read(right.lexical)


def compatible(left: Mu, right: Mu) -> bool:
    return all(left[v] == right[v] for v in left.keys() & right.keys())


def join(left: list[Mu], right: list[Mu]) -> list[Mu]:
    return [m | o for m in left for o in right if compatible(m, o)]


def unify(nodes: tuple[Node, ...], terms: tuple[Term, ...], m: Mu) -> Mu | None:
    extended = dict(m)
    for node, term in zip(nodes, terms, strict=True):
        if (extended.setdefault(node.name, term) if isinstance(node, Variable) else node) != term:
            return None
    return extended


def text(m: Mu) -> list[tuple[str, str]]:
    """The order that slices fall back on needs all mappings to bind the same variables to be the oracle's too."""
    return [(v, to_ntriples(m[v])) for v in sorted(m)]
