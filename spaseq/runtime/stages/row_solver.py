"""Graph patterns matched against one event at a time, without columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sparql_gpm.bounds import Exceeded, TooCostly, within_one
from sparql_gpm.columns import RowEvent
from sparql_gpm.matcher import Matcher
from sparql_gpm.matching.row_matcher import RowMatcher, Triples, by_predicate
from sparql_gpm.shared import NamedPattern, PatternLabel, PatternPool
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.stages.pattern_solver import label_of
from spaseq.runtime.state.kept_solutions import SolutionRow


class RowSolver:
    """The GPMs of one query over single events."""

    def __init__(self, query: TemporalQuery, named: Sequence[NamedPattern]) -> None:
        self._patterns = []
        order = {name: number for number, name in enumerate(query.variables)}
        for symbol, (pattern, mine) in enumerate(zip(query.patterns, named, strict=True)):
            matcher = mine.shared.matcher
            names = [mine.names[name] for name in sorted(pattern.variables, key=order.__getitem__)]
            step = _Step(matcher, names, matcher.row_matcher(names), mine.shared.pool, label_of(query, symbol))
            self._patterns.append((symbol, frozenset(pattern.streams), step))

    def solutions(self, event: RowEvent) -> Mapping[int, Sequence[SolutionRow]]:
        """symbol → its solutions in the event, of the symbols that have any."""
        stream, triples = event.stream, by_predicate(event)
        found = {}
        for symbol, streams, step in self._patterns:
            if stream in streams:
                rows = step.solutions(triples, event)
                if rows:
                    found[symbol] = rows
        return found


@dataclass(frozen=True, slots=True)
class _Step:
    """One GPM; `row_matcher` None: it is matched in columns."""

    matcher: Matcher
    names: Sequence[str]
    row_matcher: RowMatcher | None
    pool: PatternPool
    label: PatternLabel

    def solutions(self, triples: Triples, event: RowEvent) -> Sequence[SolutionRow]:
        """The solutions in an event; none if it exceeds a bound."""
        single, bounds = self.row_matcher, self.pool.bounds
        if single is not None:
            if not single.predicates <= triples.keys():
                return ()
            match = single.solutions
            try:
                rows = (
                    within_one(bounds, partial(match, triples), event)
                    if single.has_conditions
                    else match(triples, event)
                )
            except TooCostly as error:
                self._left_out(event, Exceeded(0, str(error)))
                return ()
            if rows is not None and len(rows) <= bounds.solutions:
                return rows
        found = self.matcher.match(event.batch, None, bounds, partial(self._left_out, event))
        if not self.names:
            return [()] * len(found)
        return list(zip(*(found.columns[name].tolist() for name in self.names), strict=True))

    def _left_out(self, event: RowEvent, exceeded: Exceeded) -> None:
        self.pool.left_out(self.label, event.batch, exceeded)
