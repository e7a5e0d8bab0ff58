"""The solutions of every GPM in a slice of events, found stage by stage, so that the events of each stage are counted.

Every GPM is matched in all events of its streams, whatever runs have bound: so the counts depend neither on the
cut into slices nor on the evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import thread_time

import numpy as np

from automata.slices.events import SymbolSolutions
from sparql_gpm.columns import Mask, Solutions
from sparql_gpm.counted_matcher import CountedMatcher, Passed
from sparql_gpm.shared import NamedPattern, Slice
from sparql_gpm.slice_events import NamedEvents
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.funnel.tally import FunnelTally
from spaseq.runtime.stages.partition_values import partition_values
from spaseq.runtime.stages.pattern_solver import PatternSolver, SemiJoinFilters


@dataclass(frozen=True, slots=True)
class _Found:
    """The solutions of a GPM in a slice, and its counts; `skipped` events of its streams are in no partition."""

    table: SymbolSolutions
    seen: int
    passed: Passed
    skipped: int
    seconds: float


class CountedSolver(PatternSolver):
    """The GPMs of one query; `matchers` by symbol, that of USING apart."""

    def __init__(
        self,
        query: TemporalQuery,
        named: Sequence[NamedPattern],
        matchers: Sequence[CountedMatcher],
        tally: FunnelTally,
    ) -> None:
        super().__init__(query, named, (), {})
        order = {name: number for number, name in enumerate(query.variables)}
        self._own_columns = [[(order[name], name) for name in pattern.variables] for pattern in query.patterns]
        self._matchers = matchers
        self._tally = tally
        self._using = None if query.using is None else query.using.symbol
        own = [{name: name for name in matcher.matcher.variables} for matcher in matchers]
        names = own if self._using is None else [*own, named[self._using].names]
        self._in_partitions = partition_values(query, names)

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters) -> dict[int, SymbolSolutions]:
        """symbol → its solutions, all of them; counts are kept once every GPM has been matched."""
        partitions, among = self._partitions_of(slice_)
        found = [self._found(symbol, slice_, partitions, among) for symbol in range(len(self._matchers))]
        for tally, each in zip(self._tally.steps, found, strict=True):
            tally.add(each.seen, each.passed, each.skipped, len(each.table.events))
            tally.seconds += each.seconds
        tables = {symbol: each.table for symbol, each in enumerate(found)}
        if partitions is not None and self._using is not None:
            tables[self._using] = self._table(self._using, partitions)
        return tables

    def taken(self, slice_: Slice, solutions: Mapping[int, SymbolSolutions]) -> NamedEvents:
        """The events of a slice in which some GPM has a solution; `solutions` were found last."""
        return slice_.named([table.events for symbol, table in solutions.items() if symbol != self._using])

    def _partitions_of(self, slice_: Slice) -> tuple[Solutions | None, Mask | None]:
        """The partitions of each event, and the events that have some; None without USING."""
        if self._in_partitions is None or self._using is None:
            return None, None
        partitions = self._in_partitions.of(slice_.solutions(self.source(self._using)[0]))
        among: Mask = np.zeros(len(slice_), dtype=np.bool_)
        among[partitions.events] = True
        return partitions, among

    def _found(self, symbol: int, slice_: Slice, partitions: Solutions | None, among: Mask | None) -> _Found:
        begun = thread_time()
        gpm, _ = self.source(symbol)
        seen = slice_.count(gpm.streams)
        found, passed = slice_.counted(gpm, self._matchers[symbol], among)
        skipped = 0
        if partitions is not None and among is not None and self._in_partitions is not None:
            skipped = seen - int(np.count_nonzero(among & slice_.on(gpm.streams)))
            found, exceeded = self._in_partitions.join(symbol, found, partitions, gpm.shared.pool.bounds)
            slice_.leave_out(gpm, *exceeded)
        values = {variable: found.columns[name] for variable, name in self._own_columns[symbol]}
        return _Found(SymbolSolutions(found.events, values), seen, passed, skipped, thread_time() - begun)
