"""From a stretch of events to the solutions of every GPM; those of a conjunction lazily (G Section 7.3, Algorithm 10).

A member of `A & B` can only be taken at a time at which the other has a solution too. So the member that is expected to
have solutions at the fewest times is matched first, the next one over the events of those times only, and so on;
where a member has nothing at all, the others are not matched.

A GPM that no run begins with is matched only in the events that bring a value which some run, or some step
before it in the stretch, has bound (`automata.pushing`), unless other queries want all its solutions anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from automata.program import UNBOUND, Ids, SymbolSolutions
from automata.pushing import Restriction
from sparql_gpm.columns import Mask, Solutions
from sparql_gpm.shared import Asked, NamedPattern, Stretch, Taken
from spaseq.algebra.nodes import GraphPattern

Restrictions = Callable[[], Mapping[int, Restriction]]
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

    def touched(self, stretch: Stretch) -> bool:
        """Whether some GPM may have a solution in a stretch, as far as its summary tells."""
        return stretch.touches(self._pool, self._numbers)

    def give_up_pushing(self) -> None:
        """Match every GPM whatever runs have bound, to see what pushing saves."""
        self._pushes = False

    def give_up_summary(self) -> None:
        """Ask every GPM of all queries of every batch, to see what the summary saves."""
        self._pool.give_up_summary()

    def solve(self, stretch: Stretch, restrictions: Restrictions = dict) -> dict[int, SymbolSolutions]:
        """GPM → its solutions in a stretch that does not end within a time if there is a conjunction.

        restrictions    tells, if asked, which solutions are needed; more may be found
        """
        found: dict[int, SymbolSolutions] = {}
        for together in self._conjunctions:
            found |= self._solve_lazily(together, stretch)
        some = any(n not in found and not stretch.wanted_by_others(asked) for n, asked in enumerate(self._asked))
        restricted = restrictions() if self._pushes and some else {}
        self._whole = not restricted and not self._conjunctions
        for number in self._feeders_first(found.keys(), restricted):
            restriction = restricted.get(number)
            alone = not stretch.wanted_by_others(self._asked[number])
            if restriction is not None and alone and restriction.pushable.feeders <= found.keys():
                found[number] = self._solve_restricted(number, stretch, restriction, found)
            else:
                self.matched[number] += stretch.count(self._asked[number].streams)
                found[number] = self._table(number, stretch.solutions(self._asked[number]))
        return {number: found[number] for number in range(len(self._asked))}

    def taken(self, stretch: Stretch, solutions: Mapping[int, SymbolSolutions]) -> Taken:
        """The events of a stretch that some GPM has a solution in."""
        if self._whole:
            return stretch.taken(self._asked)
        return stretch.named([table.events for table in solutions.values()])

    def _feeders_first(self, solved: Collection[int], restricted: Mapping[int, Restriction]) -> Iterator[int]:
        """The GPMs that are not solved yet, each after its feeders as far as they do not go in a circle."""
        done, waiting = set(solved), [n for n in range(len(self._asked)) if n not in solved]
        while waiting:
            fed = (n for n in waiting if n not in restricted or restricted[n].pushable.feeders <= done)
            number = next(fed, waiting[0])
            waiting.remove(number)
            done.add(number)
            yield number

    def _solve_restricted(
        self, number: int, stretch: Stretch, restriction: Restriction, found: Mapping[int, SymbolSolutions]
    ) -> SymbolSolutions:
        asked, variable = self._asked[number], restriction.pushable.variable
        brought = [found[feeder].values[variable] for feeder in restriction.pushable.feeders]
        values = np.unique(np.concatenate([restriction.values, *brought]))
        name = next(name for mine, name in self._columns[number] if mine == variable)
        wanted = stretch.bearing(asked, name, values[values != UNBOUND])
        self.matched[number] += int(np.count_nonzero(wanted))
        return self._table(number, stretch.solutions_among(asked, wanted))

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
