"""Values of iterations: PREV, FIRST, LAST and aggregates over the chain of a run (LANGUAGE 3.2).

The repetitions that one variable's iterations come from are a *track*. Every row knows the last row
inside the track so far, and every row inside knows the last row of the iteration before: following
those pointers gives one row per iteration, newest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.analysis import Analysis
from automata.nfa import Automaton, Crossing, Edge
from automata.program import UNBOUND, FoldValue, Host, Ids, IterationValue, Mask, Reference
from automata.runs import NONE, Layout, Runs


@dataclass(frozen=True, slots=True)
class View:
    """n runs as conditions see them, whether their last step has a row yet or not.

    registers   int64[n, variables]
    current     track → bool[n]: the last step is inside the track, its values are in `registers`
    older       track → int64[n]: the newest row of the track that is not the last step itself
                (where `current`: of the iteration before; else: the last row inside)
    """

    registers: NDArray[np.int64]
    current: Mapping[int, Mask]
    older: Mapping[int, Ids]

    def take(self, rows: Ids | Mask) -> View:
        """These runs."""
        return View(
            self.registers[rows],
            {track: mask[rows] for track, mask in self.current.items()},
            {track: older[rows] for track, older in self.older.items()},
        )


class Tracks:
    """The tracks of a program."""

    def __init__(self, automaton: Automaton, analysis: Analysis) -> None:
        self.repetitions = tuple(dict.fromkeys(analysis.tracked.values()))
        self._of_variable = {v: self.repetitions.index(r) for v, r in analysis.tracked.items()}
        self._inside = [
            frozenset(p for r in track for p in automaton.repetitions[r].positions) for track in self.repetitions
        ]

    def __len__(self) -> int:
        return len(self.repetitions)

    def inside(self, track: int, position: int) -> bool:
        """Whether a step lies in the track."""
        return position in self._inside[track]

    def begins(self, track: int, edge: Edge) -> bool:
        """Whether taking the edge begins an iteration of the track."""
        return any(
            action.crossing is not Crossing.LEAVE and action.repetition in self.repetitions[track]
            for action in edge.actions
        )

    def arriving(self, runs: Runs, layout: Layout, sources: Ids, edge: Edge, registers: NDArray[np.int64]) -> View:
        """The runs that take `edge` from the rows `sources`, with these registers."""
        current, older = {}, {}
        for track in range(len(self)):
            inside = self.inside(track, edge.target)
            goes_on = inside and not self.begins(track, edge)
            column = layout.previous(track) if goes_on else layout.inside(track)
            current[track] = np.full(len(sources), inside)
            older[track] = runs.column(sources, column)
        return View(registers, current, older)

    def standing(self, runs: Runs, layout: Layout, rows: Ids) -> View:
        """The runs whose last rows these are."""
        outside = np.zeros(len(rows), dtype=np.bool_)
        return View(
            runs.registers(rows),
            dict.fromkeys(range(len(self)), outside),
            {track: runs.column(rows, layout.inside(track)) for track in range(len(self))},
        )

    def columns(
        self, references: Iterable[Reference], view: View, runs: Runs, layout: Layout, host: Host
    ) -> dict[Reference, Ids]:
        """One column of ids for each reference."""
        columns: dict[Reference, Ids] = {}
        for reference in references:
            match reference:
                case int():
                    columns[reference] = view.registers[:, reference]
                case IterationValue(kind, variable):
                    columns[reference] = self._value(kind, variable, view, runs, layout)
                case FoldValue(_, variable):
                    offsets, ids = self._values(variable, view, runs, layout)
                    columns[reference] = host.fold(reference, offsets, ids)
        return columns

    def _value(self, kind: str, variable: int, view: View, runs: Runs, layout: Layout) -> Ids:
        if kind == "PREV":
            return self._previous(variable, view, runs, layout)
        offsets, ids = self._values(variable, view, runs, layout)
        counts = np.diff(offsets)
        result = np.full(len(counts), UNBOUND, dtype=np.int64)
        some = counts > 0
        result[some] = ids[offsets[:-1][some] if kind == "FIRST" else offsets[1:][some] - 1]
        return result

    def _previous(self, variable: int, view: View, runs: Runs, layout: Layout) -> Ids:
        track = self._of_variable[variable]
        older, current = view.older[track], view.current[track]
        before = np.where(current | (older == NONE), older, runs.column(older, layout.previous(track)))
        values = runs.registers(before)[:, variable]
        return np.where(before == NONE, UNBOUND, values)

    def _values(self, variable: int, view: View, runs: Runs, layout: Layout) -> tuple[Ids, Ids]:
        """The bound values of all iterations, oldest first, as offsets and ids."""
        track = self._of_variable[variable]
        owners = [np.flatnonzero(view.current[track])]
        found = [view.registers[owners[0], variable]]
        which, rows = np.arange(len(view.registers), dtype=np.int64), view.older[track]
        while len(rows := rows[alive := rows != NONE]):
            which = which[alive]
            owners.append(which)
            found.append(runs.registers(rows)[:, variable])
            rows = runs.column(rows, layout.previous(track))
        owner, ids = np.concatenate(owners), np.concatenate(found)
        age = np.repeat(np.arange(len(owners)), [len(some) for some in owners])
        bound = ids != UNBOUND
        order = np.lexsort((-age[bound], owner[bound]))
        counts = np.bincount(owner[bound], minlength=len(view.registers))
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return offsets, ids[bound][order]


def named(columns: Mapping[Reference, Ids], rows: Ids | Mask) -> dict[Reference, Ids]:
    """These rows of every column."""
    return {reference: column[rows] for reference, column in columns.items()}
