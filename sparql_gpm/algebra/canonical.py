"""Patterns up to the names of their variables: when two of them have the same solutions, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from sparql_gpm.algebra.analysis import counts, expressions_of, is_volatile, walk
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Iteration,
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
    Triple,
    Union,
    Values,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Canonical:
    """A pattern under canonical names; equal ones have the same solutions.

    names   of each variable, the canonical one
    """

    pattern: Pattern
    names: Mapping[str, str]


def canonical(pattern: Pattern) -> Canonical | None:
    """The pattern with its variables numbered in the order in which they occur.

    None: no two evaluations are alike, since it calls RAND, UUID, STRUUID or BNODE. Patterns that count solutions
    keep their names: the order in which SAMPLE or LIMIT meet solutions may depend on these.
    """
    if any(is_volatile(expression) for node in walk(pattern) for expression in expressions_of(node)):
        return None
    renaming = _Renaming(keep=counts(pattern))
    renamed = renaming.pattern(pattern)
    return Canonical(renamed, renaming.names)


class _Renaming:
    """Gives names out as variables are met; those of blank nodes stay recognisable."""

    def __init__(self, keep: bool) -> None:
        self._keep = keep
        self.names: dict[str, str] = {}

    def pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case BGP(triples):
                return BGP(tuple(self._triple(triple) for triple in triples))
            case Join(left, right) | Union(left, right) | Minus(left, right):
                return replace(pattern, left=self.pattern(left), right=self.pattern(right))
            case LeftJoin(left, right, condition):
                sides = self.pattern(left), self.pattern(right)
                return LeftJoin(*sides, None if condition is None else self._expression(condition))
            case Filter(condition, inner):
                within = self.pattern(inner)
                return Filter(self._expression(condition), within)
            case Extend(inner, variable, expression):
                return Extend(self.pattern(inner), self._name(variable), self._expression(expression))
            case Values(variables, rows):
                return Values(self._all(variables), rows)
            case Graph(name, inner):
                within = self.pattern(inner)
                return Graph(self._variable(name) if isinstance(name, Variable) else name, within)
            case Service(endpoint, inner, silent):
                within = self.pattern(inner)
                return Service(self._variable(endpoint) if isinstance(endpoint, Variable) else endpoint, within, silent)
            case Group() | OrderBy() | Project() | Distinct() | Slice():
                return self._modifier(pattern)
            case _:
                assert_never(pattern)

    def _modifier(self, pattern: Group | OrderBy | Project | Distinct | Slice) -> Pattern:
        inner = self.pattern(pattern.inner)
        match pattern:
            case Group(_, keys, aggregates):
                grouped = tuple((self._name(name), self._expression(key)) for name, key in keys)
                return Group(inner, grouped, tuple((self._name(name), self._aggregate(a)) for name, a in aggregates))
            case OrderBy(_, order):
                return OrderBy(inner, tuple((self._expression(key), descending) for key, descending in order))
            case Project(_, variables):
                return Project(inner, self._all(variables))
            case Distinct():
                return Distinct(inner)
            case Slice():
                return replace(pattern, inner=inner)
            case _:
                assert_never(pattern)

    def _triple(self, triple: Triple | PathTriple) -> Triple | PathTriple:
        subject, target = self._node(triple.subject), self._node(triple.object)
        if isinstance(triple, Triple):
            return Triple(subject, self._node(triple.predicate), target)
        return PathTriple(subject, triple.path, target)

    def _expression(self, expression: Expression) -> Expression:
        match expression:
            case Variable():
                return self._variable(expression)
            case Constant():
                return expression
            case Call(_, arguments) | Cast(_, arguments):
                return replace(expression, arguments=tuple(self._expression(argument) for argument in arguments))
            case Exists(pattern, negated):
                return Exists(self.pattern(pattern), negated)
            case Aggregate():
                return self._aggregate(expression)
            case Iteration(name, variable):
                return Iteration(name, self._name(variable))
            case _:
                assert_never(expression)

    def _aggregate(self, aggregate: Aggregate) -> Aggregate:
        argument = aggregate.argument
        return replace(aggregate, argument=None if argument is None else self._expression(argument))

    def _node(self, node: Node) -> Node:
        return self._variable(node) if isinstance(node, Variable) else node

    def _variable(self, variable: Variable) -> Variable:
        return Variable(self._name(variable.name))

    def _all(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._name(name) for name in names)

    def _name(self, name: str) -> str:
        if name not in self.names:
            blank = "_:" if name.startswith("_:") else ""
            self.names[name] = name if self._keep else f"{blank}v{len(self.names)}"
        return self.names[name]
