"""Patterns up to the names of their variables: equal canonical forms have the same solutions, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.analysis import counts, is_volatile
from sparql_gpm.algebra.traversal import expressions_of, map_children, map_expressions, map_nodes, map_operands, walk
from sparql_gpm.pattern import Expression, Node, Pattern, Variable

AnyNode = TypeVar("AnyNode", bound=Node)


@dataclass(frozen=True, slots=True)
class Canonical:
    """A pattern under canonical names; `names` gives that of each variable."""

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


def renamed(pattern: Pattern, names: Mapping[str, str]) -> Pattern:
    """The pattern with other names for some of its variables, which must not occur in it."""
    renaming = _Renaming(keep=True)
    renaming.names |= names
    return renaming.pattern(pattern)


class _Renaming:
    """Gives names out as variables occur; those of blank nodes stay recognisable."""

    def __init__(self, keep: bool) -> None:
        self._keep = keep
        self.names: dict[str, str] = {}

    def pattern(self, pattern: Pattern) -> Pattern:
        renamed = map_expressions(map_children(pattern, self.pattern), self._expression)
        match renamed:
            case algebra.BGP(triples):
                return algebra.BGP(tuple(map_nodes(member, self._node) for member in triples))
            case algebra.Extend():
                return replace(renamed, variable=self._name(renamed.variable))
            case algebra.Values() | algebra.Project():
                return replace(renamed, variables=tuple(map(self._name, renamed.variables)))
            case algebra.EventData(graph, time):
                return algebra.EventData(graph and self._name(graph), time and self._name(time))
            case algebra.Graph():
                return replace(renamed, name=self._node(renamed.name))
            case algebra.Service():
                return replace(renamed, endpoint=self._node(renamed.endpoint))
            case algebra.Group(inner, keys, aggregates):
                named = tuple((self._name(name), aggregate) for name, aggregate in aggregates)
                return algebra.Group(inner, tuple((self._name(name), key) for name, key in keys), named)
        return renamed

    def _expression(self, expression: Expression) -> Expression:
        match expression:
            case Variable():
                return self._node(expression)
            case algebra.Exists():
                return replace(expression, pattern=self.pattern(expression.pattern))
            case algebra.Iteration():
                return replace(expression, variable=self._name(expression.variable))
        return map_operands(expression, self._expression)

    def _node(self, node: AnyNode) -> AnyNode:
        return replace(node, name=self._name(node.name)) if isinstance(node, Variable) else node

    def _name(self, name: str) -> str:
        if name not in self.names:
            blank = "_:" if name.startswith("_:") else ""
            self.names[name] = name if self._keep else f"{blank}v{len(self.names)}"
        return self.names[name]
