"""Patterns → operators: constants to ids, adjacent joins to one, background knowledge solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from sparql_gpm.algebra.analysis import is_ordered, is_static, is_volatile, needed_variables
from sparql_gpm.algebra.rewrite import conjuncts, push_filters
from sparql_gpm.algebra.scope import certain, expression_variables, in_scope, mentioned
from sparql_gpm.algebra.traversal import exists_in, walk
from sparql_gpm.background import Background, BackgroundError
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.background_operators import BindJoinOperator, GraphOperator, StaticOperator
from sparql_gpm.matching.bgp import PathScan, Scan, Slot, TriplePattern
from sparql_gpm.matching.operators import (
    ConstantOperator,
    DistinctOperator,
    ExtendOperator,
    FilterOperator,
    GroupOperator,
    JoinOperator,
    LeftJoinOperator,
    MinusOperator,
    OrderOperator,
    ProjectOperator,
    SliceOperator,
    UnionOperator,
)
from sparql_gpm.matching.paths import CompiledPath
from sparql_gpm.matching.pattern_expression import ExistsTest, Operator, PatternExpression
from sparql_gpm.matching.scans import push_to_scans
from sparql_gpm.pattern import (
    BGP,
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
    Minus,
    NegatedSet,
    Node,
    OrderBy,
    Path,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.relations.relation import constant
from sparql_gpm.terms import IRI


@dataclass(slots=True)
class _Inputs:
    """What an n-ary join is made of, while it is collected.

    labels      blank nodes of the scans: in another basic graph pattern the same label is another variable
    """

    scans: list[TriplePattern] = field(default_factory=list)
    others: list[Operator] = field(default_factory=list)
    bind_joins: list[tuple[Operator, frozenset[str]]] = field(default_factory=list)
    conditions: list[PatternExpression] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Compiler:
    """Turns patterns into operators; `background` None: there is no background knowledge."""

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
        if is_static(pattern) and not isinstance(pattern, BGP | Values | Graph | Service) and not self._asks(pattern):
            return StaticOperator(made, mentioned(pattern), self.dictionary, self.background)
        return made

    def _asks(self, pattern: Pattern) -> bool:
        """Whether some part of it asks background knowledge for what is wanted."""
        found = (self._asks_itself(node) for node in walk(pattern) if isinstance(node, Graph | Service))
        return self.background is not None and any(found)

    def _asks_itself(self, node: Graph | Service) -> bool:
        background = self._background()
        if isinstance(node, Service):
            return True
        names = [node.name.value] if isinstance(node.name, IRI) else background.names()
        return any(background.is_bind_joined(name, node.inner) for name in names)

    def _made(self, pattern: Pattern) -> Operator:
        match pattern:
            case BGP() | Join() | Filter():
                return self._join(pattern)
            case LeftJoin(left, right, condition):
                compiled = None if condition is None else self._expression(condition)
                return LeftJoinOperator(self._operator(left), self._operator(right), compiled)
            case Union():
                return UnionOperator(tuple(self._operator(side) for side in _sides(pattern)))
            case Minus(left, right):
                return MinusOperator(self._operator(left), self._operator(right))
            case Extend(inner, variable, expression):
                return ExtendOperator(self._operator(inner), variable, self._expression(expression))
            case Values(variables, rows):
                ids = [[UNBOUND if term is None else self.dictionary.pin(term) for term in row] for row in rows]
                return ConstantOperator(constant(variables, ids))
            case Graph():
                return self._graph(pattern)
            case Service():
                return self._service(pattern)
            case Group() | OrderBy() | Project() | Distinct() | Slice():
                return self._modifier(pattern)
            case _:
                assert_never(pattern)

    def _modifier(self, pattern: Group | OrderBy | Project | Distinct | Slice) -> Operator:
        match pattern:
            case Group():
                return self._group(pattern)
            case OrderBy(inner, keys):
                compiled = tuple((self._expression(key), descending) for key, descending in keys)
                return OrderOperator(self._operator(inner), compiled, tuple(sorted(in_scope(inner))), self.dictionary)
            case Project(inner, variables):
                return ProjectOperator(self._operator(inner), variables)
            case Distinct(inner):
                return DistinctOperator(self._operator(inner))
            case Slice(inner, offset, limit):
                ordered = inner if is_ordered(inner) else OrderBy(inner, ())
                return SliceOperator(self._operator(ordered), offset, limit)
            case _:
                assert_never(pattern)

    def _join(self, pattern: BGP | Join | Filter) -> Operator:
        conditions: list[PatternExpression] = []
        core: Pattern = pattern
        while isinstance(core, Filter):
            conditions.extend(self._expression(c) for c in conjuncts(core.condition))
            core = core.inner
        inputs = _Inputs(conditions=conditions)
        if isinstance(core, BGP | Join):
            self._collect(core, core, inputs)
        dearest_last = tuple(sorted(inputs.conditions, key=lambda condition: len(condition.tests)))
        if not isinstance(core, BGP | Join):
            return FilterOperator(self._operator(core), dearest_last)
        scans, late = push_to_scans(inputs.scans, dearest_last, self.dictionary)
        return JoinOperator(tuple(scans), tuple(inputs.others), dearest_last, tuple(late), tuple(inputs.bind_joins))

    def _collect(self, pattern: Pattern, whole: Pattern, inputs: _Inputs) -> None:
        """Flattens joins; a filter below one joins in if the others cannot change what it sees."""
        match pattern:
            case BGP(triples) if inputs.labels.isdisjoint(labels := _labels(pattern)):
                inputs.scans.extend(self._scan(triple) for triple in triples)
                inputs.labels |= labels
            case Join(left, right):
                self._collect(left, whole, inputs)
                self._collect(right, whole, inputs)
            case Filter(condition, inner) if self._may_float(condition, pattern, whole):
                inputs.conditions.extend(self._expression(c) for c in conjuncts(condition))
                self._collect(inner, whole, inputs)
            case _ if self._asks(pattern):
                inputs.bind_joins.append((self._operator(pattern), in_scope(pattern)))
            case _:
                inputs.others.append(self._operator(pattern))

    def _may_float(self, condition: Expression, at: Filter, whole: Pattern) -> bool:
        used = frozenset(expression_variables(condition))
        return not is_static(at) and not (used & in_scope(whole)) - certain(at.inner)

    def _scan(self, triple: Triple | PathTriple) -> TriplePattern:
        subject, object_ = self._slot(triple.subject), self._slot(triple.object)
        if isinstance(triple, Triple):
            return Scan(subject, self._slot(triple.predicate), object_)
        ids = {iri: self.dictionary.pin(iri) for iri in _iris(triple.path)}
        return PathScan(subject, CompiledPath(triple.path, ids), object_)

    def _slot(self, node: Node) -> Slot:
        return node.name if isinstance(node, Variable) else self.dictionary.pin(node)

    def _expression(self, expression: Expression) -> PatternExpression:
        tests = {exists: self.exists(exists) for exists in exists_in(expression)}
        variables = needed_variables(expression)
        return PatternExpression(expression, variables, tests, is_volatile(expression), self.evaluator)

    def _graph(self, pattern: Graph) -> Operator:
        if isinstance(pattern.name, IRI):
            return self._knowledge(pattern.name.value, None, pattern.inner)
        variable = pattern.name.name
        sides = [self._knowledge(name, variable, pattern.inner) for name in self._background().names()]
        return sides[0] if len(sides) == 1 else UnionOperator(tuple(sides))

    def _knowledge(self, name: str, variable: str | None, inner: Pattern) -> Operator:
        background, identifier = self._background(), self.dictionary.pin(IRI(name))
        if background.is_bind_joined(name, inner):
            return BindJoinOperator(name, identifier, variable, inner, in_scope(inner), background)
        return GraphOperator.of(name, identifier, variable, inner, background, self.dictionary)

    def _service(self, pattern: Service) -> Operator:
        if isinstance(pattern.endpoint, Variable):
            raise BackgroundError(f"SERVICE ?{pattern.endpoint.name}: the endpoint must be written as an IRI")
        made = self._knowledge(pattern.endpoint.value, None, pattern.inner)
        return replace(made, silent=pattern.silent) if isinstance(made, BindJoinOperator) else made

    def _background(self) -> Background:
        if self.background is None:
            raise BackgroundError("the pattern uses GRAPH or SERVICE, but no knowledge base was supplied")
        return self.background

    def _group(self, pattern: Group) -> Operator:
        arguments = [aggregate.argument for _, aggregate in pattern.aggregates]
        return GroupOperator(
            self._operator(pattern.inner),
            tuple(name for name, _ in pattern.keys),
            tuple(self._expression(key) for _, key in pattern.keys),
            pattern.aggregates,
            tuple(None if argument is None else self._expression(argument) for argument in arguments),
            is_ordered(pattern.inner),
            self.dictionary,
        )


def _sides(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Union):
        yield from _sides(pattern.left)
        yield from _sides(pattern.right)
    else:
        yield pattern


def _labels(pattern: BGP) -> set[str]:
    nodes = [node for triple in pattern.triples for node in (triple.subject, triple.object)]
    return {node.name for node in nodes if isinstance(node, Variable) and node.name.startswith("_:")}


def _iris(path: Path) -> Iterator[IRI]:
    match path:
        case Link(iri):
            yield iri
        case Inverse(inner) | Repeat(inner):
            yield from _iris(inner)
        case PathSequence(left, right) | PathAlternative(left, right):
            yield from _iris(left)
            yield from _iris(right)
        case NegatedSet(forward, backward):
            yield from (*forward, *backward)
        case _:
            assert_never(path)
