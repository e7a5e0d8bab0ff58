"""Runs that have come to a position: they may end a match or a member of an ALL( ), open one, and go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automata.runs.core import Core
from automata.runs.single.conditions import Row
from automata.runs.single.steps import Actions, Place, register_columns
from automata.runs.single.store import Store
from automata.runs.single.waiting import Reached


class Arrivals:
    """Brings rows that have been written to where they stand."""

    def __init__(self, core: Core, places: Sequence[Place], store: Store) -> None:
        self._core = core
        self._places = places
        self._store = store
        self._rows = store.rows
        self._registers = register_columns(core)
        self._reached: list[Reached] = []

    def reached(self) -> list[Reached]:
        """Where matches may have ended since this was asked for last."""
        reached, self._reached = self._reached, []
        return reached

    def arrive(self, position: int, number: int) -> None:
        """A run has come to a position: it may end a match or a member of an ALL, open one, and go on."""
        place, row = self._places[position], self._rows[number]
        for end in place.ends:
            if (not end.reached or _has_reached(row, end.reached)) and (end.free or self._may_end(position, number)):
                self._reached.append((number, end.accept))
        if place.goes_on:
            self._store.add(position, number)
        if place.opens or place.finishes:
            self._open_and_join(position, number)

    def _may_end(self, position: int, number: int) -> bool:
        """Whether every condition that is still to be decided holds."""
        decided = self._places[position].ends[0].decided
        if decided.in_columns:
            self._store.sync()
            core, rows = self._core, np.array([number], dtype=np.int64)
            return bool(core.checks.standing(core.runs, rows, core.analysis.final[position], patient=False)[0])
        row = self._rows[number]
        return not decided.owed or all(fulfilled(row, row[self._registers]) for fulfilled in decided.owed)

    def _open_and_join(self, position: int, number: int) -> None:
        """ALL( ) is opened, and joined, in columns."""
        place, core, rows = self._places[position], self._core, np.array([number], dtype=np.int64)
        for edge in place.opens:
            self._store.sync()
            able = core.extender.able(core.runs, edge, rows)
            if len(able):
                opened = core.growth.open(core.runs, edge, able)
                self._store.pull()
                for start, started in opened.items():
                    self.arrive(start, int(started[0]))
        for which, member, reached in place.finishes:
            if _has_reached(self._rows[number], reached):
                self._store.sync()
                joined = core.join_members(which, member, rows)
                self._store.pull()
                for each in joined.tolist():
                    self.arrive(core.automaton.unordered[which].position, each)


def _has_reached(row: Row, counts: Actions) -> bool:
    return all(row[column] >= bound for column, bound in counts)
