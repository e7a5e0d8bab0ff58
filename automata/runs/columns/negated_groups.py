"""Negated groups: whether one has a match among some solutions (specification 3.2, `!`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automata.chains.iteration import OuterIterations
from automata.chains.store import AcceptedRuns, ChainStore
from automata.matches.negation import Inside, NegationIndex
from automata.matches.negation_intervals import inner_intervals, trailing_intervals
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.runs.columns.column_runs import ColumnRuns
from automata.slices.shared_work import SharedWork
from automata.slices.step_table import StepTable
from automata.slices.substreams import Substream
from automata.values import NONE


class NegatedGroups:
    """The search for the negated groups of one plan; see `automata.matches.negation.GroupSearch`.

    substream   of the whole match, where the plan is that of a negated group itself
    """

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator, substream: Substream | None = None) -> None:
        self._plan = plan
        self._condition_evaluator = condition_evaluator
        self._substream = substream

    def __call__(
        self, negation: int, registers: NDArray[np.int64], outer: Mapping[int, OuterIterations], inside: Inside
    ) -> bool:
        """True if a negated group has a match among these solutions, starting from these registers and iterations."""
        plan = self._plan.negations[negation].group
        assert plan is not None, negation
        seen = {symbol: _in_one_partition(table, inside.partition) for symbol, table in inside.tables.items()}
        whole = self._substream or inside.substream
        tables, substream = seen, None
        if whole is not None and any((table.slots == NONE).any() for table in seen.values()):
            tables, substream = _in_one_order(seen, total=not self._plan.whole_slots), whole
        chains = ChainStore(plan, self._condition_evaluator, registers, outer, substream)
        accepted = ColumnRuns(chains).grow(tables)
        if not plan.negations:
            return bool(accepted)
        search = NegatedGroups(plan, self._condition_evaluator, whole)
        negations = NegationIndex(chains, self._condition_evaluator, search, inside.since)
        negations.add(seen)
        return any(_any_unviolated(chains, negations, some) for some in accepted)


def _any_unviolated(chains: ChainStore, negations: NegationIndex, accepted: AcceptedRuns) -> bool:
    """True if the negations inside the group, at its ends too, leave one of these matches of it."""
    trailing = trailing_intervals(chains.plan.accepts[accepted.accept].passed, accepted.rows)
    removed = negations.violated(accepted.rows, inner_intervals(chains.plan, chains.runs, accepted.rows))
    removed |= negations.violated(accepted.rows, trailing)
    return not removed.all()


def _in_one_partition(table: StepTable, partition: int) -> StepTable:
    """The table as a negated group sees it from a match of that partition."""
    inside = (table.partitions == partition) | (table.partitions == NONE)
    table = table.take(inside)
    zeros = np.zeros(len(table), dtype=np.int64)
    return replace(table, partitions=zeros, windows=zeros, shared=SharedWork())


def _in_one_order(tables: dict[int, StepTable], total: bool) -> dict[int, StepTable]:
    """Slots in the order of the tables' own events, where some stand outside the partition's substream."""
    stacked = np.concatenate([np.stack((t.low, t.times, t.streams)) for t in tables.values()], axis=1)
    lows, first = np.unique(stacked[0], return_index=True)
    times, streams = stacked[1:, first]
    slots = np.arange(len(lows)) if total else np.unique(times, return_inverse=True)[1]
    groups = np.unique(np.stack((slots, streams)), axis=1, return_inverse=True)[1].ravel()
    order = np.argsort(groups, kind="stable")
    seqs = np.empty(len(lows), dtype=np.int64)
    seqs[order] = np.arange(len(lows)) - np.searchsorted(groups[order], groups[order])
    placed = {}
    for symbol, table in tables.items():
        at = np.searchsorted(lows, table.low)
        placed[symbol] = replace(table, slots=slots[at], seq_low=seqs[at], seq_high=seqs[at], shared=SharedWork())
    return placed
