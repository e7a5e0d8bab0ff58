"""From a stretch of events to the solutions of every GPM of one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automata.program import SymbolSolutions
from sparql_gpm.shared import Asked, NamedPattern, Stretch, Taken
from spaseq.algebra.nodes import GraphPattern


class PatternSolver:
    """The GPMs of one query."""

    def __init__(
        self, patterns: Sequence[GraphPattern], named: Sequence[NamedPattern], variables: Mapping[str, int]
    ) -> None:
        pairs = list(zip(patterns, named, strict=True))
        self._asked = tuple(Asked(mine.shared, pattern.streams) for pattern, mine in pairs)
        self._columns = [[(variables[name], mine.names[name]) for name in pattern.variables] for pattern, mine in pairs]

    def solve(self, stretch: Stretch) -> dict[int, SymbolSolutions]:
        """GPM → its solutions in a stretch."""
        return {number: self._solve(number, stretch) for number in range(len(self._asked))}

    def taken(self, stretch: Stretch) -> Taken:
        """The events of a stretch that some GPM has a solution in."""
        return stretch.taken(self._asked)

    def _solve(self, number: int, stretch: Stretch) -> SymbolSolutions:
        found = stretch.solutions(self._asked[number])
        return SymbolSolutions(
            found.events, {variable: found.columns[name] for variable, name in self._columns[number]}
        )
