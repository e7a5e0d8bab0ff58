"""The values of `PARTITION BY … USING` in each event, joined with the solutions of the steps (specification 3.4).

The pattern of USING is matched once for each event. A solution of a step is in each partition whose values its event
has, and with which it agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparql_gpm.bounds import Exceeded, MatchBounds
from sparql_gpm.columns import UNBOUND, Solutions
from sparql_gpm.event_join import joined, projected
from spaseq.algebra.nodes import TemporalQuery, Using
from spaseq.algebra.partitions import partition_variable
from spaseq.runtime.state.kept_solutions import SolutionRow

Names = Mapping[str, str]
"""The column of each variable of a pattern."""


class PartitionValues:
    """The values of one query's partitions.

    names   of each GPM, in the order of the symbols
    """

    def __init__(self, using: Using, names: Sequence[Names]) -> None:
        self.symbol = using.symbol
        self._names = [(names[using.symbol][name], partition_variable(name)) for name in using.variables]
        self._shared = [
            [(own[name], partition_variable(name)) for name in using.variables if name in own] for own in names
        ]

    def of(self, found: Solutions) -> Solutions:
        """The partitions of each event, from the solutions of the pattern."""
        return projected(found, self._names)

    def join(
        self, symbol: int, found: Solutions, partitions: Solutions, bounds: MatchBounds
    ) -> tuple[Solutions, Sequence[Exceeded]]:
        """The solutions of a step in each partition, and the events left out; raises TooManyTogether."""
        return joined(found, partitions, self._shared[symbol], bounds)


def partition_values(query: TemporalQuery, names: Sequence[Names]) -> PartitionValues | None:
    """Those of a query; None without USING."""
    return None if query.using is None else PartitionValues(query.using, names)


def row_partitions(rows: Sequence[SolutionRow]) -> list[SolutionRow]:
    """The distinct rows without a value that is unbound."""
    return list(dict.fromkeys(row for row in rows if UNBOUND not in row))


def join_rows(
    rows: Sequence[SolutionRow], partitions: Sequence[SolutionRow], shared: Sequence[tuple[int, int]], width: int
) -> list[SolutionRow]:
    """The rows of a step in each partition: its values, and the first `width` of the row.

    shared  pairs of a place in the row and one in the partition that agree where the first one is bound
    """
    return [
        values + row[:width]
        for row in rows
        for values in partitions
        if all(row[own] in (UNBOUND, values[other]) for own, other in shared)
    ]
