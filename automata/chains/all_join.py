"""ALL( ): joining the matches of its members (K Sections 4.2-4.3).

A finished member waits until each of the others has finished too; then every combination on distinct events with
compatible values is one run at the position of the ALL.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arrays.columns import compatible, expand, hash_columns, merged
from arrays.times import TIME_NS_MAX, earlier, later
from arrays.wanted import check_wanted
from automata.chains import columns as col
from automata.chains.table import Runs
from automata.chains.walk import visits
from automata.plan.plan import Plan
from automata.slices.step_table import SEVERAL
from automata.values import NONE, Ids, Mask

_ROWS_AT_ONCE = 1 << 16
"""Rows that are made before it is asked whether they are still wanted."""


class AllJoin:
    """The finished members of one ALL."""

    def __init__(self, plan: Plan, number: int, runs: Runs) -> None:
        self._plan = plan
        self._position = plan.unordered[number].position
        self._key = plan.member_keys[number]
        self._timed = plan.positions[self._position].timed
        self._runs = runs
        self.finished: list[Ids] = [np.zeros(0, dtype=np.int64) for _ in plan.unordered[number].members]

    def add(self, member: int, rows: Ids) -> Ids:
        """Rows of the ALL itself, one for each new combination with these newly finished rows of one member."""
        finished, self.finished[member] = rows, np.concatenate((self.finished[member], rows))
        rows = rows[self._completable(member, rows)]
        combined, registers = rows[:, np.newaxis], self._runs.registers(rows)
        others = sorted((n for n in range(len(self.finished)) if n != member), key=lambda n: len(self.finished[n]))
        for other in others:
            combined, registers = self._with(combined, registers, self.finished[other])
        ordered = combined[:, np.argsort([member, *others])]
        kept = np.flatnonzero(self._in_time(ordered) & self._distinct(ordered))
        return self._append(ordered[kept], registers[kept]) if len(rows) else finished[:0]

    def _completable(self, member: int, rows: Ids) -> Mask:
        """A mask of those beside which every other member has finished, on as many events as there are members."""
        runs, able = self._runs, np.ones(len(rows), dtype=np.bool_)
        instances = runs.column(rows, col.INSTANCE)
        for other, finished in enumerate(self.finished):
            if other != member:
                able &= np.isin(instances, runs.column(finished, col.INSTANCE))
        if not able.any():
            return able
        every = np.concatenate(self.finished)
        lasts = np.unique(np.column_stack((runs.column(every, col.INSTANCE), runs.column(every, col.HIGH))), axis=0)
        known, counts = np.unique(lasts[:, 0], return_counts=True)
        enough: Mask = counts[np.searchsorted(known, instances)] >= len(self.finished)
        return able & enough

    def combine(self, combined: NDArray[np.int64], distinct: bool) -> tuple[Ids, Ids]:
        """Rows of the ALL itself for those that fit of these combinations of finished rows, in one window; and which.

        distinct    no event is known to be in two members
        """
        registers, fits = self._runs.registers(combined[:, 0]), np.ones(len(combined), dtype=np.bool_)
        for column in combined.T[1:]:
            added = self._runs.registers(column)
            fits &= compatible(registers, added).all(axis=1)
            registers = merged(registers, added)
        fits &= self._in_time(combined)
        if not distinct:
            fits &= self._distinct(combined)
        which = np.flatnonzero(fits)
        return self._append(combined[which], registers[which]), which

    def _append(self, combined: NDArray[np.int64], registers: NDArray[np.int64]) -> Ids:
        if not len(combined):
            return combined[:, 0]
        rows = []
        for begin in range(0, len(combined), _ROWS_AT_ONCE):
            check_wanted()
            some = slice(begin, begin + _ROWS_AT_ONCE)
            rows.append(self._runs.append(self._joined(combined[some], registers[some])))
        return np.concatenate(rows)

    def deadlines(self, rows: Ids) -> Ids:
        """The last times at which events may end other members beside these finished rows."""
        least = np.full(len(rows), TIME_NS_MAX, dtype=np.int64)
        for clock in self._timed:
            least = np.minimum(least, self._runs.column(rows, self._runs.layout.clock(clock)))
        return least

    def keep(self, alive: list[Mask]) -> None:
        """Drops the finished rows of each member that the masks do not name."""
        self.finished = [rows[mask] for rows, mask in zip(self.finished, alive, strict=True)]

    def _with(
        self, combined: NDArray[np.int64], registers: NDArray[np.int64], others: Ids
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each combination with each finished row of one more member of the same ALL that fits, in one window."""
        runs = self._runs
        first, last = self._span(others[:, np.newaxis])
        own = self._hashes(others, runs.registers(others))
        order = np.lexsort((last, own))
        others, own, first, last = others[order], own[order], first[order], last[order]
        earliest, latest = self._reach(combined)
        begin, end = _ranges(own, last, self._hashes(combined[:, 0], registers), earliest, latest)
        runs.check(int((end - begin).sum()))
        which, within = expand(end - begin)
        at = begin[which] + within
        keep = first[at] >= earliest[which]
        which, at = which[keep], at[keep]
        added, beside = others[at], combined[which, 0]
        fits = compatible(registers[which], runs.registers(added)).all(axis=1)
        fits &= (runs.column(combined[which], col.HIGH) != runs.column(added, col.HIGH)[:, np.newaxis]).all(axis=1)
        for column in (col.INSTANCE, col.PARTITION, col.WINDOW):
            fits &= runs.column(beside, column) == runs.column(added, column)
        which, added = which[fits], added[fits]
        return np.column_stack((combined[which], added)), merged(registers[which], runs.registers(added))

    def _hashes(self, rows: Ids, registers: NDArray[np.int64]) -> Ids:
        """Hashes of what members of one combination share: ALL, context, and the variables that all of them bind."""
        context = [self._runs.column(rows, column) for column in (col.INSTANCE, col.PARTITION, col.WINDOW)]
        return hash_columns([*context, *(registers[:, variable] for variable in self._key)], len(rows))

    def _span(self, combined: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """Of each combination the first and the last time (or rank) that a sliding window counts; else zeros."""
        window = self._plan.program.window
        if not window.sliding:
            zeros = np.zeros(len(combined), dtype=np.int64)
            return zeros, zeros
        begins, ends = (col.FIRST_RANK, col.RANK) if window.in_events else (col.FIRST_TIME, col.HIGH_TIME)
        return self._runs.column(combined, begins).min(axis=1), self._runs.column(combined, ends).max(axis=1)

    def _reach(self, combined: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """The times (or ranks) between which another member lies in one sliding window with each combination."""
        window, (first, last) = self._plan.program.window, self._span(combined)
        size = window.size - window.in_events
        return earlier(last, size), later(first, size)

    def _in_time(self, combined: NDArray[np.int64]) -> Mask:
        """A mask of the combinations that keep the limits of the steps around the ALL."""
        fits, last = np.ones(len(combined), dtype=np.bool_), self._runs.column(combined, col.HIGH_TIME)
        for clock in self._timed:
            deadline = self._runs.column(combined, self._runs.layout.clock(clock)).min(axis=1)
            fits &= last.max(axis=1) <= deadline
        return fits

    def _distinct(self, combined: NDArray[np.int64]) -> Mask:
        """A mask of the combinations that have no event twice."""
        rows, numbers = np.unique(combined, return_inverse=True)
        members, positions = self._events(rows).T
        starts = np.searchsorted(members, np.arange(len(rows) + 1))
        which, within = expand(np.diff(starts)[numbers.ravel()])
        taken = np.column_stack((which // combined.shape[1], positions[starts[numbers.ravel()[which]] + within]))
        events, times = np.unique(taken, axis=0, return_counts=True)
        distinct = np.ones(len(combined), dtype=np.bool_)
        distinct[events[times > 1, 0]] = False
        return distinct

    def _events(self, rows: Ids) -> NDArray[np.int64]:
        """int64[n, 2]: index of the row and position of the events of these finished members, each once, in order."""
        found = [np.zeros((0, 2), dtype=np.int64)]
        for visit in visits(self._runs, rows, self._runs.column(rows, col.INSTANCE)):
            taken = self._runs.column(visit.rows, col.SYMBOL) != NONE
            found.append(np.column_stack((visit.which, self._runs.column(visit.rows, col.POSITION)))[taken])
        return np.unique(np.concatenate(found), axis=0)

    def _joined(self, combined: NDArray[np.int64], registers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows: the context is that of the row that opened the ALL, the events are those of all members."""
        layout, opened = self._runs.layout, self._runs.column(combined[:, 0], col.INSTANCE)
        members = self._runs.table[combined]
        rows: NDArray[np.int64] = self._runs.table[opened]
        fresh = rows[:, col.FIRST] == NONE
        rows[:, col.PARENT] = opened
        rows[:, col.STATE] = self._position
        rows[:, [col.EDGE, col.SYMBOL, col.SOLUTION, col.POSITION, col.SLOT]] = NONE
        for column in layout.closed:
            rows[:, column] = 0
        rows[:, layout.registers] = registers
        self._stamp(rows, combined, members)
        for column in (col.FIRST_TIME, col.FIRST, col.FIRST_RANK):
            rows[fresh, column] = members[fresh][:, :, column].min(axis=1)
        for column in (col.WINDOW, col.PARTITION):
            rows[fresh, column] = members[fresh, 0, column]
        for marker in range(layout.markers):
            rows[:, layout.marker(marker)] = members[:, :, layout.marker(marker)].max(axis=1)
        for clock in self._timed:
            rows[:, layout.clock(clock)] = members[:, :, layout.clock(clock)].min(axis=1)
        for member in range(combined.shape[1]):
            rows[:, layout.member(member)] = combined[:, member]
        self._note_iterations(rows, members)
        return rows

    def _stamp(self, rows: NDArray[np.int64], combined: NDArray[np.int64], members: NDArray[np.int64]) -> None:
        """First and last of the set of all members' events."""
        firsts = self._runs.table[self._first_steps(combined)]
        low, high = firsts[:, :, col.LOW_TIME].min(axis=1), members[:, :, col.HIGH_TIME].max(axis=1)
        rows[:, col.LOW_TIME], rows[:, col.HIGH_TIME] = low, high
        rows[:, col.LOW] = firsts[:, :, col.LOW].min(axis=1)
        rows[:, col.HIGH] = members[:, :, col.HIGH].max(axis=1)
        rows[:, col.RANK] = members[:, :, col.RANK].max(axis=1)
        rows[:, col.LOW_STREAM] = _common(
            firsts[:, :, col.LOW_STREAM], firsts[:, :, col.LOW_TIME] == low[:, np.newaxis]
        )
        rows[:, col.HIGH_STREAM] = _common(
            members[:, :, col.HIGH_STREAM], members[:, :, col.HIGH_TIME] == high[:, np.newaxis]
        )

    def _first_steps(self, combined: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of the first step of each member."""
        runs, flat = self._runs, combined.ravel()
        opened = runs.column(flat, col.INSTANCE)
        while True:
            before = runs.column(flat, col.SOURCE)
            # The start row of a member has the opening row as its source.
            starts = runs.column(before, col.SOURCE) == opened
            starts &= runs.column(before, col.SYMBOL) == NONE
            if starts.all():
                return flat.reshape(combined.shape)
            flat = np.where(starts, flat, before)

    def _note_iterations(self, rows: NDArray[np.int64], members: NDArray[np.int64]) -> None:
        """Pointers between iterations."""
        layout, numbers = self._runs.layout, np.arange(len(rows), dtype=np.int64)
        for domain in range(layout.domains):
            inside, previous = layout.inside(domain), layout.previous(domain)
            if domain in self._plan.positions[self._position].inside:
                rows[:, inside] = self._runs.size + numbers
            else:
                latest = members[:, :, inside].argmax(axis=1)
                for column in (inside, previous):
                    rows[:, column] = members[numbers, latest, column]


def _common(streams: NDArray[np.int64], counts: NDArray[np.bool_]) -> Ids:
    """Per row the one stream among those that count, or SEVERAL."""
    least = np.where(counts, streams, np.iinfo(np.int64).max).min(axis=1)
    greatest = np.where(counts, streams, np.iinfo(np.int64).min).max(axis=1)
    return np.where(least == greatest, least, SEVERAL)


def _ranges(hashes: Ids, moments: Ids, wanted: Ids, earliest: Ids, latest: Ids) -> tuple[Ids, Ids]:
    """For each wanted hash the range of the rows with it, ordered by hash and moment, whose moments are in between."""
    known, groups = np.unique(hashes, return_inverse=True)
    ranked = np.unique(moments)
    keys = groups * (len(ranked) + 1) + np.searchsorted(ranked, moments)
    group = np.searchsorted(known, wanted)
    base = group * (len(ranked) + 1)
    found = np.append(known, 0)[group] == wanted
    found &= group < len(known)
    begin = np.searchsorted(keys, base + np.searchsorted(ranked, earliest, "left"))
    end = np.searchsorted(keys, base + np.searchsorted(ranked, latest, "right"))
    return begin, np.where(found, np.maximum(begin, end), begin)
