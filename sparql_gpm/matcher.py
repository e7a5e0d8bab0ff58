"""Graph patterns over batches of events: the solutions of one pattern in every event at once.

matcher = compile_pattern(parse_group(text, prefixes, base).pattern, dictionary, evaluator)
solutions = matcher.match(batch)            # a set of solution mappings per event, as columns of ids
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from arrays.wanted import check_wanted
from sparql_gpm.algebra.analysis import counts, is_volatile
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import exists_in, expressions_of, walk
from sparql_gpm.background import Background
from sparql_gpm.bounds import Exceeded, MatchBounds, any_rows, in_some_event, inseparable, within
from sparql_gpm.columns import EventBatch, Ids, Mask, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.compile import Compiler
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.needs import Needs, needs_of
from sparql_gpm.matching.pattern_expression import ExistsTest, Operator
from sparql_gpm.matching.ranges import Ranges, ranges_of
from sparql_gpm.matching.row_matcher import RowMatcher, row_matcher
from sparql_gpm.matching.semi_join import semi_join_events, semi_join_scan
from sparql_gpm.pattern import Exists, Expression, Pattern
from sparql_gpm.relations.relation import Relation, union

_USUAL = MatchBounds()


def _ignored(exceeded: Exceeded) -> None:
    pass


def compile_pattern(
    pattern: Pattern,
    dictionary: Dictionary,
    evaluator: ExpressionEvaluator,
    background: Background | None = None,
    conditions: Iterable[Expression] = (),
) -> Matcher:
    """The matcher of a pattern; patterns over knowledge bases are solved now, or BackgroundError is raised.

    conditions  expressions whose EXISTS will be evaluated by `Matcher.exists`
    """
    compiler = Compiler(dictionary, evaluator, background)
    tests = {exists: compiler.exists(exists) for condition in conditions for exists in exists_in(condition)}
    sensitive = counts(pattern) or any(counts(exists.pattern) for exists in tests)
    is_set = not sensitive and not any(is_volatile(e) for node in walk(pattern) for e in expressions_of(node))
    operator, variables = compiler.compile(pattern), tuple(sorted(in_scope(pattern)))
    ranges = ranges_of(operator, dictionary)
    return Matcher(variables, needs_of(operator), ranges, compiler, operator, tests, sensitive, is_set)


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """A compiled pattern. It holds no data of events, so one serves any number of batches.

    variables   the variables in scope, sorted
    needs       the triples that an event must have for a solution
    ranges      the numbers that are objects of their predicates in a solution
    is_set      only the set of solutions matters, not how often one is found
    """

    variables: tuple[str, ...]
    needs: Needs
    ranges: Ranges
    _compiler: Compiler
    _operator: Operator
    _exists: dict[Exists, ExistsTest]
    _counts_solutions: bool
    is_set: bool

    def match(
        self,
        batch: EventBatch | BatchView,
        events: Mask | None = None,
        bounds: MatchBounds = _USUAL,
        left_out: Callable[[Exceeded], object] = _ignored,
    ) -> Solutions:
        """The set of solutions in each event, or in each event of the mask; a view is shared between matchers.

        An event that exceeds a bound has none: `left_out` is called with it. Raises TooManyTogether where several
        events have more than `SOLUTIONS_TOGETHER_MAX` together; then it is not called.
        """
        view = self.view(batch)

        def matched(some: Mask | None) -> Relation:
            check_wanted()
            frames = Frames(view, live=None if some is None or some.all() else some, distinct=self.is_set)
            return self.projected(self._operator.evaluate(frames), frames)

        parts, exceeded = within(bounds, events, len(view), matched)
        for each in exceeded:
            left_out(each)
        return self.within_bounds(parts, bounds, left_out)

    def projected(self, relation: Relation, frames: Frames) -> Relation:
        """The set of solutions in each frame, of the variables in scope."""
        return relation.project(self.variables).distinct().spread(frames.all())

    def within_bounds(
        self, parts: Sequence[Relation], bounds: MatchBounds, left_out: Callable[[Exceeded], object]
    ) -> Solutions:
        """The solutions of all parts, by event; `left_out` is called with each event that has too many."""
        relation = parts[0] if len(parts) == 1 else union(parts, np.zeros(0, dtype=np.int64))
        if len(relation) > bounds.solutions and relation.events is not None:
            over = np.bincount(relation.events) > bounds.solutions
            for event in np.flatnonzero(over).tolist():
                left_out(Exceeded(event, bounds.too_many))
            relation = relation.take(~over[relation.events])
        return self._solutions(relation)

    def semi_join(self, batch: BatchView, variable: str, values: Ids) -> Mask | None:
        """The events outside of which no solution has one of the values; None if no triple pattern tells."""
        scan = semi_join_scan(self._operator, variable)
        return None if scan is None else semi_join_events(scan, variable, batch, values)

    def row_matcher(self, variables: Sequence[str]) -> RowMatcher | None:
        """`match` for one event at a time, as rows of these variables; None if the pattern needs columns."""
        return row_matcher(self._operator, variables, self._compiler.dictionary)

    def solve(
        self, batch: EventBatch | BatchView, graphs: Ids | None = None, given: Mapping[str, Ids] | None = None
    ) -> Solutions:
        """The multiset of solutions in each event of the batch.

        graphs, given   instead: in event graphs[i], with given[v][i] substituted for ?v, for each i; `events` of the
                        result is then i. No value is UNBOUND, and no substituted variable is a column of the result.
                        Raises TooManyRows where an event is being matched for which this is done.
        """
        check_wanted()
        frames = Frames(self.view(batch), graphs=graphs, bindings=given or {})
        with nullcontext() if given else any_rows():
            relation = self._operator.evaluate(frames).project(self.variables)
        return self._solutions(relation.spread(frames.all()))

    def exists(
        self,
        batch: EventBatch | BatchView,
        event_of_row: Ids,
        exists: Exists,
        columns: Mapping[str, Ids],
        rows: int,
        bounds: MatchBounds = _USUAL,
        left_out: Callable[[Exceeded], object] = _ignored,
    ) -> Mask:
        """The rows of bindings for which `exists`, negated or not, has a solution in the row's event of the batch.

        A row that exceeds a bound has none: `left_out` is called with its event.
        """
        assert rows == len(event_of_row), (rows, len(event_of_row))
        if exists not in self._exists:
            self._exists[exists] = self._compiler.exists(exists)
        test, view = self._exists[exists], self.view(batch)

        def found(some: Mask | None) -> Ids:
            chosen = np.arange(rows, dtype=np.int64) if some is None else np.flatnonzero(some)
            with in_some_event():
                values = columns if some is None else {name: column[chosen] for name, column in columns.items()}
                return chosen[test.holds(view, event_of_row[chosen], values)]

        with inseparable():
            parts, exceeded = within(replace(bounds, watch=None, singly=False), None, rows, found)
        for row, reason in exceeded:
            left_out(Exceeded(int(event_of_row[row]), reason))
        result: Mask = np.zeros(rows, dtype=np.bool_)
        for part in parts:
            result[part] = True
        return result

    def view(self, batch: EventBatch | BatchView) -> BatchView:
        """The graphs as the pattern reads them: where solutions count, each triple once."""
        view = batch if isinstance(batch, BatchView) else BatchView(batch)
        return view.distinct() if self._counts_solutions else view

    def _solutions(self, relation: Relation) -> Solutions:
        events = relation.events if relation.events is not None else np.zeros(0, dtype=np.int64)
        if len(events) > 1 and not np.all(events[1:] >= events[:-1]):
            relation = relation.take(np.argsort(events, kind="stable"))
            events = relation.events if relation.events is not None else events
        return Solutions(events, {v: relation.column(v) for v in self.variables})
