"""Graph patterns matched against one event at a time, without columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparql_gpm.columns import RowEvent
from sparql_gpm.matcher import Matcher
from sparql_gpm.matching.row_matcher import RowMatcher, Triples, by_predicate
from sparql_gpm.shared import NamedPattern
from spaseq.algebra.nodes import TemporalQuery

SolutionRow = tuple[int, ...]
"""The values of a step's variables in one solution, in the order in which the query numbers them."""


class RowSolver:
    """The GPMs of one query over single events."""

    def __init__(self, query: TemporalQuery, named: Sequence[NamedPattern]) -> None:
        self._patterns = []
        order = {name: number for number, name in enumerate(query.variables)}
        for symbol, (pattern, mine) in enumerate(zip(query.patterns, named, strict=True)):
            matcher = mine.shared.matcher
            names = [mine.names[name] for name in sorted(pattern.variables, key=order.__getitem__)]
            self._patterns.append((symbol, frozenset(pattern.streams), names, matcher, matcher.row_matcher(names)))

    def solutions(self, event: RowEvent) -> Mapping[int, Sequence[SolutionRow]]:
        """symbol → its solutions in the event, of the symbols that have any."""
        stream, triples = event.stream, by_predicate(event)
        found = {}
        for symbol, streams, names, matcher, single in self._patterns:
            if stream in streams:
                rows = _solved(single, matcher, names, triples, event)
                if rows:
                    found[symbol] = rows
        return found


def _solved(
    single: RowMatcher | None, matcher: Matcher, names: Sequence[str], triples: Triples, event: RowEvent
) -> Sequence[SolutionRow]:
    rows = None if single is None else single.solutions(triples)
    if rows is not None:
        return rows
    found = matcher.match(event.batch)
    if not names:
        return [()] * len(found)
    return list(zip(*(found.columns[name].tolist() for name in names), strict=True))
