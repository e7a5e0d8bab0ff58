"""Graph patterns matched against one event at a time, without columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sparql_gpm.bounds import Exceeded, TooCostly, within_one
from sparql_gpm.columns import RowEvent
from sparql_gpm.labels import PatternLabel
from sparql_gpm.matching.row_matcher import RowMatcher, Triples
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.shared import NamedPattern, PatternPool, SharedPattern
from sparql_gpm.slice_events import SingleEvent
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.stages.partition_values import join_rows, row_partitions
from spaseq.runtime.stages.pattern_solver import label_of
from spaseq.runtime.state.kept_solutions import SolutionRow


class RowSolver:
    """The GPMs of one query over single events.

    unseen  the constants of the GPMs that no event has had; None: nobody asks
    """

    unseen: Unseen | None = None

    def __init__(self, query: TemporalQuery, named: Sequence[NamedPattern]) -> None:
        self._patterns = []
        self._using: _Step | None = None
        order = {name: number for number, name in enumerate(query.variables)}
        given = () if query.using is None else query.using.variables
        for symbol, (pattern, mine) in enumerate(zip(query.patterns, named, strict=True)):
            own = [name for name in sorted(pattern.variables, key=order.__getitem__) if name in mine.names]
            if query.using is not None and symbol == query.using.symbol:
                self._using = _step(mine, given, label_of(query, symbol))
                self._using_symbol = symbol
                continue
            read = list(dict.fromkeys([*own, *(name for name in given if name in mine.names)]))
            shared = [(read.index(name), place) for place, name in enumerate(given) if name in mine.names]
            step = _step(mine, read, label_of(query, symbol))
            self._patterns.append((symbol, frozenset(pattern.streams), step, shared, len(own)))

    def solutions(self, single: SingleEvent) -> Mapping[int, Sequence[SolutionRow]]:
        """symbol → its solutions in the event, of the symbols that have any."""
        if self.unseen is not None and self.unseen.needs:
            self.unseen.in_event(single.triples)
        if self._using is not None:
            return self._in_partitions(self._using, single)
        found, stream = {}, single.event.stream
        for symbol, streams, step, _, _ in self._patterns:
            if stream in streams:
                rows = step.solutions(single)
                if rows:
                    found[symbol] = rows
        return found

    def _in_partitions(self, using: _Step, single: SingleEvent) -> Mapping[int, Sequence[SolutionRow]]:
        partitions = row_partitions(using.solutions(single))
        if not partitions:
            return {}
        event = single.event
        found: dict[int, Sequence[SolutionRow]] = {self._using_symbol: partitions}
        for symbol, streams, step, shared, width in self._patterns:
            if event.stream in streams:
                rows = step.solutions(single)
                if len(rows) * len(partitions) > step.pool.bounds.solutions:
                    step.leave_out(event, Exceeded(0, step.pool.bounds.too_many))
                elif rows := join_rows(rows, partitions, shared, width):
                    found[symbol] = rows
        return found


def _step(mine: NamedPattern, variables: Sequence[str], label: PatternLabel) -> _Step:
    """The GPM, with the values of these variables."""
    names = tuple([mine.names[name] for name in variables])
    return _Step(mine.shared, names, mine.shared.row_matcher(names), mine.shared.pool, label)


@dataclass(frozen=True, slots=True)
class _Step:
    """One GPM; `row_matcher` None: it is matched in columns."""

    shared: SharedPattern
    names: tuple[str, ...]
    row_matcher: RowMatcher | None
    pool: PatternPool
    label: PatternLabel

    def solutions(self, single: SingleEvent) -> Sequence[SolutionRow]:
        """The solutions in an event, found once for all queries; none if it exceeds a bound."""
        triples, matcher = single.triples, self.row_matcher
        if matcher is not None and not matcher.predicates <= triples.keys():
            return ()
        if not self.pool.supervision.lets(self.label, single.event):
            return ()
        if self.pool.uses(self.shared) == 1:
            return self._matched(triples, single.event, {})
        key = self.shared.number, self.names
        if key not in single.found:
            over: dict[int, Exceeded] = {}
            single.found[key] = self._matched(triples, single.event, over)
            if over:
                single.exceeded[key] = over[0]
        elif key in single.exceeded:
            self.leave_out(single.event, single.exceeded[key])
        return single.found[key]

    def _matched(self, triples: Triples, event: RowEvent, over: dict[int, Exceeded]) -> Sequence[SolutionRow]:
        """The solutions; `over` gets the event if it exceeds a bound, which is reported."""
        matcher, bounds = self.row_matcher, self.pool.bounds
        if matcher is not None:
            match = matcher.solutions
            try:
                rows = (
                    within_one(bounds, partial(match, triples), event)
                    if matcher.has_conditions
                    else match(triples, event)
                )
            except TooCostly as error:
                over[0] = Exceeded(0, str(error))
                self.leave_out(event, over[0])
                return ()
            if rows is not None and len(rows) <= bounds.solutions:
                return rows

        def leave_out(exceeded: Exceeded) -> None:
            over[0] = exceeded
            self.leave_out(event, exceeded)

        found = self.shared.matcher.match(event.batch, None, bounds, leave_out)
        if not self.names:
            return [()] * len(found)
        return list(zip(*(found.columns[name].tolist() for name in self.names), strict=True))

    def leave_out(self, event: RowEvent, exceeded: Exceeded) -> None:
        """Reports an event that exceeds a bound."""
        self.pool.left_out(self.label, event.batch, exceeded)
