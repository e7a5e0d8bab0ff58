"""The lazy evaluators: chain, multi-chain and tree (K Sections 3-7).

What they share with run-based evaluation is everything after the joins: complete sets of events are
replayed into its rows, and negation, selection and output order are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from automata.chains.store import AcceptedRuns, ChainStore
from automata.lazy.buffer import LOW, PARTITION, Buffer
from automata.lazy.chain import LazyChain
from automata.lazy.horizon import Horizon
from automata.lazy.join import Joiner
from automata.lazy.negation import FirstChance
from automata.lazy.partial import PartialLayout
from automata.lazy.path import paths
from automata.lazy.plan import ChainPlan, EvaluationOrder, Relations, TreePlan
from automata.lazy.replay import Replay
from automata.lazy.snapshot import buffers_state, chain_state, restore_buffers, restore_chain
from automata.lazy.units import relations, units_of
from automata.matches.negation import GroupSearchFactory, NegationIndex
from automata.matches.reader import Reader
from automata.matches.reporting import Reporter
from automata.matches.snapshot import restore_runs, runs_state
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.slices.substreams import least
from automata.slices.symbol_tables import SymbolTables, positive
from automata.values import Ids, Match

_FOREVER = np.iinfo(np.int64).max
OrderOf = Callable[[Relations], EvaluationOrder]
"""The evaluation order of a path, given how its units are related."""


class LazyEvaluator:
    """Lazy (multi-)chain evaluation of one program; see `automata.protocol.Evaluator`.

    Raises `automata.lazy.path.NotLazy` for a program that it does not cover.
    """

    state_kind = "lazy"
    """See `automata.state.Restorable`; chains and trees differ in their plans only."""

    def __init__(
        self,
        plan: Plan,
        condition_evaluator: ConditionEvaluator,
        group_search: GroupSearchFactory,
        order_of: OrderOf = ChainPlan,
    ) -> None:
        program = self._program = plan.program
        core = self._core = ChainStore(plan, condition_evaluator)
        self._negations = NegationIndex(core, condition_evaluator, group_search(plan, condition_evaluator))
        self._reporter = Reporter(core, self._negations, Reader(core), condition_evaluator)
        self._symbol_tables = SymbolTables(plan, self._negations.substreams)
        self._horizon = Horizon(program.window, self._symbol_tables.timeline)
        self._buffers = {symbol: Buffer(symbol, program.variables) for symbol in sorted(plan.used)}
        self._negated = {symbol: Buffer(symbol, program.variables) for symbol in sorted(plan.negated)}
        self._chains: list[tuple[LazyChain, Replay]] = []
        for way in paths(plan):
            units = units_of(way)
            layout = PartialLayout(len(units), program.variables)
            chance = FirstChance(plan, way, units, layout, self._buffers, self._negated, condition_evaluator)
            joiner = Joiner(program, units, layout, self._buffers, chance, condition_evaluator)
            chain = LazyChain(units, layout, joiner, self._buffers, order_of(relations(program, units)))
            self._chains.append((chain, Replay(core, way, units, layout, self._buffers, chance.decides_all)))

    @property
    def operations(self) -> int:
        """Run operations: partial matches and rows of runs made so far."""
        return sum(chain.operations for chain, _ in self._chains) + self._core.runs.made

    @property
    def needs_whole_slots(self) -> bool:
        """See `automata.protocol.Evaluator`."""
        return self._core.plan.whole_slots

    def begin_at(self, position: int) -> None:
        """See `automata.adaptive.policy.Startable`."""
        self._symbol_tables.timeline.begin_at(position)

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        if not len(events):
            return []
        position = self._symbol_tables.timeline.position
        tables = self._symbol_tables.tables(events, solutions)
        self._negations.add(tables)
        at_boundary = self._horizon.advance(int(events.times[0]))
        if not self._program.window.in_events:
            self._forget()
        fresh = {}
        for symbol, buffer in self._buffers.items():
            fresh[symbol] = buffer.end
            if symbol in tables:
                buffer.add(positive(tables[symbol]))
        for symbol, buffer in self._negated.items():
            if symbol in tables:
                buffer.add(tables[symbol])
        ended: list[AcceptedRuns] = []
        for chain, replay in self._chains:
            complete = chain.advance(position, fresh, at_boundary)
            if len(complete):
                ended.append(replay.ended(complete))
        matches = self._report(ended, int(events.times[-1]))
        if self._program.window.in_events:
            self._forget()
        if at_boundary and self._program.partition and not self._program.window.in_events:
            self._forget_partitions()
        return matches

    def on_watermark(self, time: int) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        return self._report([], time + 1)

    def finish(self) -> Sequence[Match]:
        """See `automata.protocol.Evaluator`."""
        return self._reporter.finish()

    def live_ids(self) -> list[Ids]:
        """See `automata.protocol.Evaluator`."""
        runs = self._core.runs
        ids = [np.unique(runs.table[: runs.size, self._core.layout.registers])]
        ids += [buffer.values() for buffer in self._buffers.values()]
        ids += [np.unique(column) for table in self._negations.kept() for column in table.values.values()]
        return [*ids, self._symbol_tables.partition_ids(), *self._reporter.live_ids()]

    def oldest_position(self) -> int:
        """See `automata.protocol.Evaluator`."""
        kept = [int(table.low[0]) for table in self._negations.kept() if len(table)]
        return min([self._oldest_buffered(), self._reporter.oldest_position(), *kept])

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.protocol.Evaluator`."""
        return min(watermark, self._reporter.oldest_time())

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        self._compact(always=True)
        return {
            **runs_state(self._core, self._negations, self._symbol_tables, self._reporter),
            "buffers": buffers_state(self._buffers),
            "negated": buffers_state(self._negated),
            "chains": [chain_state(chain) for chain, _ in self._chains],
            "horizon": self._horizon.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `automata.state.Restorable`."""
        restore_runs(self._core, self._negations, self._symbol_tables, self._reporter, state)
        restore_buffers(self._buffers, state["buffers"])
        restore_buffers(self._negated, state["negated"])
        for (chain, _), own in zip(self._chains, state["chains"], strict=True):
            restore_chain(chain, own)
        self._horizon.restore(state["horizon"])

    def _report(self, ended: list[AcceptedRuns], time: int) -> Sequence[Match]:
        if not ended and self._reporter.idle:
            return []
        matches = self._reporter.report(ended, time, self._symbol_tables.timeline)
        self._compact()
        return matches

    def _compact(self, always: bool = False) -> None:
        moved = self._core.compact(self._reporter.held_rows(), always)
        if moved is not None:
            self._reporter.renumber(moved)
            self._reporter.after.forget(self.oldest_position())

    # --- forgetting -------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Drops what has run out of time."""
        for buffer in self._buffers.values():
            self._horizon.forget(buffer)
        for chain, _ in self._chains:
            chain.keep(self._horizon.alive)
        for buffer in self._negated.values():
            buffer.forget(int(buffer.number(LOW, np.array([self._oldest_buffered()]))[0]))
        window = self._program.window
        if not window.in_events:
            oldest = min(self._horizon.oldest_time(), self._reporter.oldest_time())
            self._negations.forget(oldest - window.size, _FOREVER)
        elif self._program.partition:
            self._negations.forget_ranks(self._oldest_positions)
        else:
            first = min(self._oldest_buffered(), self._reporter.oldest_position())
            self._negations.forget(_FOREVER, first - window.size)

    def _oldest_positions(self) -> dict[int, int]:
        """For each partition the first position in a buffer or a match that may still be reported."""
        buffered = [(buffer.column(PARTITION), buffer.column(LOW)) for buffer in self._buffers.values()]
        return least((*buffered, *self._reporter.firsts()))

    def _forget_partitions(self) -> None:
        """Drops what is known of partitions that no event, match or negation is in any more."""
        kept = self._reporter.partitions()
        for buffer in self._buffers.values():
            kept |= set(np.unique(buffer.column(PARTITION)).tolist())
        for table in self._negations.kept():
            kept |= set(np.unique(table.partitions).tolist())
        self._symbol_tables.forget(kept)

    def _oldest_buffered(self) -> int:
        return min(
            (int(buffer.column(LOW)[0]) for buffer in self._buffers.values() if len(buffer)),
            default=self._symbol_tables.timeline.position,
        )


class TreeEvaluator(LazyEvaluator):
    """Lazy tree evaluation: every set of partial matches goes on with the unit that is rarest now (K Section 6)."""

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator, group_search: GroupSearchFactory) -> None:
        super().__init__(plan, condition_evaluator, group_search, TreePlan)
