"""Runs that reach a position: they may end a match or a member of an ALL( ), open one, and go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automata.chains import columns as col
from automata.runs.rows.all_join import RowAllJoin
from automata.runs.rows.conditions import Decided
from automata.runs.rows.edges import Bounds, RowCompletion, RowPosition
from automata.runs.rows.row_table import Row
from automata.runs.rows.store import Store
from automata.runs.rows.waiting import Reached
from automata.values import NONE


class Arrivals:
    """Enters new rows at their positions."""

    def __init__(self, places: Sequence[RowPosition], store: Store, all_join: RowAllJoin) -> None:
        core = self._core = store.core
        self._places = places
        self._store = store
        self._all_join = all_join
        self._rows = store.rows
        self._registers = core.layout.registers
        self._reached: list[Reached] = []

    def reached(self) -> list[Reached]:
        """The accepted runs since the last call."""
        reached, self._reached = self._reached, []
        return reached

    def arrive(self, position: int, number: int) -> None:
        """A run has reached a position: it may end a match or a member of an ALL, open one, and go on."""
        place, row = self._places[position], self._rows[number]
        for completion in place.completes:
            self._note(completion, number)
        for end in place.ends:
            if (not end.reached or _has_reached(row, end.reached)) and (end.free or self._holds(end.decided, number)):
                self._reached.append((number, end.accept))
        if place.goes_on:
            self._store.add(position, number)
        if place.opens or place.finishes:
            self._open_and_join(position, number)

    def _note(self, completion: RowCompletion, number: int) -> None:
        """An iteration is complete: a further one extends the run that began it."""
        rows, row = self._rows, self._rows[number]
        if row[completion.begun] == NONE or not _has_reached(row, completion.reached):
            return
        begun = row[completion.begun]
        base = rows[begun]
        known = base[completion.extension]
        if completion.definite and known != NONE and rows[known][col.HIGH_TIME] < row[col.HIGH_TIME]:
            return
        row[completion.sibling], base[completion.extension] = known, number
        self._store.change(number)
        self._store.change(begun)
        if completion.closing is not None and all(
            any(base[c] & mask for c, mask in each) for each in completion.closing
        ):
            self._store.remove(base[col.STATE], begun)

    def _open_and_join(self, position: int, number: int) -> None:
        """ALL( ) is opened, and joined."""
        place = self._places[position]
        for edge in place.opens:
            for start, started in self._all_join.open(edge, number):
                self.arrive(start, started)
        for which, member, reached in place.finishes:
            if _has_reached(self._rows[number], reached):
                target = self._core.plan.unordered[which].position
                for joined in self._all_join.join(which, member, number):
                    if self._holds(self._places[target].joined, joined):
                        self.arrive(target, joined)

    def _holds(self, decided: Decided, number: int) -> bool:
        """True if every condition holds that is decided now, as an ALL is complete or a match ends."""
        if decided.in_columns:
            self._store.sync()
            rows = np.array([number], dtype=np.int64)
            return bool(self._core.conditions.arrived(rows, decided.checks, decided.patient)[0])
        row = self._rows[number]
        return not decided.open or all(fulfilled(row, row[self._registers]) for fulfilled in decided.open)


def _has_reached(row: Row, counts: Bounds) -> bool:
    return all(row[column] >= bound for column, bound in counts)
