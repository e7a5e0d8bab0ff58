"""The lazy evaluators: chain, multi-chain and tree (K Sections 3-7).

Complete sets of events are replayed into rows of runs; from there on all is as in run-based evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from automata import layouts
from automata.chains.store import AcceptedRuns
from automata.lazy.buffers import Buffers
from automata.lazy.chain import LazyChain
from automata.lazy.join import Joiner
from automata.lazy.limits import TimeBounds
from automata.lazy.negation import FirstChance
from automata.lazy.partial import PartialLayout
from automata.lazy.path import paths
from automata.lazy.plan import ChainPlan, EvaluationOrder, Relations, TreePlan
from automata.lazy.replay import Replay
from automata.lazy.search import Search
from automata.lazy.units import relations, units_of
from automata.matches.match_stage import StagedEvaluator
from automata.matches.negation import GroupSearchFactory
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match

OrderOf = Callable[[Relations], EvaluationOrder]
"""The evaluation order of a path, given how its units are related."""


class LazyEvaluator(StagedEvaluator):
    """Lazy (multi-)chain evaluation of one program; the state of a chain and of a tree differ in their plans only.

    Raises `automata.lazy.path.NotLazy` for a program that it does not cover.
    """

    state_kind = layouts.CHAINS.name

    def __init__(
        self,
        plan: Plan,
        condition_evaluator: ConditionEvaluator,
        group_search: GroupSearchFactory,
        order_of: OrderOf = ChainPlan,
    ) -> None:
        program = plan.program
        super().__init__(plan, condition_evaluator, group_search)
        self._buffers = self.partial = Buffers(plan, self.timeline)
        self._paths: list[tuple[LazyChain, Replay]] = []
        for path in paths(plan):
            units = units_of(path)
            layout = PartialLayout(len(units), program.variables)
            times = TimeBounds(plan, path, units)
            search = Search(plan, path, units, layout, self._buffers, condition_evaluator, times)
            self._buffers.keep_for(units, times.reach)
            chance = FirstChance(search)
            chain = LazyChain(search, Joiner(search, chance), order_of(relations(program, units)))
            self._paths.append((chain, Replay(self.chains, search, chance.decides_all)))

    @property
    def operations(self) -> int:
        """Run operations: partial matches and rows of runs made so far."""
        return sum(chain.operations for chain, _ in self._paths) + self.chains.runs.made

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        if not len(events):
            return []
        begin, in_events = int(events.times[0]), self.plan.program.window.in_events
        position = self.timeline.position
        tables = self.symbol_tables.tables(events, solutions)
        self.negations.add(tables)
        at_boundary = self._buffers.horizon.advance(begin)
        if not in_events:
            self._forget(begin)
        fresh = self._buffers.add(tables)
        accepted: list[AcceptedRuns] = []
        for chain, replay in self._paths:
            complete = chain.advance(position, fresh, at_boundary)
            if len(complete):
                accepted.append(replay.ended(complete))
        matches = self.report(accepted, int(events.times[-1]))
        if in_events:
            self._forget(begin)
        elif at_boundary:
            self.forget_partitions()
        return matches

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which the evaluator is due."""
        self.timeline.skip_gap(gap, bool(self.plan.program.partition))
        at_boundary = self._buffers.horizon.advance(gap.time)
        self._forget(gap.time)
        if at_boundary and not self.plan.program.window.in_events:
            self.forget_partitions()

    @property
    def runs(self) -> int:
        return super().runs + sum(chain.runs for chain, _ in self._paths)

    def live_ids(self) -> list[Ids]:
        return [*super().live_ids(), *self._buffers.values()]

    def snapshot(self) -> dict[str, Any]:
        chains = [chain.snapshot() for chain, _ in self._paths]
        return layouts.CHAINS.written(**super().snapshot(), **self._buffers.snapshot(), chains=chains)

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.CHAINS.read(state)
        super().restore(state)
        self._buffers.restore(state)
        for (chain, _), own in zip(self._paths, state["chains"], strict=True):
            chain.restore(own)

    def _forget(self, time: int) -> None:
        """Drops what no event at or after `time` can join."""
        self._buffers.forget()
        for chain, _ in self._paths:
            chain.keep(self._buffers.horizon)
        self.forget_negations(time)


class TreeEvaluator(LazyEvaluator):
    """Lazy tree evaluation: every set of partial matches goes on with the unit that is rarest now (K Section 6)."""

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator, group_search: GroupSearchFactory) -> None:
        super().__init__(plan, condition_evaluator, group_search, TreePlan)
