"""Possessive repetitions: removing complete matches in which one could have gone on (specification 3.2.6).

Like a negation it removes complete matches only. Where a match has left a possessive repetition, none of the extensions
that its run had there may lie before the next step taken; at its end, in the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.chains import columns as col
from automata.chains.clocks import deadlines
from automata.chains.store import ChainStore
from automata.chains.walk import visits
from automata.matches.negation import NegationIndex
from automata.matches.negation_intervals import iteration_intervals, trailing_intervals
from automata.plan.automaton import Accept, Clock
from automata.plan.plan import Plan
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class _Left:
    """Possessive repetitions that matches have left.

    which       the index of the match
    rows        the row at which it was left
    next        that of the next step taken; NONE where there is none
    """

    repetition: int
    which: Ids
    rows: Ids
    next: Ids


class Possession:
    """The possessive repetitions of one program.

    definite    there are some, and an extension that is there removes a match for good
    """

    def __init__(self, chains: ChainStore, negations: NegationIndex) -> None:
        self._plan = chains.plan
        self._runs = chains.runs
        self._extensions = chains.extensions
        self._negations = negations
        self.definite = bool(self._plan.possessive) and self._extensions.definite == frozenset(self._plan.possessive)
        self._outer = {r: _clocks_around(self._plan, r) for r in self._plan.possessive}
        nested = any(len(self._plan.positions[end.position].repetitions) > 1 for end in self._ends())
        told = self._extensions.free == frozenset(self._plan.possessive)
        self._told_by_last = told and not nested and not self._plan.unordered

    def violated(self, rows: Ids) -> Mask:
        """A mask of the matches that end at these rows and that an extension before a later step removes."""
        if not self._plan.possessive:
            return np.zeros(len(rows), dtype=np.bool_)
        violated = self._extensions.left_early(rows)
        if not self._told_by_last:
            left = np.flatnonzero(~violated)
            for each in self._left(rows[left]):
                some = left[each.which]
                violated[some] |= self._extended(each, rows[some])
        return violated

    def limits(self, rows: Ids, accept: int) -> Ids:
        """The last times, window aside, at which an event may extend matches that end there; BEFORE_ALL: none may."""
        limits = np.full(len(rows), BEFORE_ALL, dtype=np.int64)
        for each in self._left_at_end(rows, accept):
            last = np.minimum(self._last(each), self._around(each.repetition, rows[each.which]))
            np.maximum.at(limits, each.which, last)
        return limits

    def extended(self, rows: Ids, accept: int) -> Mask:
        """A mask of the matches that end there and that are extended at their end, in their windows."""
        extended = np.zeros(len(rows), dtype=np.bool_)
        for each in self._left_at_end(rows, accept):
            np.logical_or.at(extended, each.which, self._extended(each, rows[each.which]))
        return extended

    def _ends(self) -> list[Accept]:
        return [end for repetition in self._plan.possessive for end in self._plan.repetitions[repetition].ends]

    # --- places at which repetitions are left -----------------------------------------------------

    def _left(self, rows: Ids) -> Iterator[_Left]:
        """Those that have a later step; of each match one at a time."""
        for visit in visits(self._runs, rows):
            taken = self._runs.column(visit.rows, col.EDGE)
            for number in np.unique(taken[taken != NONE]).tolist():
                here = np.flatnonzero(taken == number)
                sources, closing = self._runs.column(visit.rows[here], col.SOURCE), visit.closing[here]
                following = np.where(closing != NONE, closing, visit.rows[here])
                edge = self._plan.edges[number]
                for left in self._at(edge.source, edge.leaves, sources):
                    yield _Left(left.repetition, visit.which[here][left.which], left.rows, following[left.which])

    def _left_at_end(self, rows: Ids, accept: int) -> Iterator[_Left]:
        """Those that a match left last, and that may have further iterations."""
        last = self._plan.accepts[accept]
        return self._at(last.position, last.leaves, rows)

    def _at(self, position: int, leaves: tuple[int, ...], rows: Ids) -> Iterator[_Left]:
        """The possessive ones of `leaves`, left at rows of a position, and those at the ends of an ALL's members."""
        for repetition in leaves:
            loop = self._plan.repetitions[repetition]
            if loop.possessive:
                counts = self._runs.column(rows, self._runs.layout.count(repetition))
                more = np.flatnonzero(counts < loop.at_most) if loop.at_most is not None else np.arange(len(rows))
                yield _Left(repetition, more, rows[more], np.full(len(more), NONE, dtype=np.int64))
        which = self._plan.positions[position].any_order
        for place, member in enumerate(self._plan.unordered[which].members if which != NONE else ()):
            inner = self._runs.column(rows, self._runs.layout.member(place))
            states = self._runs.column(inner, col.STATE)
            for last in member.accepts:
                some = np.flatnonzero(states == last.position)
                for left in self._at(last.position, last.leaves, inner[some]):
                    yield _Left(left.repetition, some[left.which], left.rows, left.next)

    def _last(self, left: _Left) -> Ids:
        """The last times at which limits let an event begin one more iteration."""
        last = np.full(len(left.rows), BEFORE_ALL, dtype=np.int64)
        states = self._runs.column(left.rows, col.STATE)
        for edge in self._plan.edges:
            if edge.loop == left.repetition and (states == edge.source).any():
                here = np.flatnonzero(states == edge.source)
                limits = deadlines(self._runs, edge, left.rows[here])
                last[here] = AFTER_ALL if limits is None else np.maximum(last[here], limits)
        return last

    def _around(self, repetition: int, matches: Ids) -> Ids:
        """The last times that limited steps around a repetition allow; those around an ALL know all of its members."""
        last = np.full(len(matches), AFTER_ALL, dtype=np.int64)
        states = self._runs.column(matches, col.STATE)
        for clock, each in self._outer[repetition]:
            here = np.flatnonzero(np.isin(states, list(each.positions)))
            column = self._runs.layout.clock(clock)
            last[here] = np.minimum(last[here], self._runs.column(matches[here], column))
        return last

    # --- extensions -------------------------------------------------------------------------------

    def _extended(self, left: _Left, matches: Ids) -> Mask:
        """A mask of the places at which one more complete iteration precedes the next step, or lies in the window."""
        extended = np.zeros(len(left.rows), dtype=np.bool_)
        for found in self._extensions.of(left.repetition, left.rows):
            following = left.next[found.which]
            fits = self._extensions.precede(found.rows, following)
            ends = matches[found.which]
            inside = self._extensions.in_window(found.rows, ends)
            inside &= self._runs.column(found.rows, col.HIGH_TIME) <= self._around(left.repetition, ends)
            fits = np.where(following != NONE, fits, inside)
            some = np.flatnonzero(fits & ~extended[found.which])
            if left.repetition not in self._extensions.definite:
                some = some[self._is_complete(left.repetition, found.rows[some], following[some])]
            extended[found.which[some]] = True
        return extended

    def _is_complete(self, repetition: int, rows: Ids, following: Ids) -> Mask:
        """A mask of the extensions whose own negations hold, one at the end as far as the row that follows."""
        complete = np.zeros(len(rows), dtype=np.bool_)
        for end in self._plan.repetitions[repetition].ends:
            here = np.flatnonzero(self._runs.column(rows, col.STATE) == end.position)
            intervals = trailing_intervals(end.passed, rows[here], following[here])
            removed = self._negations.violated(rows[here], intervals)
            complete[here] |= ~removed
        inner = iteration_intervals(self._plan, self._runs, rows, repetition)
        return complete & ~self._negations.violated(rows, inner)


def _clocks_around(plan: Plan, repetition: int) -> list[tuple[int, Clock]]:
    """The clocks, with their numbers, of the limited steps around a repetition."""
    inside = plan.repetitions[repetition].positions
    begun = frozenset[int]().union(*(edge.starts for edge in plan.edges if edge.loop == repetition))
    clocks = enumerate(plan.clocks)
    return [(n, c) for n, c in clocks if c.limit != NONE and inside <= c.positions and n not in begun]
