"""NFA^scep runs: growing them, event set by event set, until nothing new comes of a slice (G Algorithms 1-6).

A slice of events is worked off set at a time: the runs at a position meet all the events of the
slice at once, what comes of it is put on the queue at its own position, and so on. Every run meets
every event of a slice exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automata.chains.deferred import DeferredRuns, RunView
from automata.chains.iteration import Series
from automata.chains.store import AcceptedRuns, ChainStore
from automata.chains.table import CLOSED, ROOT
from automata.plan.automaton import START, Automaton
from automata.plan.program import ConditionEvaluator, Program
from automata.runs.columns.adjacency_lookahead import AdjacencyLookahead
from automata.runs.columns.expiry import Expiry
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable, conjunction
from automata.slices.substreams import Substream
from automata.slices.timeline import Timeline
from automata.values import NONE, Ids, Mask


class Core(ChainStore):
    """Chains that grow set at a time; see `ChainStore`."""

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        condition_evaluator: ConditionEvaluator,
        registers: NDArray[np.int64],
        prior: Mapping[int, Series] | None = None,
        substream: Substream | None = None,
    ) -> None:
        super().__init__(program, automaton, condition_evaluator, registers, prior, substream)
        self._expiry = Expiry(program, automaton)
        self._lookahead = AdjacencyLookahead(automaton, bool(program.partition) or substream is not None)
        self._able: dict[int, Mask] = {}
        self._new: list[tuple[int, Ids | DeferredRuns]] = []
        self._ended: list[AcceptedRuns] = []
        self._deferred = [self._is_deferred(position) for position in range(len(automaton.positions))]
        self._arrive(START, np.array([ROOT], dtype=np.int64))
        self._rest()

    def grow(self, symbols: Mapping[int, StepTable]) -> list[AcceptedRuns]:
        """Takes in one slice: symbol → its solutions. Returns where matches may have ended."""
        tables = self._step_tables(symbols)
        if not tables:
            return []
        self._able = self._lookahead.able(tables)
        for position, active in enumerate(self.active):
            if len(rows := active.lookup(self.runs, self.extender, tables)):
                self._work(position, rows, tables)
        while self._new:
            new, self._new = self._new, []
            for position, came in new:
                if isinstance(came, DeferredRuns):
                    self._go_on(position, came, tables)
                else:
                    self.active[position].add(came)
                    self._work(position, came, tables)
        ended, self._ended = self._ended, []
        return ended

    def expire(self, oldest_time: int, window: int, ranks: Timeline | None) -> None:
        """Drops runs that began before `oldest_time` or in an earlier tumbling window, or whose ranks have run out."""
        for active in self.active:
            active.keep(self._expiry.fresh_or_in_window(self.runs, active.rows, oldest_time, window, ranks))
        self.expire_finished(oldest_time, window, ranks)

    def expire_finished(self, oldest_time: int, window: int, ranks: Timeline | None) -> None:
        """The same for the finished members of an ALL."""
        for all_join in self.all_joins:
            all_join.keep(
                [
                    self._expiry.fresh_or_in_window(self.runs, rows, oldest_time, window, ranks)
                    for rows in all_join.finished
                ]
            )

    def prune(self, timeline: Timeline) -> None:
        """Drops runs that no later event can extend: closed, or waiting for an adjacent event that did not come."""
        for position, active in enumerate(self.active):
            if len(active):
                active.keep(self._expiry.extendable(self.runs, position, active.rows, timeline))

    def alive_registers(self) -> NDArray[np.int64]:
        """int64[runs, variables]: what the runs that may still be extended have bound."""
        return self.runs.registers(np.concatenate([active.rows for active in self.active]))

    def _step_tables(self, symbols: Mapping[int, StepTable]) -> dict[int, StepTable]:
        built: dict[tuple[int, ...], StepTable] = {}
        tables = {}
        for number, position in enumerate(self.automaton.positions):
            if position.symbols and all(len(symbols[s]) if s in symbols else 0 for s in position.symbols):
                if position.symbols not in built:
                    built[position.symbols] = conjunction([symbols[symbol] for symbol in position.symbols])
                tables[number] = built[position.symbols]
        return tables

    def _work(self, position: int, rows: Ids, tables: Mapping[int, StepTable]) -> None:
        self._follow(self._taken(self.runs, position, rows, tables), tables)

    def _taken(self, runs: RunView, position: int, rows: Ids, tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
        """edge → the runs at a position that take it, but for those that can do nothing with it."""
        taken = self.extender.extend(runs, position, rows, tables, self._admit)
        for number, pairs in taken.items():
            able = self._able.get(self.automaton.edges[number].target)
            if able is not None:
                taken[number] = pairs.take(able[pairs.steps])
        return {number: pairs for number, pairs in taken.items() if len(pairs)}

    def _follow(self, taken: Mapping[int, Pairs], tables: Mapping[int, StepTable]) -> None:
        """Runs, each a row, have taken edges."""
        for number, pairs in taken.items():
            edge = self.automaton.edges[number]
            if self._deferred[edge.target]:
                self._new.append((edge.target, self._defer(number, pairs, tables[edge.target])))
            else:
                self._arrive(edge.target, self.growth.take(self.runs, number, pairs, tables[edge.target]))

    def _defer(self, number: int, pairs: Pairs, table: StepTable) -> DeferredRuns:
        return DeferredRuns(self.runs, number, self.automaton.edges[number], pairs, table, self.bindings)

    def _go_on(self, position: int, came: DeferredRuns, tables: Mapping[int, StepTable]) -> None:
        """Runs have come to a position where they can only go on: rows are made of those that do, now or later."""
        every = np.arange(len(came), dtype=np.int64)
        taken = self._taken(came, position, every, tables)
        lasting = self._expiry.lasting(came, position, tables)
        kept = lasting.copy()
        for pairs in taken.values():
            kept[pairs.rows] = True
        numbers = np.full(len(came), NONE, dtype=np.int64)
        numbers[kept] = self.growth.take(self.runs, came.number, came.pairs.take(kept), came.table)
        self.runs.table[numbers[kept], CLOSED] = came.closed[kept]
        self.active[position].add(numbers[lasting])
        self._follow({n: replace(pairs, rows=numbers[pairs.rows]) for n, pairs in taken.items()}, tables)

    def _is_deferred(self, position: int) -> bool:
        """Whether runs at the position neither end anything nor meet a condition as they go on."""
        ends = any(accept.position == position for accept in self.automaton.accepts)
        targets = {self.automaton.edges[number].target for number in self.automaton.outgoing[position]}
        return not ends and not self.automaton.unordered and not any(map(self.checks.needed, targets))

    def _admit(self, number: int, table: StepTable, pairs: Pairs) -> Mask:
        edge = self.automaton.edges[number]
        if not self.checks.needed(edge.target):
            return np.ones(len(pairs), dtype=np.bool_)

        def event_of(symbol: int) -> Ids:
            part = next(part for part in table.parts if part.symbol == symbol)
            return part.positions[pairs.steps]

        registers = self.bindings.registers(self.runs, number, table, pairs)
        return self.checks.arriving(self.runs, number, edge, pairs.rows, registers, event_of)

    def _arrive(self, position: int, rows: Ids) -> None:
        """Runs have come to a position: they may end a match or a member, open an ALL, and go on."""
        self._end(position, rows)
        onward = False
        for number in self.automaton.outgoing[position]:
            if self.automaton.positions[self.automaton.edges[number].target].any_order >= 0:
                able = self.extender.able(self.runs, number, rows)
                if len(able):
                    for start, started in self.growth.open(self.runs, number, able).items():
                        self._arrive(start, started)
            else:
                onward = True
        if onward:
            self._new.append((position, rows))
        self._finish_members(position, rows)

    def _end(self, position: int, rows: Ids) -> None:
        for number, accept in enumerate(self.automaton.accepts):
            if accept.position == position:
                ended = self.leaving(accept, rows)
                kept = self.checks.standing(self.runs, ended, self.analysis.final[position], patient=False)
                if kept.any():
                    self._ended.append(AcceptedRuns(ended[kept], number))

    def _finish_members(self, position: int, rows: Ids) -> None:
        for which, unordered in enumerate(self.automaton.unordered):
            for number, member in enumerate(unordered.members):
                for accept in member.accepts:
                    if accept.position == position:
                        joined = self.join_members(which, number, self.leaving(accept, rows))
                        if len(joined):
                            self._arrive(unordered.position, joined)

    def _rest(self) -> None:
        for position, rows in self._new:
            assert not isinstance(rows, DeferredRuns), position
            self.active[position].add(rows)
        self._new.clear()
