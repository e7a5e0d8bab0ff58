"""Solutions encoded as triples: stage 2 reads events whose graphs hold the solutions that stage 1 has found.

They are an `EventBatch` like any other, so that merging, reordering and snapshots are those of the embedded runtime. A
triple (mark, x, y) holds two values of a solution; the mark is the id of a step's pattern. A solution of k variables is
⌈k/2⌉ consecutive triples of one mark, at least one, padded with UNBOUND. Triples without a mark are the event's own,
sent where a condition reads the graph of its event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automata.slices.events import Events, SymbolSolutions
from automata.values import UNBOUND, Ids
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.shared import Slice
from sparql_gpm.terms import IRI
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.pattern_solver import SemiJoinFilters, unfiltered
from spaseq.runtime.stages.pattern_stage import PatternStage, SolvedSlice


@dataclass(frozen=True, slots=True)
class MarkedTriples:
    """Triples of solutions: for each one its event, ascending, and its three ids."""

    events: Ids
    marks: Ids
    firsts: Ids
    seconds: Ids

    def take(self, rows: Ids) -> MarkedTriples:
        """The triples of these rows."""
        return MarkedTriples(self.events[rows], self.marks[rows], self.firsts[rows], self.seconds[rows])

    @staticmethod
    def concatenate(parts: Sequence[MarkedTriples]) -> MarkedTriples:
        """All of them, by event; those of one event and mark stay together, in order."""
        none = np.zeros(0, dtype=np.int64)
        every = [MarkedTriples(none, none, none, none), *parts]
        columns = (np.concatenate([getattr(p, n) for p in every]) for n in ("events", "marks", "firsts", "seconds"))
        whole = MarkedTriples(*columns)
        return whole.take(np.argsort(whole.events, kind="stable")) if len(parts) > 1 else whole


def mark(dictionary: Dictionary, query: int, symbol: int) -> int:
    """The id of a step's mark; the blank in it keeps it apart from every term of RDF."""
    return dictionary.pin(IRI(f"spaseq solution {query} {symbol}"))


def encode(events: Ids, values: Sequence[Ids], of_mark: int) -> MarkedTriples:
    """The solutions of one pattern as triples; `values` has one column a variable."""
    width = _triples_each(len(values))
    cells = np.full((len(events), 2 * width), UNBOUND, dtype=np.int64)
    for number, column in enumerate(values):
        cells[:, number] = column
    flat = cells.reshape(-1, 2)
    marks = np.full(len(flat), of_mark, dtype=np.int64)
    return MarkedTriples(np.repeat(events, width), marks, flat[:, 0].copy(), flat[:, 1].copy())


def decode(batch: EventBatch, event_of_triple: Ids, variables: Sequence[int], of_mark: int) -> SymbolSolutions:
    """The solutions of one pattern, its variables under these numbers."""
    rows = np.flatnonzero(batch.subjects == of_mark)
    width = _triples_each(len(variables))
    cells = np.column_stack((batch.predicates[rows], batch.objects[rows])).reshape(-1, 2 * width)
    events = event_of_triple[rows[::width]]
    return SymbolSolutions(events, {v: np.ascontiguousarray(cells[:, n]) for n, v in enumerate(variables)})


def _triples_each(variables: int) -> int:
    """The number of triples of a solution."""
    return max(1, (variables + 1) // 2)


class SolvedPatterns:
    """The solutions that stage 1 has found, and those of patterns over derived streams.

    marks       of the query's patterns
    all_marks   of every query in the shard
    derived     positions in FROM of the streams that other queries of the shard make: their graphs are matched here
    patterns    matches them; None: there are none. It reads part of the events of a time, so no conjunction is lazy
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
        self._reads_graphs = compiled.reads_graphs
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
                found = _both(found, self._patterns.solve(Slice(batch.take(unsolved)), unfiltered).solutions, unsolved)
        taken = slice_.named([table.events for table in found.values()])
        own = np.flatnonzero(~np.isin(batch.subjects, self._all_marks)) if self._reads_graphs else None
        graphs = None if own is None else batch.keep(own)
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
