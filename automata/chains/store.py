"""The chains of one automaton: their table, how bindings and iterations change along edges, and the open ALL joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains.active_runs import ActiveRuns
from automata.chains.all_join import AllJoin
from automata.chains.bindings import Bindings
from automata.chains.conditions import Checks
from automata.chains.extend import Extender
from automata.chains.growth import Growth
from automata.chains.iteration import Series, Tracks
from automata.chains.lookback import Lookback
from automata.chains.table import FIRST, PARTITION, Layout, Runs
from automata.plan.automaton import Accept, Automaton, Crossing
from automata.plan.facts import analyse
from automata.plan.program import ConditionEvaluator, Program
from automata.slices.substreams import Substream
from automata.values import NONE, UNBOUND, Ids

COMPACT_MIN = 1 << 14
"""Rows below which a compaction is not worth it."""


@dataclass(frozen=True, slots=True)
class AcceptedRuns:
    """Runs that stand where a match may end.

    accept      the number of the automaton's accept
    free        no inner negation removes any of them: that has been looked at
    """

    rows: Ids
    accept: int
    free: bool = False


class ChainStore:
    """The chains of one automaton, from one start: these registers, and iterations counted before it.

    active      position → the runs there that an event may still extend
    substream   the events that `,` considers, where steps may take events outside it
    """

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        condition_evaluator: ConditionEvaluator,
        registers: NDArray[np.int64],
        prior: Mapping[int, Series] | None = None,
        substream: Substream | None = None,
    ) -> None:
        self.program = program
        self.automaton = automaton
        self.analysis = analyse(program, automaton)
        self.tracks = Tracks(automaton, self.analysis, prior)
        members = max((len(unordered.members) for unordered in automaton.unordered), default=0)
        self.layout = Layout(
            program.variables, len(automaton.repetitions), len(self.tracks), len(self.analysis.markers), members
        )
        self.runs = Runs(self.layout, registers)
        self.lookback = Lookback(automaton, self.analysis, self.layout)
        given = frozenset(np.flatnonzero(registers != UNBOUND).tolist())
        self.bindings = Bindings(program, automaton, self.analysis, self.layout, given)
        self.extender = Extender(program, automaton, self.layout, self.bindings, substream)
        self.checks = Checks(program, automaton, self.analysis, self.layout, self.tracks, condition_evaluator)
        self.growth = Growth(automaton, self.analysis, self.layout, self.tracks, self.bindings)
        self.all_joins = [
            AllJoin(automaton, unordered, self.layout, self.tracks, program.window) for unordered in automaton.unordered
        ]
        self.active = [ActiveRuns(automaton, position) for position in range(len(automaton.positions))]
        self._compacted = COMPACT_MIN

    def compact(self, held: list[Ids], always: bool = False) -> list[Ids] | None:
        """Frees the rows of dead runs once they are many, or `always`.

        Returns `held` renumbered, or None if nothing moved.
        """
        if not self.is_large(self.runs.size) and not always:
            return None
        finished = [rows for all_join in self.all_joins for rows in all_join.finished]
        numbers = self.runs.compact([*(active.rows for active in self.active), *finished, *held])
        for active in self.active:
            active.renumber(numbers)
        for all_join in self.all_joins:
            all_join.finished = [numbers[rows] for rows in all_join.finished]
        self._compacted = max(COMPACT_MIN, self.runs.size)
        return [numbers[rows] for rows in held]

    def join_members(self, which: int, member: int, rows: Ids) -> Ids:
        """The rows of an ALL that newly finished rows of one member complete, as far as its conditions hold."""
        joined = self.all_joins[which].add(self.runs, member, rows)
        if not len(joined):
            return joined
        checks = self.analysis.checks[self.automaton.unordered[which].position]
        return joined[self.checks.standing(self.runs, joined, checks, patient=True)]

    def is_large(self, rows: int) -> bool:
        """Whether there are so many rows that a compaction is due."""
        return rows >= 2 * self._compacted

    def oldest(self, column: int, default: int) -> int:
        """The least FIRST or FIRST_TIME of the runs that are alive."""
        rows = [active.rows for active in self.active]
        rows += [finished for all_join in self.all_joins for finished in all_join.finished]
        alive = np.concatenate(rows)
        alive = alive[self.runs.column(alive, FIRST) != NONE]
        return int(self.runs.column(alive, column).min()) if len(alive) else default

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions and first positions of the runs that are alive."""
        rows = [active.rows for active in self.active]
        rows += [finished for all_join in self.all_joins for finished in all_join.finished]
        parts = [(self.runs.column(alive, PARTITION), self.runs.column(alive, FIRST)) for alive in rows]
        return [(partitions[firsts != NONE], firsts[firsts != NONE]) for partitions, firsts in parts]

    def partitions(self) -> set[int]:
        """The partitions that have runs."""
        rows = [active.rows for active in self.active]
        rows += [finished for all_join in self.all_joins for finished in all_join.finished]
        return set(np.unique(self.runs.column(np.concatenate(rows), PARTITION)).tolist())

    def leaving(self, accept: Accept, rows: Ids) -> Ids:
        """Those that have iterated often enough to leave the repetitions they are in."""
        for action in accept.actions:
            if action.crossing is Crossing.LEAVE:
                counts = self.runs.column(rows, self.layout.count(action.repetition))
                rows = rows[counts >= self.automaton.repetitions[action.repetition].at_least]
        return rows
