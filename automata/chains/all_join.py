"""ALL( ): joining the matches of its members (K Sections 4.2-4.3).

Each member is matched on its own after the events before the ALL. A finished member waits here until
each of the others has finished too; then every combination on distinct events with compatible values
is one run at the position of the ALL.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arrays.columns import expand
from automata.chains.iteration import Tracks
from automata.chains.table import (
    CLOSED,
    EDGE,
    FIRST,
    FIRST_RANK,
    FIRST_TIME,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    INSTANCE,
    LOW,
    LOW_STREAM,
    LOW_TIME,
    PARENT,
    PARTITION,
    POSITION,
    RANK,
    SLOT,
    SOLUTION,
    SOURCE,
    STATE,
    SYMBOL,
    WINDOW,
    Layout,
    Runs,
)
from automata.plan.automaton import Automaton, Unordered
from automata.plan.program import Window
from automata.slices.step_table import SEVERAL
from automata.values import NONE, UNBOUND, Ids, Mask


class AllJoin:
    """The finished members of one ALL."""

    def __init__(
        self, automaton: Automaton, unordered: Unordered, layout: Layout, tracks: Tracks, window: Window
    ) -> None:
        self._automaton = automaton
        self._unordered = unordered
        self._layout = layout
        self._tracks = tracks
        self._window = window
        self.finished: list[Ids] = [np.zeros(0, dtype=np.int64) for _ in unordered.members]

    def add(self, runs: Runs, member: int, rows: Ids) -> Ids:
        """Rows of the ALL itself, one for each new combination with these newly finished rows of one member."""
        combined = rows[:, np.newaxis]
        registers = runs.registers(rows)
        columns = [member]
        for other in range(len(self.finished)):
            if other != member:
                combined, registers = self._with(runs, combined, registers, self.finished[other])
                columns.append(other)
        self.finished[member] = np.concatenate((self.finished[member], rows))
        ordered = combined[:, np.argsort(columns)]
        kept = np.flatnonzero(self._within(runs, ordered) & self._distinct(runs, ordered))
        return self._append(runs, ordered[kept], registers[kept])

    def combine(self, runs: Runs, combined: NDArray[np.int64], distinct: bool) -> tuple[Ids, Ids]:
        """Rows of the ALL itself for those that fit of these combinations of finished rows, in one window; and which.

        distinct    no event is known to be in two members
        """
        registers, fits = runs.registers(combined[:, 0]), np.ones(len(combined), dtype=np.bool_)
        for column in combined.T[1:]:
            added = runs.registers(column)
            fits &= ((registers == added) | (registers == UNBOUND) | (added == UNBOUND)).all(axis=1)
            registers = np.where(registers != UNBOUND, registers, added)
        if not distinct:
            fits &= self._distinct(runs, combined)
        which = np.flatnonzero(fits)
        return self._append(runs, combined[which], registers[which]), which

    def _append(self, runs: Runs, combined: NDArray[np.int64], registers: NDArray[np.int64]) -> Ids:
        return runs.append(self._joined(runs, combined, registers)) if len(combined) else combined[:, 0]

    def keep(self, alive: list[Mask]) -> None:
        """Drops the finished rows of each member that the masks do not name."""
        self.finished = [rows[mask] for rows, mask in zip(self.finished, alive, strict=True)]

    def _with(
        self, runs: Runs, combined: NDArray[np.int64], registers: NDArray[np.int64], others: Ids
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each combination with each finished row of one more member of the same ALL, values compatible."""
        others = others[np.argsort(runs.column(others, INSTANCE), kind="stable")]
        instances = runs.column(others, INSTANCE)
        wanted = runs.column(combined[:, 0], INSTANCE)
        begin, end = np.searchsorted(instances, wanted, "left"), np.searchsorted(instances, wanted, "right")
        which, within = expand(end - begin)
        added = others[begin[which] + within]
        a, b = registers[which], runs.registers(added)
        keep = ((a == b) | (a == UNBOUND) | (b == UNBOUND)).all(axis=1)
        keep &= runs.column(combined[which, 0], PARTITION) == runs.column(added, PARTITION)
        keep &= runs.column(combined[which, 0], WINDOW) == runs.column(added, WINDOW)
        merged = np.where(a != UNBOUND, a, b)
        return np.column_stack((combined[which], added))[keep], merged[keep]

    def _within(self, runs: Runs, combined: NDArray[np.int64]) -> Mask:
        window = self._window
        keep = np.ones(len(combined), dtype=np.bool_)
        if not window.sliding:
            return keep
        rows = runs.table[combined]
        if window.in_events:
            result: Mask = rows[:, :, RANK].max(axis=1) - rows[:, :, FIRST_RANK].min(axis=1) < window.size
            return result
        result = rows[:, :, HIGH_TIME].max(axis=1) - rows[:, :, FIRST_TIME].min(axis=1) <= window.size
        return result

    def _distinct(self, runs: Runs, combined: NDArray[np.int64]) -> Mask:
        keep = np.ones(len(combined), dtype=np.bool_)
        taken: dict[int, frozenset[int]] = {}
        for number, rows in enumerate(combined.tolist()):
            seen: set[int] = set()
            for row in rows:
                if row not in taken:
                    taken[row] = self._events(runs, row)
                keep[number] &= seen.isdisjoint(taken[row])
                seen |= taken[row]
        return keep

    def _events(self, runs: Runs, row: int) -> frozenset[int]:
        """The positions of the events of one finished member."""
        opened = int(runs.table[row, INSTANCE])
        positions: set[int] = set()
        pending = [row]
        while pending:
            row = pending.pop()
            if row in (NONE, opened):
                continue
            if runs.table[row, SYMBOL] != NONE:
                positions.add(int(runs.table[row, POSITION]))
            elif self._of_unordered(int(runs.table[row, STATE])):
                inner = [int(runs.table[row, self._layout.member(m)]) for m in range(self._layout.members)]
                positions |= {p for m in inner if m != NONE for p in self._events(runs, m)}
            pending.append(int(runs.table[row, PARENT]))
        return frozenset(positions)

    def _of_unordered(self, state: int) -> bool:
        return state != NONE and self._automaton.positions[state].any_order >= 0

    def _joined(self, runs: Runs, combined: NDArray[np.int64], registers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows: the context is that of the row that opened the ALL, the events are those of all members."""
        opened = runs.column(combined[:, 0], INSTANCE)
        members = runs.table[combined]
        rows: NDArray[np.int64] = runs.table[opened]
        fresh = rows[:, FIRST] == NONE
        rows[:, PARENT] = opened
        rows[:, STATE] = self._unordered.position
        rows[:, [EDGE, SYMBOL, SOLUTION, POSITION, SLOT]] = NONE
        rows[:, CLOSED] = 0
        rows[:, SOURCE] = runs.column(opened, SOURCE)
        rows[:, self._layout.registers] = registers
        self._stamp(runs, rows, combined, members)
        for column in (FIRST_TIME, FIRST, FIRST_RANK):
            rows[fresh, column] = members[fresh][:, :, column].min(axis=1)
        for column in (WINDOW, PARTITION):
            rows[fresh, column] = members[fresh, 0, column]
        for marker in range(self._layout.markers):
            rows[:, self._layout.marker(marker)] = members[:, :, self._layout.marker(marker)].max(axis=1)
        for member in range(combined.shape[1]):
            rows[:, self._layout.member(member)] = combined[:, member]
        self._track(runs, rows, members)
        return rows

    def _stamp(
        self, runs: Runs, rows: NDArray[np.int64], combined: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        """First and last of the set of all members' events."""
        firsts = runs.table[self._first_steps(runs, combined)]
        low, high = firsts[:, :, LOW_TIME].min(axis=1), members[:, :, HIGH_TIME].max(axis=1)
        rows[:, LOW_TIME], rows[:, HIGH_TIME] = low, high
        rows[:, LOW] = firsts[:, :, LOW].min(axis=1)
        rows[:, HIGH] = members[:, :, HIGH].max(axis=1)
        rows[:, RANK] = members[:, :, RANK].max(axis=1)
        rows[:, LOW_STREAM] = _common(firsts[:, :, LOW_STREAM], firsts[:, :, LOW_TIME] == low[:, np.newaxis])
        rows[:, HIGH_STREAM] = _common(members[:, :, HIGH_STREAM], members[:, :, HIGH_TIME] == high[:, np.newaxis])

    @staticmethod
    def _first_steps(runs: Runs, combined: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of the first step of each member."""
        flat = combined.ravel().copy()
        opened = runs.column(flat, INSTANCE)
        while True:
            before = runs.column(flat, SOURCE)
            # The start row of a member has the opening row as its source.
            starts = runs.column(before, SOURCE) == opened
            starts &= runs.column(before, SYMBOL) == NONE
            if starts.all():
                return flat.reshape(combined.shape)
            flat = np.where(starts, flat, before)

    def _track(self, runs: Runs, rows: NDArray[np.int64], members: NDArray[np.int64]) -> None:
        own = runs.size + np.arange(len(rows), dtype=np.int64)
        for track in range(len(self._tracks)):
            inside, previous = self._layout.inside(track), self._layout.previous(track)
            if self._tracks.inside(track, self._unordered.position):
                rows[:, inside] = own
            else:
                latest = members[:, :, inside].argmax(axis=1)
                which = np.arange(len(rows))
                rows[:, inside], rows[:, previous] = members[which, latest, inside], members[which, latest, previous]


def _common(streams: NDArray[np.int64], counts: NDArray[np.bool_]) -> Ids:
    """Per row the one stream among those that count, or SEVERAL."""
    least = np.where(counts, streams, np.iinfo(np.int64).max).min(axis=1)
    greatest = np.where(counts, streams, np.iinfo(np.int64).min).max(axis=1)
    return np.where(least == greatest, least, SEVERAL)
