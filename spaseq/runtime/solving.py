"""From a slice of events to the solutions of every GPM; those of a conjunction lazily (G Section 7.3, Algorithm 10).

A member of `A & B` can only be taken at a time at which the other has a solution too. So the member that is expected to
have solutions at the fewest times is matched first, the next one over the events of those times only, and so on;
where a member has nothing at all, the others are not matched.

A GPM that no run begins with is matched only in the events that bring a value which some run, or some step
before it in the slice, has bound (`automata.plan.semi_join`), unless other queries want all its solutions anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from automata.plan.semi_join import SemiJoinFilter
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids
from sparql_gpm.columns import Mask, Solutions
from sparql_gpm.shared import NamedEvents, NamedPattern, Slice, StreamPattern
from spaseq.algebra.nodes import GraphPattern

SemiJoinFilters = Callable[[], Mapping[int, SemiJoinFilter]]
_NONE: Ids = np.zeros(0, dtype=np.int64)


class PatternSolver:
    """The GPMs of one query.

    conjunctions    sets of GPMs, by number, that are only ever taken together; () to match every one everywhere
    matched         for each GPM, in how many events it was looked for
    nothing         no solution of any
    """

    def __init__(
        self,
        patterns: Sequence[GraphPattern],
        named: Sequence[NamedPattern],
        variables: Mapping[str, int],
        conjunctions: Sequence[tuple[int, ...]],
    ) -> None:
        pairs = list(zip(patterns, named, strict=True))
        self._asked = tuple(StreamPattern(mine.shared, pattern.streams) for pattern, mine in pairs)
        self._columns = [[(variables[name], mine.names[name]) for name in pattern.variables] for pattern, mine in pairs]
        self._pool = named[0].shared.pool
        self._numbers = frozenset(mine.shared.number for mine in named)
        self._conjunctions = conjunctions
        self._pushes = True
        self._whole = True
        self.nothing = {
            number: SymbolSolutions(_NONE, {variable: _NONE for variable, _ in columns})
            for number, columns in enumerate(self._columns)
        }
        self.matched = [0] * len(patterns)
        self._solved = [0] * len(patterns)

    def give_up_laziness(self) -> None:
        """Match every GPM everywhere, to see what laziness saves."""
        self._conjunctions = ()

    def touched(self, slice_: Slice) -> bool:
        """Whether some GPM may have a solution in a slice, as far as its summary tells."""
        return slice_.touches(self._pool, self._numbers)

    def give_up_pushing(self) -> None:
        """Match every GPM whatever runs have bound, to see what pushing saves."""
        self._pushes = False

    def give_up_summary(self) -> None:
        """Ask every GPM of all queries of every batch, to see what the summary saves."""
        self._pool.give_up_summary()

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters = dict) -> dict[int, SymbolSolutions]:
        """GPM → its solutions in a slice that does not end within a time if there is a conjunction.

        restrictions    tells, if asked, which solutions are needed; more may be found
        """
        found: dict[int, SymbolSolutions] = {}
        for together in self._conjunctions:
            found |= self._solve_lazily(together, slice_)
        some = any(n not in found and not slice_.is_shared(asked) for n, asked in enumerate(self._asked))
        filtered = semi_join_filters() if self._pushes and some else {}
        self._whole = not filtered and not self._conjunctions
        for number in self._feeders_first(found.keys(), filtered):
            semi_join_filter = filtered.get(number)
            alone = not slice_.is_shared(self._asked[number])
            if semi_join_filter is not None and alone and semi_join_filter.target.feeders <= found.keys():
                found[number] = self._solve_restricted(number, slice_, semi_join_filter, found)
            else:
                self.matched[number] += slice_.count(self._asked[number].streams)
                found[number] = self._table(number, slice_.solutions(self._asked[number]))
        return {number: found[number] for number in range(len(self._asked))}

    def taken(self, slice_: Slice, solutions: Mapping[int, SymbolSolutions]) -> NamedEvents:
        """The events of a slice that some GPM has a solution in."""
        if self._whole:
            return slice_.with_solutions(self._asked)
        return slice_.named([table.events for table in solutions.values()])

    def _feeders_first(self, solved: Collection[int], filtered: Mapping[int, SemiJoinFilter]) -> Iterator[int]:
        """The GPMs that are not solved yet, each after its feeders as far as they do not go in a circle."""
        done, waiting = set(solved), [n for n in range(len(self._asked)) if n not in solved]
        while waiting:
            fed = (n for n in waiting if n not in filtered or filtered[n].target.feeders <= done)
            number = next(fed, waiting[0])
            waiting.remove(number)
            done.add(number)
            yield number

    def _solve_restricted(
        self, number: int, slice_: Slice, semi_join_filter: SemiJoinFilter, found: Mapping[int, SymbolSolutions]
    ) -> SymbolSolutions:
        asked, variable = self._asked[number], semi_join_filter.target.variable
        brought = [found[feeder].values[variable] for feeder in semi_join_filter.target.feeders]
        values = np.unique(np.concatenate([semi_join_filter.values, *brought]))
        name = next(name for mine, name in self._columns[number] if mine == variable)
        wanted = slice_.semi_join(asked, name, values[values != UNBOUND])
        self.matched[number] += int(np.count_nonzero(wanted))
        return self._table(number, slice_.solutions_among(asked, wanted))

    def _solve_lazily(self, together: Sequence[int], slice_: Slice) -> Iterator[tuple[int, SymbolSolutions]]:
        times = slice_.batch.times
        able: Mask = np.ones(len(slice_), dtype=np.bool_)
        for number in self._cheapest_first(together, slice_):
            wanted = slice_.on(self._asked[number].streams) & able
            self.matched[number] += int(wanted.sum())
            table = self._table(number, slice_.solutions_among(self._asked[number], wanted))
            able = np.isin(times, times[table.events])
            yield number, table

    def _cheapest_first(self, together: Sequence[int], slice_: Slice) -> list[int]:
        """By the solutions that are expected: those an event has had so far, times the events to look at."""

        def expected(number: int) -> float:
            share = (self._solved[number] + 1) / (self.matched[number] + 1)
            return share * slice_.count(self._asked[number].streams)

        return sorted(together, key=expected)

    def _table(self, number: int, found: Solutions) -> SymbolSolutions:
        self._solved[number] += len(found)
        return SymbolSolutions(
            found.events, {variable: found.columns[name] for variable, name in self._columns[number]}
        )
