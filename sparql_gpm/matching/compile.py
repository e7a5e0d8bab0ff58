"""Compilation of patterns to operators: constants to ids, adjacent joins to one, knowledge bases solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.analysis import is_ordered, is_static, is_volatile, needed_variables
from sparql_gpm.algebra.rewrite import conjuncts, decided_by, filtered, push_filters
from sparql_gpm.algebra.scope import in_scope, labels, mentioned
from sparql_gpm.algebra.traversal import children, exists_in, subpaths, walk
from sparql_gpm.algebra.triple_terms import statements
from sparql_gpm.background import Background, BackgroundError
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching import operators
from sparql_gpm.matching.background_operators import BindJoinOperator, GraphOperator, StaticOperator
from sparql_gpm.matching.bgp import PathScan, Scan, TriplePattern
from sparql_gpm.matching.paths import CompiledPath
from sparql_gpm.matching.pattern_expression import ExistsTest, Operator, PatternExpression
from sparql_gpm.matching.scans import push_to_scans
from sparql_gpm.matching.term_parts import Slot, TermPattern
from sparql_gpm.pattern import Exists, Expression, Node, Path, Pattern, Variable
from sparql_gpm.relations.relation import constant
from sparql_gpm.terms import IRI


@dataclass(slots=True)
class _Inputs:
    """The inputs of an n-ary join, while they are collected.

    labels      blank nodes of the scans: in another basic graph pattern the same label is another variable
    """

    scans: list[TriplePattern] = field(default_factory=list)
    others: list[Operator] = field(default_factory=list)
    bind_joins: list[tuple[Operator, frozenset[str]]] = field(default_factory=list)
    conditions: list[PatternExpression] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles patterns to operators; `background` None: there is no background knowledge."""

    dictionary: Dictionary
    evaluator: ExpressionEvaluator
    background: Background | None

    def compile(self, pattern: Pattern) -> Operator:
        """The operator of a pattern as it was written; raises BackgroundError."""
        return self._operator(push_filters(pattern))

    def exists(self, exists: Exists) -> ExistsTest:
        """The test of an EXISTS."""
        return ExistsTest(mentioned(exists.pattern), self.compile(exists.pattern))

    def _operator(self, pattern: Pattern) -> Operator:
        made = self._made(pattern)
        is_background = isinstance(pattern, algebra.Graph | algebra.Service)
        if children(pattern) and not is_background and is_static(pattern) and not self.is_bind_joined(pattern):
            return StaticOperator(made, mentioned(pattern), self.dictionary, self.background)
        return made

    def is_bind_joined(self, pattern: Pattern) -> bool:
        """Some part of it is looked up in background knowledge by values of the rest."""
        return self.background is not None and any(map(self._looks_up, walk(pattern)))

    def _looks_up(self, node: Pattern) -> bool:
        match node:
            case algebra.Service():
                return True
            case algebra.Graph(name, inner):
                background = self._background()
                names = [name.value] if isinstance(name, IRI) else background.names()
                return any(background.is_bind_joined(name, inner) for name in names)
        return False

    def _made(self, pattern: Pattern) -> Operator:
        match pattern:
            case algebra.BGP() | algebra.Join() | algebra.Filter():
                return self._join(pattern)
            case algebra.LeftJoin(left, right, condition):
                compiled = None if condition is None else self.expression(condition)
                return operators.LeftJoin(self._operator(left), self._operator(right), compiled)
            case algebra.Union():
                return operators.Union(tuple(self._operator(side) for side in _sides(pattern)))
            case algebra.Minus(left, right):
                return operators.Minus(self._operator(left), self._operator(right))
            case algebra.Extend(inner, variable, expression):
                return operators.Extend(self._operator(inner), variable, self.expression(expression))
            case algebra.Values(variables, rows):
                ids = [[UNBOUND if term is None else self.dictionary.pin(term) for term in row] for row in rows]
                return operators.Constant(constant(variables, ids))
            case algebra.EventData(graph, time):
                return operators.EventData(graph, time, self.dictionary)
            case algebra.Graph():
                return self._graph(pattern)
            case algebra.Service():
                return self._service(pattern)
            case algebra.Group() | algebra.OrderBy() | algebra.Project() | algebra.Distinct() | algebra.Slice():
                return self._modifier(pattern)
            case _:
                assert_never(pattern)

    def _modifier(self, pattern: algebra.Modifier) -> Operator:
        match pattern:
            case algebra.Group():
                return self._group(pattern)
            case algebra.OrderBy(inner, keys):
                compiled = tuple((self.expression(key), descending) for key, descending in keys)
                return operators.Order(self._operator(inner), compiled, tuple(sorted(in_scope(inner))), self.dictionary)
            case algebra.Project(inner, variables):
                return operators.Project(self._operator(inner), variables)
            case algebra.Distinct(inner):
                return operators.Distinct(self._operator(inner))
            case algebra.Slice(inner, offset, limit):
                ordered = inner if is_ordered(inner) else algebra.OrderBy(inner, ())
                return operators.Slice(self._operator(ordered), offset, limit)
            case _:
                assert_never(pattern)

    def _join(self, pattern: algebra.BGP | algebra.Join | algebra.Filter) -> Operator:
        inputs = _Inputs()
        core: Pattern = pattern
        while isinstance(core, algebra.Filter):
            inputs.conditions.extend(map(self.expression, conjuncts(core.condition)))
            core = core.inner
        if isinstance(core, algebra.BGP | algebra.Join):
            self._collect(core, core, inputs)
        costliest_last = tuple(sorted(inputs.conditions, key=lambda condition: len(condition.tests)))
        if not isinstance(core, algebra.BGP | algebra.Join):
            return operators.Filter(self._operator(core), costliest_last)
        scans, late = push_to_scans(inputs.scans, costliest_last, self.dictionary)
        return operators.Join(tuple(scans), tuple(inputs.others), costliest_last, tuple(late), tuple(inputs.bind_joins))

    def _collect(self, pattern: Pattern, whole: Pattern, inputs: _Inputs) -> None:
        """Flattens joins; a filter below one is lifted if the other inputs cannot change what it sees."""
        match pattern:
            case algebra.BGP(triples) if inputs.labels.isdisjoint(own := labels(triples)):
                inputs.scans.extend(self.scans(pattern))
                inputs.labels |= own
            case algebra.Join(left, right):
                self._collect(left, whole, inputs)
                self._collect(right, whole, inputs)
            case algebra.Filter(condition, inner) if not is_static(pattern) and (
                lifted := [each for each in conjuncts(condition) if decided_by(each, inner, whole)]
            ):
                inputs.conditions.extend(map(self.expression, lifted))
                staying = [each for each in conjuncts(condition) if each not in lifted]
                self._collect(filtered(staying, inner), whole, inputs)
            case _ if self.is_bind_joined(pattern):
                inputs.bind_joins.append((self._operator(pattern), in_scope(pattern)))
            case _:
                inputs.others.append(self._operator(pattern))

    def scans(self, pattern: algebra.BGP) -> Iterator[TriplePattern]:
        """The scans of the triple patterns, without filters."""
        for triple, parts in statements(pattern.triples):
            subject, object_ = self._slot(triple.subject), self._slot(triple.object)
            terms = tuple(map(self._term, parts))
            if isinstance(triple, algebra.Triple):
                yield Scan(subject, self._slot(triple.predicate), object_, terms)
            else:
                ids = {iri: self.dictionary.pin(iri) for iri in _iris(triple.path)}
                yield PathScan(subject, CompiledPath(triple.path, ids), object_, terms)

    def _term(self, of: algebra.TermParts) -> TermPattern:
        parts = self._slot(of.subject), self._slot(of.predicate), self._slot(of.object)
        return TermPattern(of.term.name, parts, self.dictionary)

    def _slot(self, node: Node) -> Slot:
        return node.name if isinstance(node, Variable) else self.dictionary.pin(node)

    def expression(self, expression: Expression) -> PatternExpression:
        """The expression, with its EXISTS compiled."""
        tests = {exists: self.exists(exists) for exists in exists_in(expression)}
        variables = needed_variables(expression)
        return PatternExpression(expression, variables, tests, is_volatile(expression), self.evaluator)

    def _graph(self, pattern: algebra.Graph) -> Operator:
        if isinstance(pattern.name, IRI):
            return self._knowledge(pattern.name.value, None, pattern.inner)
        variable = pattern.name.name
        sides = [self._knowledge(name, variable, pattern.inner) for name in self._background().names()]
        return sides[0] if len(sides) == 1 else operators.Union(tuple(sides))

    def _knowledge(self, name: str, variable: str | None, inner: Pattern) -> Operator:
        background, identifier = self._background(), self.dictionary.pin(IRI(name))
        if background.is_bind_joined(name, inner):
            return BindJoinOperator(name, identifier, variable, inner, in_scope(inner), background)
        return GraphOperator.of(name, identifier, variable, inner, background, self.dictionary)

    def _service(self, pattern: algebra.Service) -> Operator:
        if isinstance(pattern.endpoint, Variable):
            raise BackgroundError(f"SERVICE ?{pattern.endpoint.name}: the endpoint must be written as an IRI")
        made = self._knowledge(pattern.endpoint.value, None, pattern.inner)
        return replace(made, silent=pattern.silent) if isinstance(made, BindJoinOperator) else made

    def _background(self) -> Background:
        if self.background is None:
            raise BackgroundError("the pattern uses GRAPH or SERVICE, but no knowledge base was supplied")
        return self.background

    def _group(self, pattern: algebra.Group) -> Operator:
        arguments = [aggregate.argument for _, aggregate in pattern.aggregates]
        return operators.Group(
            self._operator(pattern.inner),
            tuple(name for name, _ in pattern.keys),
            tuple(self.expression(key) for _, key in pattern.keys),
            pattern.aggregates,
            tuple(None if argument is None else self.expression(argument) for argument in arguments),
            is_ordered(pattern.inner),
            self.dictionary,
        )


def _sides(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, algebra.Union):
        yield from _sides(pattern.left)
        yield from _sides(pattern.right)
    else:
        yield pattern


def _iris(path: Path) -> Iterator[IRI]:
    for part in subpaths(path):
        match part:
            case algebra.Link(iri):
                yield iri
            case algebra.NegatedSet(forward, backward):
                yield from (*forward, *backward)
