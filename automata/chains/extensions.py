"""Extensions of possessive repetitions: one more complete iteration than a run has taken (specification 3.2.6).

A run that begins a further iteration of a possessive repetition, and completes it, extends the run that it comes from.
The rows of those that do so are listed from that run's row: `Layout.extension` has the newest, `Layout.sibling` the one
before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arrays.times import later
from automata.chains import columns as col
from automata.chains.table import Runs
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class Extended:
    """Pairs of runs and what extends them.

    which       the index of the run
    rows        the last row of the extension
    """

    which: Ids
    rows: Ids


class Extensions:
    """Those of the runs of one plan.

    definite    repetitions whose iterations have no negation inside: an extension that is there stays
    free        of these, those inside no other possessive one: a run that violates them leads to no match, and to
                nothing that extends another
    """

    def __init__(self, plan: Plan, runs: Runs) -> None:
        self._plan = plan
        self._runs = runs
        self.definite = frozenset(r for r in plan.possessive if not _negates(plan, r))
        self.free = frozenset(
            r
            for r in self.definite
            if not any(
                o != r and plan.repetitions[r].positions <= plan.repetitions[o].positions for o in plan.possessive
            )
        )
        self._left = [runs.layout.left(r) for r in sorted(self.free)]

    def note(self, repetition: int, rows: Ids) -> None:
        """Rows at which an iteration is complete: those of a further one extend the run that began it."""
        layout, runs = self._runs.layout, self._runs
        begun, newest, sibling = (f(repetition) for f in (layout.begun, layout.extension, layout.sibling))
        rows = rows[runs.column(rows, begun) != NONE]
        bases = runs.column(rows, begun)
        if repetition in self.definite:
            known = runs.column(bases, newest)
            nearer = runs.column(known, col.HIGH_TIME) >= runs.column(rows, col.HIGH_TIME)
            rows, bases = rows[(known == NONE) | nearer], bases[(known == NONE) | nearer]
        order = np.argsort(bases, kind="stable")
        rows, bases = rows[order], bases[order]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = bases[1:] != bases[:-1]
        last = np.append(first[1:], True)[: len(rows)]
        before = np.append(NONE, rows[:-1])[: len(rows)]
        runs.table[rows, sibling] = np.where(first, runs.column(bases, newest), before)
        runs.table[bases[last], newest] = rows[last]

    def of(self, repetition: int, bases: Ids) -> Iterator[Extended]:
        """The extensions of each of these rows, of every row one at a time."""
        layout, which = self._runs.layout, np.arange(len(bases), dtype=np.int64)
        column = layout.extension(repetition)
        while True:
            bases = self._runs.column(bases, column)
            which, bases = which[bases != NONE], bases[bases != NONE]
            if not len(bases):
                return
            yield Extended(which, bases)
            column = layout.sibling(repetition)

    def precede(self, rows: Ids, following: Ids) -> Mask:
        """A mask of the rows whose events precede all those of the step of the row beside them."""
        table = self._runs.table
        times, starts = table[rows, col.HIGH_TIME], table[following, col.LOW_TIME]
        streams = table[rows, col.HIGH_STREAM]
        same = (times == starts) & (streams == table[following, col.LOW_STREAM]) & (streams >= 0)
        before: Mask = (times < starts) | (same & (table[rows, col.HIGH] < table[following, col.LOW]))
        return before

    def in_window(self, rows: Ids, matches: Ids) -> Mask:
        """A mask of the rows that lie in the window of the match whose last row stands beside them."""
        window, table = self._plan.program.window, self._runs.table
        if not window.sliding:
            return np.ones(len(rows), dtype=np.bool_)
        if window.in_events:
            inside: Mask = table[rows, col.RANK] - table[matches, col.FIRST_RANK] < window.size
        else:
            inside = table[rows, col.HIGH_TIME] <= later(table[matches, col.FIRST_TIME], window.size)
        return inside

    def left_early(self, rows: Ids) -> Mask:
        """A mask of the rows whose runs have left a repetition that was extended before: they lead to nothing."""
        early = np.zeros(len(rows), dtype=np.bool_)
        for repetition, column in zip(sorted(self.free), self._left, strict=True):
            leaving = self._runs.column(rows, column)
            some = np.flatnonzero(leaving != NONE)
            leaving = leaving[some]
            for found in self.of(repetition, self._runs.column(leaving, col.SOURCE)):
                early[some[found.which]] |= self.precede(found.rows, leaving[found.which])
        return early

    def ended(self, position: int, rows: Ids) -> Mask:
        """A mask of the rows at a position that have been extended, and can only be left any more."""
        ended = np.zeros(len(rows), dtype=np.bool_)
        layout = self._runs.layout
        for repetition in self.free.intersection(self._plan.positions[position].completes):
            closing = self.closing(position, repetition)
            if closing is None:
                continue
            done = self._runs.column(rows, layout.extension(repetition)) != NONE
            for places in closing:
                masks = layout.closed_masks(places).items()
                done &= np.any([self._runs.column(rows, column) & mask != 0 for column, mask in masks], axis=0)
            ended |= done
        return ended

    def closing(self, position: int, repetition: int) -> list[tuple[int, ...]] | None:
        """For each edge that goes on inside a repetition: the places of which one must be closed to end it.

        None where a run there may always go on. A strict edge ends with the slice.
        """
        edges = [self._plan.edges[number] for number in self._plan.positions[position].outgoing]
        inside = [edge for edge in edges if repetition not in edge.leaves]
        if any(edge.operator is Contiguity.ANY for edge in inside):
            return None
        return [edge.blockers for edge in inside if edge.operator is Contiguity.NEXT]


def _negates(plan: Plan, repetition: int) -> bool:
    """True if a negation stands in the iterations of a repetition."""
    inside = plan.repetitions[repetition].positions
    edges = [edge for edge in plan.edges if edge.target in inside and edge.source in inside]
    passed = [p for edge in edges for p in edge.passed if edge.loop != repetition or not p.at_source]
    members = [a for u in plan.unordered if u.position in inside for m in u.members for a in m.accepts]
    ends = [*plan.repetitions[repetition].ends, *members]
    return bool(passed) or any(end.passed for end in ends)
