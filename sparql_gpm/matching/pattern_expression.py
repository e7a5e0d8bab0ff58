"""Expressions of patterns, evaluated over relations, with their EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparql_gpm.bounds import events_of
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.frames import Frames
from sparql_gpm.pattern import Call, Exists, Expression, Variable
from sparql_gpm.relations.keys import groups
from sparql_gpm.relations.relation import Relation


class Operator(Protocol):
    """A compiled pattern."""

    def evaluate(self, frames: Frames) -> Relation:
        """Its solutions in every frame, as a multiset."""


@dataclass(frozen=True, slots=True, eq=False)
class ExistsTest:
    """A compiled EXISTS; `variables`: all that its pattern mentions, in scope or not."""

    variables: frozenset[str]
    operator: Operator

    def holds(self, view: BatchView, graphs: Ids, columns: Mapping[str, Ids]) -> Mask:
        """The rows for which the pattern, with the row's bindings substituted, has a solution in the row's graph.

        Equal rows are tested once; rows that bind different variables are tested apart.
        """
        seen = {v: columns[v] for v in sorted(self.variables) if v in columns}
        result = np.zeros(len(graphs), dtype=np.bool_)
        for rows, bound in _by_bound_variables(seen, len(graphs)):
            keys = [graphs[rows], *(seen[v][rows] for v in bound)]
            classes = groups(keys)
            values = {v: column[classes.first] for v, column in zip(bound, keys[1:], strict=True)}
            frames = Frames(view, graphs=keys[0][classes.first], bindings=values)
            with events_of(keys[0][classes.first]):
                solutions = self.operator.evaluate(frames)
            found = np.zeros(len(classes.first), dtype=np.bool_)
            if len(solutions):
                found[slice(None) if solutions.events is None else solutions.events] = True
            result[rows] = found[classes.of_row]
        return result


def _by_bound_variables(columns: Mapping[str, Ids], size: int) -> Iterator[tuple[Ids, tuple[str, ...]]]:
    """The rows with the variables that they bind, one class of rows after the other."""
    if size:
        for part in Relation(size, None, columns).parts(tuple(columns)):
            rows = np.arange(size, dtype=np.int64) if part.rows is None else part.rows
            yield rows, tuple(v for v in columns if v in part.bound)


@dataclass(frozen=True, slots=True, eq=False)
class PatternExpression:
    """An expression compiled for relations.

    variables   whose values it needs, those inside EXISTS included
    tests       its EXISTS, compiled
    volatile    it has a value of its own in every solution, and so in every frame
    """

    expression: Expression
    variables: frozenset[str]
    tests: Mapping[Exists, ExistsTest]
    volatile: bool
    evaluator: ExpressionEvaluator

    @property
    def equated(self) -> tuple[str, str] | None:
        """The two variables that have equal values wherever it is true; None for other expressions."""
        match self.expression:
            case Call("=" | "SAMETERM", (Variable(left), Variable(right))):
                return left, right
        return None

    def equality_keys(self, left: Ids, right: Ids) -> tuple[Ids, Ids]:
        """Columns for the two variables that are equal wherever it is true."""
        keys = self.evaluator.value_classes(np.concatenate((left, right)))
        return keys[: len(left)], keys[len(left) :]

    def place(self, relation: Relation, frames: Frames) -> Relation:
        """The relation, repeated for every frame if the expression may differ between frames."""
        if relation.events is None and (self.tests or self.volatile or frames.substituted(self.variables)):
            return relation.spread(frames.all())
        return relation

    def values(self, relation: Relation, frames: Frames) -> Ids:
        """Its value in each row of a placed relation; UNBOUND where it has none."""
        if not len(relation):
            return np.full(0, UNBOUND, dtype=np.int64)
        columns = frames.values(relation, self.variables)
        return self.evaluator.evaluate(self.expression, columns, len(relation), self._resolver(relation, frames))

    def keep(self, relation: Relation, frames: Frames) -> Relation:
        """The rows for which it is true."""
        relation = self.place(relation, frames)
        if not len(relation):
            return relation
        columns = frames.values(relation, self.variables)
        resolver = self._resolver(relation, frames)
        return relation.take(self.evaluator.holds(self.expression, columns, len(relation), resolver))

    def _resolver(self, relation: Relation, frames: Frames) -> Callable[[Exists, Mapping[str, Ids], int], Mask] | None:
        if not self.tests:
            return None
        assert relation.events is not None
        graphs = frames.graph_of(relation.events)

        def resolve(exists: Exists, columns: Mapping[str, Ids], rows: int) -> Mask:
            assert rows == len(graphs), (rows, len(graphs))
            return self.tests[exists].holds(frames.view, graphs, columns)

        return resolve
