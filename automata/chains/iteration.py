"""Values of iterations: PREV, FIRST, LAST and aggregates over the chain of a run (specification 3.2).

The repetitions that one variable's iterations come from are a *track*. Every row knows the last row
inside the track so far, and every row inside knows the last row of the iteration before: following
those pointers gives one row per iteration, newest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains.table import Layout, Runs
from automata.plan.automaton import Automaton, Crossing, Edge
from automata.plan.facts import Analysis
from automata.plan.program import ConditionEvaluator, FoldValue, IterationValue, Reference
from automata.values import NONE, UNBOUND, Ids, Mask


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


@dataclass(frozen=True, slots=True)
class Series:
    """The iterations of one variable that a whole match brings to a negated group looked for in it.

    values      the bound ones, oldest first
    previous    what PREV is as long as the group itself adds no iteration; UNBOUND where there is none
    latest      the value of the last iteration
    open        that iteration is still without a value, and the group stands in it: what the group binds is its value
    """

    values: tuple[int, ...]
    previous: int
    latest: int
    open: bool


class Tracks:
    """The tracks of a program; `prior` are iterations before the first run (variable → series)."""

    def __init__(self, automaton: Automaton, analysis: Analysis, prior: Mapping[int, Series] | None = None) -> None:
        self.repetitions = tuple(dict.fromkeys(analysis.tracked.values()))
        self._automaton = automaton
        self._prior = prior or {}
        self._of_variable = {v: self.repetitions.index(r) for v, r in analysis.tracked.items()}
        self._inside = [
            frozenset(p for r in track for p in automaton.repetitions[r].positions) for track in self.repetitions
        ]

    def __len__(self) -> int:
        return len(self.repetitions)

    def of(self, variable: int) -> int:
        """The track of a variable that is iterated over."""
        return self._of_variable[variable]

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

    def seen_from(self, around: Sequence[int], ends: Mapping[int, int], now: View, runs: Runs, layout: Layout) -> View:
        """Iterations as something inside repetitions counts them: up to its own in those, up to now elsewhere.

        around      the repetitions around it, outermost first
        ends        the last row of its iteration of each; NONE where that goes on to the end
        now         one run at its end
        """
        current, older = dict(now.current), dict(now.older)
        for track in range(len(self)):
            shared = [r for r in around if self._encloses(r, track)]
            if shared and ends[shared[-1]] != NONE:
                end = np.array([ends[shared[-1]]], dtype=np.int64)
                current[track], older[track] = np.zeros(1, dtype=np.bool_), runs.column(end, layout.inside(track))
        return View(now.registers, current, older)

    def series(self, variable: int, view: View, around: Sequence[int], runs: Runs, layout: Layout) -> Series:
        """What a match, seen so, brings to a negated group inside the repetitions `around`."""
        track = self._of_variable[variable]
        _, values = self._values(variable, view, runs, layout)
        previous = self._previous(variable, view, runs, layout)
        last = runs.registers(view.older[track])[0, variable] if view.older[track][0] != NONE else UNBOUND
        inside = bool(around) and around[-1] in (self.repetitions[track] or around)
        is_open = inside and view.registers[0, variable] == UNBOUND
        return Series(tuple(values.tolist()), int(previous[0]), int(last), bool(is_open))

    def _encloses(self, repetition: int, track: int) -> bool:
        """Whether the repetition is one of the track's, or is around one of them."""
        positions = [self._automaton.repetitions[r].positions for r in (repetition, *self.repetitions[track])]
        return any(inner <= positions[0] for inner in positions[1:])

    def columns(
        self,
        references: Iterable[Reference],
        view: View,
        runs: Runs,
        layout: Layout,
        condition_evaluator: ConditionEvaluator,
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
                    columns[reference] = condition_evaluator.fold(reference, offsets, ids)
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
        first = UNBOUND
        if (prior := self._prior.get(variable)) is not None:
            first = prior.latest if self.repetitions[track] else prior.previous
        return np.where(before == NONE, first, values)

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
        if (prior := self._prior.get(variable)) is not None:
            everyone = np.arange(len(view.registers), dtype=np.int64)
            if prior.open and not self.repetitions[track]:
                owners[0], found[0] = everyone, view.registers[:, variable]
            owners += [everyone] * len(prior.values)
            found += [np.full(len(everyone), value, dtype=np.int64) for value in reversed(prior.values)]
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
