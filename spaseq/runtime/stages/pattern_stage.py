"""The pattern stage: from events to the solutions of every GPM of one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from automata.slices.events import Events, SymbolSolutions
from sparql_gpm.background import Background, BackgroundError
from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.shared import Entailed, NamedPattern, PatternPool, Slice
from sparql_gpm.slice_events import NamedEvents
from spaseq.algebra.nodes import TemporalQuery
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.pattern_solver import PatternSolver, SemiJoinFilters
from spaseq.runtime.stages.row_solver import RowSolver
from spaseq.runtime.state.kept_solutions import SolutionRow


@dataclass(frozen=True, slots=True)
class SolvedSlice:
    """A slice with its solutions by symbol, the events that have some, and its graphs if anything reads them."""

    events: Events
    solutions: Mapping[int, SymbolSolutions]
    taken: NamedEvents | None
    graphs: EventBatch | None


class SolutionSource(Protocol):
    """A pattern stage, or what has the results of one that ran elsewhere."""

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters) -> SolvedSlice:
        """The next slice, solved."""


class Counting(Protocol):
    """Makes the solver that counts, where the events of each part of the GPMs are asked for."""

    def solver(self, query: TemporalQuery, named: Sequence[NamedPattern]) -> PatternSolver:
        """The solver of a query with these patterns of the pool."""


class PatternStage:
    """The GPMs of one query, matched in columns or row at a time.

    conjunctions    sets of symbols that are only ever taken together, for input in whole slices; () where the stage
                    gets part of the events of a time
    pool            the patterns of all queries over one dictionary
    entailed        adds the triples that follow by some schema; None: patterns see the events as they are
    numbers         of the patterns in the pool; where none of them is touched, no GPM has a solution
    narrowed        symbols that were matched in part of the events only: see `PatternSolver`
    unseen          the constants of the GPMs that no event has had; None: nobody asks
    counting        counts the events of each stage of the GPMs; None: nobody asks
    """

    def __init__(
        self,
        compiled: Compiled,
        conjunctions: Sequence[tuple[int, ...]],
        pool: PatternPool,
        background: Background | None,
        entailed: Entailed | None,
    ) -> None:
        self.pool = pool
        self.patterns: list[NamedPattern] = []
        try:
            for pattern in compiled.query.patterns:
                self.patterns.append(pool.add(pattern.pattern, background))
        except BackgroundError:
            self.release()
            raise
        using = compiled.query.using
        needed = self.patterns if using is None else self.patterns[using.symbol :]
        self.numbers = frozenset([mine.shared.number for mine in needed])
        self.unseen: Unseen | None = None
        self.counting: Counting | None = None
        self.narrowed: dict[int, str] = {}
        self._query = compiled.query
        self._conjunctions = conjunctions
        self._reads_graphs = compiled.reads_graphs
        self.entailed = entailed

    def release(self) -> None:
        """Lets go of the patterns; the query has ended."""
        for each in self.patterns:
            self.pool.remove(each)

    @cached_property
    def solver(self) -> PatternSolver:
        """The GPMs in columns; made when an event touches them."""
        if self.counting is not None:
            return self.counting.solver(self._query, self.patterns)
        return PatternSolver(self._query, self.patterns, self._conjunctions, self.narrowed)

    @cached_property
    def _row_solver(self) -> RowSolver:
        return RowSolver(self._query, self.patterns)

    def touched(self, slice_: Slice) -> bool:
        """True if some GPM, with USING that of it, may have a solution in a slice, by the slice's summary."""
        return slice_.entailed(self.entailed).touches(self.pool, self.numbers)

    def solve(self, slice_: Slice, semi_join_filters: SemiJoinFilters) -> SolvedSlice:
        """The solutions in the next slice, found in columns; raises TooManyTogether."""
        slice_, events = self.seen(slice_)
        if self.unseen:
            self.unseen.in_batch(slice_.present(self.pool), slice_.batch)
        if self.counting is None and not slice_.touches(self.pool, self.numbers):
            return SolvedSlice(events, self.solver.nothing, None, None)
        with slice_.reporting():
            solutions = self.solver.solve(slice_, semi_join_filters)
        graphs = slice_.batch if self._reads_graphs else None
        return SolvedSlice(events, solutions, self.solver.taken(slice_, solutions), graphs)

    def seen(self, slice_: Slice) -> tuple[Slice, Events]:
        """The slice with all that follows from its triples, and its events."""
        slice_ = slice_.entailed(self.entailed)
        return slice_, slice_.made(_as_events)

    def each(self, slice_: Slice) -> Iterator[tuple[RowEvent, Mapping[int, Sequence[SolutionRow]]]]:
        """Each event of the next slice with its solutions, found row at a time."""
        slice_ = slice_.entailed(self.entailed)
        self._row_solver.unseen = self.unseen
        shares = len(self.pool) > len(self.patterns)
        touched = not shares or slice_.touches(self.pool, self.numbers)
        if self.unseen and not touched:
            self.unseen.in_batch(slice_.present(self.pool), slice_.batch)
        for single in slice_.each():
            yield single.event, self._row_solver.solutions(single) if touched else {}


def _as_events(batch: EventBatch) -> Events:
    return Events(batch.times, batch.streams)
