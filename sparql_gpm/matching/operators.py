"""The operators of the pattern algebra over relations (SPARQL 1.1, Section 18.5), multisets throughout.

A variable that a frame substitutes is never a column of a result: leaves remove it after the join with its value, and
an operator that binds it anew (BIND, VALUES, a group key) keeps the rows that agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparql_gpm.columns import UNBOUND, Ids, RowEvent, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.graph_names import take as take_names
from sparql_gpm.matching.bgp import TriplePattern, join_all, keep_all, match_triples, scan_all
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.groups import aggregate_column, order_rows, slice_rows
from sparql_gpm.matching.pattern_expression import Operator, PatternExpression
from sparql_gpm.matching.regular_view import star
from sparql_gpm.pattern import Aggregate
from sparql_gpm.relations.join import left_join, minus
from sparql_gpm.relations.keys import groups
from sparql_gpm.relations.relation import UNIT, Relation, nothing, union
from sparql_gpm.terms import IRI
from sparql_gpm.times import time_literal


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Joins, basic graph patterns and the filters over them, all as one n-ary join.

    conditions  all filters over them
    late        those that scans of events do not decide already
    bind_joins  operators that look up background knowledge, with the variables in their scope: they come last, so that
                they look up only what the rest can be joined with
    """

    scans: tuple[TriplePattern, ...]
    others: tuple[Operator, ...]
    conditions: tuple[PatternExpression, ...]
    late: tuple[PatternExpression, ...]
    bind_joins: tuple[tuple[Operator, frozenset[str]], ...] = ()

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions of all inputs together, without the blank nodes of the pattern."""
        relations: list[Relation] = []
        if self.scans:
            relations = self._scanned(frames)
        conditions = self.late if frames.graphs is None else self.conditions
        for other in self.others:
            if relations and not len(relations[-1]):
                return nothing()
            relations.append(other.evaluate(frames))
        joined = (
            self._bind_joined(relations, conditions, frames)
            if self.bind_joins
            else join_all(relations, conditions, frames)
        )
        return joined.without([name for name in joined.columns if name.startswith("_:")])

    def _scanned(self, frames: Frames) -> list[Relation]:
        """The solutions of the triple patterns."""
        if frames.graphs is not None:
            return [match_triples(self.scans, frames)]
        together = star(self.scans, frames, nameless=not self.others and not self.bind_joins)
        return scan_all(self.scans, frames) if together is None else [together]

    def _bind_joined(
        self, relations: list[Relation], conditions: Sequence[PatternExpression], frames: Frames
    ) -> Relation:
        """The join of the relations with the bind-joins; filters on other variables come first."""
        open_ones: frozenset[str] = frozenset().union(*(scope for _, scope in self.bind_joins))
        early = [c for c in conditions if open_ones.isdisjoint(c.variables)]
        late = [c for c in conditions if c not in early]
        current = join_all(relations, early, frames)
        waiting = list(self.bind_joins)
        while waiting and len(current):
            following = max(waiting, key=lambda part: len(part[1] & current.columns.keys()))
            waiting.remove(following)
            operator, scope = following
            probe = current if scope & current.columns.keys() else frames.probe
            current = join_all([current, operator.evaluate(frames.probed(probe))], (), frames)
        return keep_all(late, current, frames) if len(current) else nothing()


@dataclass(frozen=True, slots=True, eq=False)
class LeftJoin:
    """OPTIONAL."""

    left: Operator
    right: Operator
    condition: PatternExpression | None

    def evaluate(self, frames: Frames) -> Relation:
        """Compatible pairs for which the condition holds, and the left solutions that are in none."""
        left, right = _sides(self.left, self.right, frames)
        condition = self.condition
        if condition is None:
            return left_join(left, right)
        return left_join(condition.place(left, frames), right, lambda block: condition.keep(block, frames))


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """UNION of any number of sides."""

    sides: tuple[Operator, ...]

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions of every side."""
        return union([side.evaluate(frames) for side in self.sides], frames.all())


@dataclass(frozen=True, slots=True, eq=False)
class Minus:
    """MINUS."""

    left: Operator
    right: Operator

    def evaluate(self, frames: Frames) -> Relation:
        """Left solutions without a compatible right one that shares a bound variable."""
        return minus(*_sides(self.left, self.right, frames))


def _sides(left: Operator, right: Operator, frames: Frames) -> tuple[Relation, Relation]:
    """The solutions of both sides, the left ones in frames if the right ones are; right ones only if they matter."""
    first = left.evaluate(frames)
    if not len(first):
        return first, nothing()
    second = right.evaluate(frames.probed(first))
    return first if second.events is None else first.spread(frames.all()), second


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """FILTER and HAVING."""

    inner: Operator
    conditions: tuple[PatternExpression, ...]

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions for which all conditions hold."""
        return keep_all(self.conditions, self.inner.evaluate(frames), frames)


@dataclass(frozen=True, slots=True, eq=False)
class Extend:
    """BIND."""

    inner: Operator
    variable: str
    expression: PatternExpression

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions with the variable bound to the expression's value."""
        relation = self.expression.place(self.inner.evaluate(frames), frames)
        return frames.substitute(relation.extend(self.variable, self.expression.values(relation, frames)))


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """VALUES."""

    relation: Relation

    def evaluate(self, frames: Frames) -> Relation:
        """The rows that agree with the values substituted."""
        return frames.substitute(self.relation)


@dataclass(frozen=True, slots=True, eq=False)
class EventData:
    """The event's graph name and time, for the variables that are not None."""

    graph: str | None
    time: str | None
    dictionary: Dictionary

    def evaluate(self, frames: Frames) -> Relation:
        """One solution per frame."""
        every, batch = frames.all(), frames.view.batch
        distinct, of_frame = np.unique(frames.graph_of(every), return_inverse=True)
        columns = {}
        if self.graph is not None:
            names = take_names(batch.names, distinct)
            columns[self.graph] = as_ids([self.dictionary.intern(IRI(name)) for name in names])[of_frame]
        if self.time is not None:
            times = batch.times[distinct].tolist()
            columns[self.time] = as_ids([self.dictionary.intern(time_literal(time)) for time in times])[of_frame]
        return frames.substitute(Relation(len(every), every, columns))

    def row(self, event: RowEvent) -> tuple[int, int]:
        """The ids of an event's graph name and time, UNBOUND for a variable that is None."""
        return (
            self.dictionary.intern(IRI(event.name)) if self.graph is not None else UNBOUND,
            self.dictionary.intern(time_literal(event.time)) if self.time is not None else UNBOUND,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """GROUP BY with its aggregates.

    names       of the key variables; without any there is one group, even of no rows
    arguments   of the aggregates, None for COUNT(*)
    ordered     the query demands an order of the inner solutions
    """

    inner: Operator
    names: tuple[str, ...]
    keys: tuple[PatternExpression, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    arguments: tuple[PatternExpression | None, ...]
    ordered: bool
    dictionary: Dictionary

    def evaluate(self, frames: Frames) -> Relation:
        """One solution per group."""
        rows = self.inner.evaluate(frames.probed(None))
        for expression in (*self.keys, *self.arguments):
            rows = rows if expression is None else expression.place(rows, frames)
        result, of_row = self._by_keys(rows, frames) if self.keys else self._whole(rows, frames)
        for (name, aggregate), argument in zip(self.aggregates, self.arguments, strict=True):
            values = None if argument is None else argument.values(rows, frames)
            column = aggregate_column(aggregate, values, rows, of_row, len(result), self.ordered, self.dictionary)
            result = result.extend(name, column)
        return frames.substitute(result)

    def _by_keys(self, rows: Relation, frames: Frames) -> tuple[Relation, Ids]:
        columns = [key.values(rows, frames) for key in self.keys]
        if not len(rows):
            return nothing(), np.zeros(0, dtype=np.int64)
        classes = groups(columns if rows.events is None else [rows.events, *columns])
        events = None if rows.events is None else rows.events[classes.first]
        named = {name: column[classes.first] for name, column in zip(self.names, columns, strict=True)}
        return Relation(len(classes.first), events, named), classes.of_row

    def _whole(self, rows: Relation, frames: Frames) -> tuple[Relation, Ids]:
        if rows.events is None:
            return UNIT, np.zeros(len(rows), dtype=np.int64)
        every = frames.all()
        return Relation(len(every), every, {}), np.searchsorted(every, rows.events)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """ORDER BY; a slice without one has an Order without keys below it.

    ties    the variables that order solutions with equal keys
    """

    inner: Operator
    keys: tuple[tuple[PatternExpression, bool], ...]
    ties: tuple[str, ...]
    dictionary: Dictionary

    def evaluate(self, frames: Frames) -> Relation:
        """The same solutions in order, frame by frame."""
        relation = self.inner.evaluate(frames)
        for expression, _ in self.keys:
            relation = expression.place(relation, frames)
        keys = [(expression.values(relation, frames), descending) for expression, descending in self.keys]
        return order_rows(relation, keys, self.ties, self.dictionary)


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """SELECT of a subquery: its other variables are hidden, also from outer bindings."""

    inner: Operator
    variables: tuple[str, ...]

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions with only these variables; none are merged."""
        return self.inner.evaluate(frames.restricted(self.variables)).project(self.variables)


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """DISTINCT and REDUCED."""

    inner: Operator

    def evaluate(self, frames: Frames) -> Relation:
        """Each solution once, at its first place."""
        return self.inner.evaluate(frames).distinct()


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """OFFSET and LIMIT."""

    inner: Operator
    offset: int
    limit: int | None

    def evaluate(self, frames: Frames) -> Relation:
        """The solutions at these places of each frame."""
        return slice_rows(self.inner.evaluate(frames.probed(None)), self.offset, self.limit)
