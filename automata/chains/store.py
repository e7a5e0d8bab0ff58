"""The chains of one plan: their table, what is read off them, the runs that are alive, and the open ALL joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains import columns as col
from automata.chains.active_runs import ActiveRuns
from automata.chains.all_join import AllJoin
from automata.chains.conditions import RunConditions
from automata.chains.dominance import Dominance
from automata.chains.extend import Extender
from automata.chains.extensions import Extensions
from automata.chains.growth import Growth
from automata.chains.iteration import Iterations, OuterIterations
from automata.chains.lookback import Lookback
from automata.chains.table import Layout, Runs
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.plan.pruning import pruning_of
from automata.slices.substreams import Substream
from automata.values import NONE, Ids

COMPACT_MIN = 1 << 14
"""Rows below which a compaction is not worth it."""


@dataclass(frozen=True, slots=True)
class AcceptedRuns:
    """Runs that stand where a match may end.

    accept      the number of the accept
    free        no inner negation removes any of them: that has been looked at
    """

    rows: Ids
    accept: int
    free: bool = False


class ChainStore:
    """The chains of one plan.

    registers   what the run at START has bound; None: nothing
    outer       iterations counted before it
    active      position → the runs there that an event may still extend
    undecided   edge → runs of which it is still to be told why it lost them
    dominance   what drops runs that lead to no match that counts; None: nothing does
    substream   the events that `,` considers, where steps may take events outside it
    """

    def __init__(
        self,
        plan: Plan,
        condition_evaluator: ConditionEvaluator,
        registers: NDArray[np.int64] | None = None,
        outer: Mapping[int, OuterIterations] | None = None,
        substream: Substream | None = None,
    ) -> None:
        self.plan = plan
        self.layout = Layout.of(plan)
        runs = np.zeros(plan.program.variables, dtype=np.int64) if registers is None else registers
        self.runs = Runs(self.layout, runs, plan.program)
        self.lookback = Lookback(plan, self.runs)
        self.iterations = Iterations(plan, self.runs, self.lookback, condition_evaluator, outer or {})
        self.conditions = RunConditions(plan, self.runs, self.iterations, self.lookback, condition_evaluator)
        self.extender = Extender(plan, self.conditions, substream)
        self.growth = Growth(plan, self.runs)
        self.extensions = Extensions(plan, self.runs)
        self.all_joins = [AllJoin(plan, number, self.runs) for number in range(len(plan.unordered))]
        self.active = [ActiveRuns(plan, p, self.runs, self.extender) for p in range(len(plan.positions))]
        pruning = pruning_of(plan)
        self.dominance = None if pruning is None else Dominance(plan, self.layout, pruning)
        self.undecided: dict[int, Ids] = {}
        self._compaction_due = 0
        self._schedule_compaction()

    def alive(self) -> list[Ids]:
        """The rows of the runs that are still needed: an event may extend them, or they are finished members of an ALL.

        Or it is still to be told why an edge lost them.
        """
        finished = [rows for all_join in self.all_joins for rows in all_join.finished]
        return [*(active.rows for active in self.active), *finished, *self.undecided.values()]

    def compact(self, held: Ids, always: bool = False) -> Ids | None:
        """Frees the rows of dead runs once they are many, or `always`.

        Returns `held` renumbered, or None if nothing moved.
        """
        if not self.is_large(self.runs.size) and not always:
            return None
        for active in self.active:
            active.forget_gone()
        numbers = self.runs.compact([*self.alive(), held])
        if self.dominance is not None:
            self.dominance.forget()
        for active in self.active:
            active.renumber(numbers)
        for all_join in self.all_joins:
            all_join.finished = [numbers[rows] for rows in all_join.finished]
        self.undecided = {edge: numbers[rows] for edge, rows in self.undecided.items()}
        self._schedule_compaction()
        return numbers[held]

    def is_large(self, rows: int) -> bool:
        """True if there are so many rows that a compaction is due."""
        return rows >= self._compaction_due

    def _schedule_compaction(self) -> None:
        """The next compaction: when the rows have doubled, or are halfway to the bound on partial matches."""
        size = self.runs.size
        self._compaction_due = min(2 * max(COMPACT_MIN, size), (size + self.plan.program.runs_max) // 2 + 1)

    def undominated(self, rows: Ids, beside: Ids | None = None) -> Ids:
        """Those rows that can lead to a match that counts; `beside` is of their futures, too."""
        if self.dominance is None or len(rows) < 2:
            return rows
        numbers, table = rows.tolist(), self.runs.table
        known: dict[int, Sequence[int]] = dict(zip(numbers, table[rows].tolist(), strict=True))
        others = [0] * len(rows) if beside is None else beside.tolist()

        def row_of(number: int) -> Sequence[int]:
            if number not in known:
                known[number] = table[number].tolist()
            return known[number]

        return np.array(self.dominance.kept(row_of, zip(numbers, others, strict=True)), dtype=np.int64)

    def join_members(self, which: int, member: int, rows: Ids) -> Ids:
        """The rows of an ALL that newly finished rows of one member complete, as far as its conditions hold."""
        joined = self.all_joins[which].add(member, rows)
        points = self.plan.positions[self.plan.unordered[which].position].arriving
        return joined[self.conditions.arrived(joined, points, patient=True)]

    def oldest_position(self, default: int) -> int:
        """The first position in a run that is alive, or one somewhat before it."""
        return self._oldest(col.FIRST, default)

    def oldest_time(self, default: int) -> int:
        """The first time in a run that is alive, or one somewhat before it."""
        return self._oldest(col.FIRST_TIME, default)

    def _oldest(self, column: int, default: int) -> int:
        finished = [rows for all_join in self.all_joins for rows in all_join.finished if len(rows)]
        found = [int(self.runs.column(rows, column).min()) for rows in finished]
        found += [least for active in self.active if (least := active.least(column)) is not None]
        return min(found, default=default)

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions and first positions of the runs that are alive."""
        parts = [(self.runs.column(alive, col.PARTITION), self.runs.column(alive, col.FIRST)) for alive in self.alive()]
        return [(partitions[firsts != NONE], firsts[firsts != NONE]) for partitions, firsts in parts]

    def partitions(self) -> set[int]:
        """The partitions that have runs."""
        return set(np.unique(self.runs.column(np.concatenate(self.alive()), col.PARTITION)).tolist())
