"""From a stretch of events to the solutions of every GPM; those of a conjunction lazily (G Section 7.3, Algorithm 10).

A member of `A & B` can only be taken at a time at which the other has a solution too. So the member that is expected to
have solutions at the fewest times is matched first, the next one over the events of those times only, and so on;
where a member has nothing at all, the others are not matched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from automata.program import Ids, SymbolSolutions
from sparql_gpm.columns import Mask, Solutions
from sparql_gpm.shared import Asked, NamedPattern, Stretch, Taken
from spaseq.algebra.nodes import GraphPattern

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
        self._asked = tuple(Asked(mine.shared, pattern.streams) for pattern, mine in pairs)
        self._columns = [[(variables[name], mine.names[name]) for name in pattern.variables] for pattern, mine in pairs]
        self._pool = named[0].shared.pool
        self._numbers = frozenset(mine.shared.number for mine in named)
        self._conjunctions = conjunctions
        self.nothing = {
            number: SymbolSolutions(_NONE, {variable: _NONE for variable, _ in columns})
            for number, columns in enumerate(self._columns)
        }
        self.matched = [0] * len(patterns)
        self._solved = [0] * len(patterns)

    def give_up_laziness(self) -> None:
        """Match every GPM everywhere, to see what laziness saves."""
        self._conjunctions = ()

    def touched(self, stretch: Stretch) -> bool:
        """Whether some GPM may have a solution in a stretch, as far as its summary tells."""
        return stretch.touches(self._pool, self._numbers)

    def solve(self, stretch: Stretch) -> dict[int, SymbolSolutions]:
        """GPM → its solutions in a stretch that does not end within a time if there is a conjunction."""
        found: dict[int, SymbolSolutions] = {}
        for together in self._conjunctions:
            found |= self._solve_lazily(together, stretch)
        for number, asked in enumerate(self._asked):
            if number not in found:
                self.matched[number] += stretch.count(asked.streams)
                found[number] = self._table(number, stretch.solutions(asked))
        return {number: found[number] for number in range(len(self._asked))}

    def taken(self, stretch: Stretch, solutions: Mapping[int, SymbolSolutions]) -> Taken:
        """The events of a stretch that some GPM has a solution in."""
        if self._conjunctions:
            return stretch.named([table.events for table in solutions.values()])
        return stretch.taken(self._asked)

    def _solve_lazily(self, together: Sequence[int], stretch: Stretch) -> Iterator[tuple[int, SymbolSolutions]]:
        times = stretch.batch.times
        able: Mask = np.ones(len(stretch), dtype=np.bool_)
        for number in self._cheapest_first(together, stretch):
            wanted = stretch.on(self._asked[number].streams) & able
            self.matched[number] += int(wanted.sum())
            table = self._table(number, stretch.solutions_among(self._asked[number], wanted))
            able = np.isin(times, times[table.events])
            yield number, table

    def _cheapest_first(self, together: Sequence[int], stretch: Stretch) -> list[int]:
        """By the solutions that are expected: those an event has had so far, times the events to look at."""

        def expected(number: int) -> float:
            share = (self._solved[number] + 1) / (self.matched[number] + 1)
            return share * stretch.count(self._asked[number].streams)

        return sorted(together, key=expected)

    def _table(self, number: int, found: Solutions) -> SymbolSolutions:
        self._solved[number] += len(found)
        return SymbolSolutions(
            found.events, {variable: found.columns[name] for variable, name in self._columns[number]}
        )
