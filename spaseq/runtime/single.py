"""The way of an event that comes by itself: matched and sequenced without a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automata.protocol import RowEvaluator
from automata.values import Match
from sparql_gpm.columns import RowEvent
from sparql_gpm.matcher import Matcher
from sparql_gpm.matching.row_matcher import RowMatcher, Triples, by_predicate
from sparql_gpm.relations.rows_by_key import SolutionTuple
from sparql_gpm.shared import NamedPattern
from spaseq.algebra.nodes import GraphPattern


class SingleEvents:
    """Takes the place of matchers and evaluator for a slice of one event."""

    def __init__(
        self,
        patterns: Sequence[GraphPattern],
        named: Sequence[NamedPattern],
        variables: Mapping[str, int],
        evaluator: RowEvaluator,
    ) -> None:
        self._evaluator = evaluator
        self._patterns = []
        for symbol, (pattern, shared) in enumerate(zip(patterns, named, strict=True)):
            matcher = shared.shared.matcher
            names = [shared.names[name] for name in sorted(pattern.variables, key=variables.__getitem__)]
            self._patterns.append((symbol, frozenset(pattern.streams), names, matcher, matcher.row_matcher(names)))

    def wanted(self) -> bool:
        """Whether the next event, which comes alone, should go this way."""
        return self._evaluator.prefers_single_events()

    def solutions(self, event: RowEvent) -> dict[int, list[SolutionTuple]]:
        """symbol → the solutions in the event, of the symbols that have any."""
        stream, triples = event.stream, by_predicate(event)
        found = {}
        for symbol, streams, names, matcher, single in self._patterns:
            if stream in streams:
                rows = _solved(single, matcher, names, triples, event)
                if rows:
                    found[symbol] = rows
        return found

    def matches(self, event: RowEvent, solutions: Mapping[int, Sequence[SolutionTuple]]) -> Sequence[Match]:
        """The matches that end with the event."""
        return self._evaluator.on_event(event.time, event.stream, solutions)


def _solved(
    single: RowMatcher | None, matcher: Matcher, names: Sequence[str], triples: Triples, event: RowEvent
) -> list[SolutionTuple]:
    rows = None if single is None else single.solutions(triples)
    if rows is not None:
        return rows
    found = matcher.match(event.batch)
    if not names:
        return [()] * len(found)
    return list(zip(*(found.columns[name].tolist() for name in names), strict=True))
