"""The source of solutions of Spark's stage 2: what stage 1 has found, and patterns over derived streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids
from sparql_gpm.shared import Slice
from spaseq.physical.program import Compiled
from spaseq.runtime.spark.solutions import decode, own_triples
from spaseq.runtime.stages.pattern_solver import SemiJoinFilters
from spaseq.runtime.stages.pattern_stage import PatternStage, SolvedSlice


class SolvedPatterns:
    """Reads solutions from events; see `solutions`.

    marks       of the query's patterns
    all_marks   of every query in the shard
    derived     positions in FROM of the streams that other queries of the shard make: their graphs are matched here
    patterns    matches them; None: there are none. It gets part of the events of a time, so no conjunction is lazy
    """

    def __init__(
        self,
        compiled: Compiled,
        marks: Sequence[int],
        all_marks: Sequence[int],
        derived: Sequence[int] = (),
        patterns: PatternStage | None = None,
    ) -> None:
        order = {name: number for number, name in enumerate(compiled.query.variables)}
        self._variables = [[order[name] for name in pattern.variables] for pattern in compiled.query.patterns]
        self._keeps_graphs = compiled.keeps_graphs
        self._marks = marks
        self._all_marks = np.array(all_marks, dtype=np.int64)
        self._derived = np.array(derived, dtype=np.int64)
        self._patterns = patterns

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters) -> SolvedSlice:
        """The solutions in the next slice; all of them, whatever the filters."""
        batch = slice_.batch
        of_triple = batch.event_of_triple()
        found: dict[int, SymbolSolutions] = {
            symbol: decode(batch, of_triple, variables, mark)
            for symbol, (variables, mark) in enumerate(zip(self._variables, self._marks, strict=True))
        }
        if self._patterns is not None:
            unsolved = np.flatnonzero(np.isin(batch.streams, self._derived))
            if len(unsolved):
                found = _both(found, self._patterns.solve(Slice(batch.take(unsolved)), dict).solutions, unsolved)
        taken = slice_.named([table.events for table in found.values()])
        graphs = own_triples(batch, of_triple, self._all_marks) if self._keeps_graphs else None
        return SolvedSlice(Events(batch.times, batch.streams), found, taken, graphs)


def _both(
    solved: Mapping[int, SymbolSolutions], matched: Mapping[int, SymbolSolutions], events: Ids
) -> dict[int, SymbolSolutions]:
    """Solutions that were read and those matched in some of the events, by event."""
    joined = {}
    for symbol, table in matched.items():
        known = solved[symbol]
        where = np.concatenate((known.events, events[table.events]))
        order = np.argsort(where, kind="stable")
        values = {v: np.concatenate((known.values[v], table.values[v]))[order] for v in known.values}
        joined[symbol] = SymbolSolutions(where[order], values)
    return joined
