"""The solutions of every GPM in a slice of events, in columns; those of a conjunction lazily (G 7.3, Algorithm 10).

A member of `A & B` can only be taken at a time at which the other has a solution too. So the member that is expected to
have solutions at the fewest times is matched first, the next one over the events of those times only, and so on;
where a member has no solution, the others are not matched.

A GPM that no run begins with is matched only in the events that bear a value which some run, or some step
before it in the slice, has bound (`automata.plan.semi_join`), unless other queries read all its solutions anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from automata.plan.semi_join import SemiJoinFilter
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids
from sparql_gpm.columns import Mask, Solutions
from sparql_gpm.labels import PatternLabel
from sparql_gpm.shared import NamedPattern, Slice, StreamPattern
from sparql_gpm.slice_events import NamedEvents
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.stages.partition_values import PartitionValues, partition_values

SemiJoinFilters = Callable[[int], Mapping[int, SemiJoinFilter]]
"""By symbol, the solutions that the next slice of so many events needs; computed when it is called."""


def unfiltered(_: int) -> Mapping[int, SemiJoinFilter]:
    """The filters of a slice of which all solutions are needed."""
    return {}


_NONE: Ids = np.zeros(0, dtype=np.int64)


def label_of(query: TemporalQuery, symbol: int) -> PatternLabel:
    """The names by which a report calls a GPM of a query."""
    return PatternLabel(query.patterns[symbol].name, query.name, query.streams)


class PatternSolver:
    """The GPMs of one query.

    conjunctions    sets of symbols that are only ever taken together; () to match every GPM everywhere
    semi_joins      GPMs are matched only where runs have bound a value
    matched         by symbol, the number of events in which its GPM was matched
    narrowed        is told of symbols that are matched in part of the events of their streams only: those that bear
                    values of a variable, which is named, or those at the times of other members of a conjunction, ""
    nothing         no solution of any
    """

    def __init__(
        self,
        query: TemporalQuery,
        named: Sequence[NamedPattern],
        conjunctions: Sequence[tuple[int, ...]],
        narrowed: dict[int, str],
    ) -> None:
        variables = {name: number for number, name in enumerate(query.variables)}
        pairs = list(zip(query.patterns, named, strict=True))
        self._gpms = tuple(
            StreamPattern(mine.shared, pattern.streams, label_of(query, symbol))
            for symbol, (pattern, mine) in enumerate(pairs)
        )
        self._columns = [
            [(variables[name], mine.names.get(name, name)) for name in pattern.variables] for pattern, mine in pairs
        ]
        self._names = query.variables
        self._pool = named[0].shared.pool
        self._partitions = partition_values(query, [mine.names for mine in named])
        self.conjunctions = conjunctions
        self.semi_joins = True
        self._whole = True
        self.nothing = {
            symbol: SymbolSolutions(_NONE, {variable: _NONE for variable, _ in columns})
            for symbol, columns in enumerate(self._columns)
        }
        self.matched = [0] * len(pairs)
        self.narrowed = narrowed
        self._solved = [0] * len(pairs)

    def source(self, symbol: int) -> tuple[StreamPattern, dict[int, str]]:
        """The pattern of a GPM, and the column of its solutions for each variable."""
        return self._gpms[symbol], dict(self._columns[symbol])

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters) -> dict[int, SymbolSolutions]:
        """symbol → its solutions, at least those that filters ask for; with a conjunction no slice ends in a time."""
        if self._partitions is not None:
            return self._solve_in_partitions(self._partitions, slice_)
        found: dict[int, SymbolSolutions] = {}
        for together in self.conjunctions:
            found |= self._solve_lazily(together, slice_)
        own = any(n not in found and not slice_.is_shared(gpm) for n, gpm in enumerate(self._gpms))
        filters = semi_join_filters(len(slice_)) if self.semi_joins and own else {}
        self._whole = not filters and not self.conjunctions
        for symbol in self._feeders_first(found.keys(), filters):
            semi_join = filters.get(symbol)
            own = not slice_.is_shared(self._gpms[symbol])
            if semi_join is not None and own and semi_join.target.feeders <= found.keys():
                found[symbol] = self._solve_filtered(symbol, slice_, semi_join, found)
            else:
                self.matched[symbol] += slice_.count(self._gpms[symbol].streams)
                found[symbol] = self._table(symbol, slice_.solutions(self._gpms[symbol]))
        return {symbol: found[symbol] for symbol in range(len(self._gpms))}

    def taken(self, slice_: Slice, solutions: Mapping[int, SymbolSolutions]) -> NamedEvents:
        """The events of a slice in which some GPM has a solution; `solutions` were found last."""
        if self._whole:
            return slice_.with_solutions(self._gpms)
        using = None if self._partitions is None else self._partitions.symbol
        return slice_.named([table.events for symbol, table in solutions.items() if symbol != using])

    def _solve_in_partitions(self, values: PartitionValues, slice_: Slice) -> dict[int, SymbolSolutions]:
        """Each GPM in the events that are in a partition; with PARTITION BY no solution is solved lazily."""
        self._whole = False
        using = self._gpms[values.symbol]
        partitions = values.of(slice_.solutions(using))
        found = {}
        among: Mask = np.zeros(len(slice_), dtype=np.bool_)
        among[partitions.events] = True
        for symbol, gpm in enumerate(self._gpms):
            if symbol == values.symbol:
                found[symbol] = self._table(symbol, partitions)
                continue
            own = slice_.solutions_among(gpm, among)
            self.matched[symbol] += int(np.count_nonzero(among & slice_.on(gpm.streams)))
            joined, exceeded = values.join(symbol, own, partitions, self._pool.bounds)
            slice_.leave_out(gpm, *exceeded)
            found[symbol] = self._table(symbol, joined)
        self.matched[values.symbol] += len(slice_)
        return found

    def _feeders_first(self, solved: Collection[int], filters: Mapping[int, SemiJoinFilter]) -> Iterator[int]:
        """The symbols that are not solved yet, each after its feeders as far as they form no circle."""
        done, waiting = set(solved), [n for n in range(len(self._gpms)) if n not in solved]
        while waiting:
            fed = (n for n in waiting if n not in filters or filters[n].target.feeders <= done)
            symbol = next(fed, waiting[0])
            waiting.remove(symbol)
            done.add(symbol)
            yield symbol

    def _solve_filtered(
        self, symbol: int, slice_: Slice, semi_join: SemiJoinFilter, found: Mapping[int, SymbolSolutions]
    ) -> SymbolSolutions:
        gpm, variable = self._gpms[symbol], semi_join.target.variable
        bound_here = [found[feeder].values[variable] for feeder in semi_join.target.feeders]
        values = np.unique(np.concatenate([semi_join.values, *bound_here]))
        name = next(name for mine, name in self._columns[symbol] if mine == variable)
        bearing = slice_.semi_join(gpm, name, values[values != UNBOUND])
        self.matched[symbol] += int(np.count_nonzero(bearing))
        self.narrowed[symbol] = self._names[variable]
        return self._table(symbol, slice_.solutions_among(gpm, bearing))

    def _solve_lazily(self, together: Sequence[int], slice_: Slice) -> Iterator[tuple[int, SymbolSolutions]]:
        times = slice_.batch.times
        able: Mask = np.ones(len(slice_), dtype=np.bool_)
        for symbol in self._cheapest_first(together, slice_):
            among = slice_.on(self._gpms[symbol].streams) & able
            self.matched[symbol] += int(among.sum())
            self.narrowed[symbol] = ""
            table = self._table(symbol, slice_.solutions_among(self._gpms[symbol], among))
            able = np.isin(times, times[table.events])
            yield symbol, table

    def _cheapest_first(self, together: Sequence[int], slice_: Slice) -> list[int]:
        """By the number of solutions expected: those an event has had so far, times the events to match."""

        def expected(symbol: int) -> float:
            share = (self._solved[symbol] + 1) / (self.matched[symbol] + 1)
            return share * slice_.count(self._gpms[symbol].streams)

        return sorted(together, key=expected)

    def _table(self, symbol: int, found: Solutions) -> SymbolSolutions:
        self._solved[symbol] += len(found)
        return SymbolSolutions(
            found.events, {variable: found.columns[name] for variable, name in self._columns[symbol]}
        )
