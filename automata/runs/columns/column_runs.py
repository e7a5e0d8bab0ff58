"""NFA^scep runs, grown over a slice until nothing new comes of it (G Algorithms 1-6).

The runs at a position meet all events of the slice at once; what comes of it is queued at its own position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from arrays.columns import distinct
from automata.chains import columns as col
from automata.chains.deferred import DeferredRuns
from automata.chains.dominance import gapless
from automata.chains.store import AcceptedRuns, ChainStore
from automata.chains.table import ROOT, RunView
from automata.plan.automaton import START
from automata.plan.pruning import is_gapless
from automata.runs.columns.adjacency_lookahead import AdjacencyLookahead
from automata.runs.columns.expiry import Bounds, Expiry
from automata.runs.columns.held_steps import HeldSteps
from automata.runs.columns.losses import Losses
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable, conjunction
from automata.slices.timeline import Timeline
from automata.values import NONE, Ids, Mask


class ColumnRuns:
    """Grows the chains of a store, from its start.

    held    products, whose runs are put together only for the events that end them; None: there are none
    took    by edge, how often a run has taken it in a slice, whether it is kept or not; of products see `edges_taken`
    alone   the same for events row at a time
    losses  what edges lose; None: it is not counted
    looks_ahead, blind      whether runs may be left out that the next event could extend, and does not; positions of
            which some were: it is not known how often they take an edge
    """

    def __init__(self, chains: ChainStore, held: HeldSteps | None = None) -> None:
        self._chains = chains
        self._held = held
        self.losses: Losses | None = None
        self.looks_ahead = chains.dominance is None
        self.blind: set[int] = set()
        self._unfolds = False
        self._plan = chains.plan
        self._expiry = Expiry(chains.plan)
        self.took = [0] * len(chains.plan.edges)
        self.alone = [0] * len(chains.plan.edges)
        self._lookahead = AdjacencyLookahead(chains.plan, chains.extender.substream is None)
        self._gapless = is_gapless(chains.plan)
        self._able: dict[int, Mask] = {}
        self._touched: list[list[Ids]] = [[] for _ in self._plan.positions]
        self._ranked = 0
        self._taking: list[Ids] = []
        self._new: list[tuple[int, Ids | DeferredRuns]] = []
        self._accepted: list[AcceptedRuns] = []
        prunes = chains.dominance is not None
        self._deferred = [not prunes and self._is_deferred(position) for position in range(len(self._plan.positions))]
        self._arrive(START, np.array([ROOT], dtype=np.int64))
        self._grow({})

    def edges_taken(self) -> Sequence[int | None]:
        """By edge, how often a run has taken it; None: not every run of its source was made, or counted."""
        held = {} if self._held is None else self._held.came
        taken: list[int | None] = []
        for edge, took, alone in zip(self._plan.edges, self.took, self.alone, strict=True):
            if edge.source in self.blind:
                taken.append(None)
            elif edge.target not in held:
                taken.append(took + alone)
            else:
                taken.append(alone + held[edge.target] if edge.begins or not held[edge.target] else None)
        return taken

    def count_losses(self, timeline: Timeline) -> None:
        """Makes a row of every run, and counts what edges lose; nothing has been consumed before."""
        self.losses = Losses(self._chains, timeline)
        self._deferred = [False] * len(self._plan.positions)

    def grow(self, symbols: Mapping[int, StepTable]) -> list[AcceptedRuns]:
        """Consumes one slice: symbol → its solutions. Returns where matches may have ended."""
        self._touched = [[] for _ in self._plan.positions]
        if self._chains.dominance is None:
            self._consume(symbols)
        else:
            for part in _by_event(symbols, self._plan.whole_slots):
                self._consume(part)
        if self._plan.possessive:
            self._drop_extended()
        accepted, self._accepted = self._accepted, []
        return accepted

    def _drop_extended(self) -> None:
        """Drops runs that have left a possessive repetition too early, or can only do so."""
        extensions = self._chains.extensions
        for position, active in enumerate(self._chains.active):
            if len(active):
                rows = active.rows
                active.keep(~extensions.left_early(rows) & ~extensions.ended(position, rows))

    def _consume(self, symbols: Mapping[int, StepTable]) -> None:
        tables = self._step_tables(symbols)
        if not tables:
            return
        if self.losses is not None:
            self.losses.see(tables)
        self._able = self._lookahead.able(tables) if self.looks_ahead else {}
        self._meet(tables if self._held is None else self._held.found(self._held.add(tables)))

    def unfold(self) -> None:
        """Makes rows of all products."""
        tables = {} if self._held is None else self._held.taken_out()
        self._able, self._unfolds = {}, True
        self._meet(tables)
        self._unfolds = False

    def _meet(self, tables: Mapping[int, StepTable]) -> None:
        """The runs that stand meet these events, and what comes of them does."""
        if not tables:
            return
        for position, active in enumerate(self._chains.active):
            if len(rows := active.lookup(tables)):
                self._touched[position].append(rows)
                self._follow(self._taken(self._chains.runs, position, rows, tables), tables)
        self._grow(tables)

    def expire(self, over: Bounds, always: bool = False) -> None:
        """Drops runs that are over; where windows count events not each time, or `always`."""
        if self._held is not None:
            self._held.expire(over, always)
        runs, partitioned = self._chains.runs, bool(self._plan.program.partition)
        rank = None if over.ranks is None or partitioned else over.ranks.rank(0)
        for active in self._chains.active:
            active.expire(over.now, rank)
        if over.ranks is not None and partitioned:
            self._expire_in_partitions(over.ranks.position, over, always)
        for all_join in self._chains.all_joins:
            all_join.keep(
                [
                    self._expiry.fresh_or_in_window(runs, rows, over) & (all_join.deadlines(rows) >= over.now)
                    for rows in all_join.finished
                ]
            )

    def _expire_in_partitions(self, position: int, over: Bounds, always: bool) -> None:
        """The same where each partition counts the events of its windows: once in as many events as there are runs."""
        if position - self._ranked < sum(map(len, self._chains.active)) and not always:
            return
        self._ranked = position
        for active in self._chains.active:
            active.keep(self._expiry.fresh_or_in_window(self._chains.runs, active.rows, over))

    def prune(self, timeline: Timeline, partitions: Ids) -> None:
        """Drops runs that no later event can extend: closed, or waiting for an adjacent event that did not come.

        Of those that the slice has met or made, or whose partition has had an event in it: no other has changed.
        """
        for position, (active, touched) in enumerate(zip(self._chains.active, self._touched, strict=True)):
            if self._plan.positions[position].only_strict:
                touched = [active.waiting_in(partitions)]
            if touched:
                rows = distinct(touched)
                active.remove(rows[~self._expiry.extendable(self._chains.runs, position, rows, timeline)])

    def _step_tables(self, symbols: Mapping[int, StepTable]) -> dict[int, StepTable]:
        built: dict[tuple[int, ...], StepTable] = {}
        tables = {}
        for number, position in enumerate(self._plan.positions):
            if position.symbols and all(len(symbols[s]) if s in symbols else 0 for s in position.symbols):
                if position.symbols not in built:
                    built[position.symbols] = conjunction([symbols[symbol] for symbol in position.symbols])
                tables[number] = built[position.symbols]
        return tables

    def _grow(self, tables: Mapping[int, StepTable]) -> None:
        self._settle()
        while self._new:
            new, self._new = self._new, []
            for position, arrived in new:
                if isinstance(arrived, DeferredRuns):
                    self._go_on(position, arrived, tables)
                else:
                    self._stand(position, arrived)
                    self._follow(self._taken(self._chains.runs, position, arrived, tables), tables)
            self._settle()

    def _settle(self) -> None:
        """Lets the runs arrive that no other one makes superfluous."""
        if not self._taking:
            return
        rows = self._chains.undominated(np.concatenate(self._taking))
        self._taking.clear()
        states = self._chains.runs.column(rows, col.STATE)
        for position in np.unique(states).tolist():
            self._arrive(position, rows[states == position])

    def _taken(self, runs: RunView, position: int, rows: Ids, tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
        """edge → the runs at a position that take it, but for those that can do nothing with it."""
        taken = self._chains.extender.extend(runs, position, rows, tables)
        for number, pairs in taken.items():
            self.took[number] += len(pairs)
            if self.losses is not None:
                self.losses.extend(number, pairs.rows)
            target = self._plan.edges[number].target
            if target in self._able:
                taken[number] = pairs.take(self._able[target][pairs.steps])
                if len(taken[number]) < len(pairs):
                    self.blind.add(target)
            if self._gapless:
                taken[number] = gapless(runs, taken[number], tables[self._plan.edges[number].target])
        return {number: pairs for number, pairs in taken.items() if len(pairs)}

    def _follow(self, taken: Mapping[int, Pairs], tables: Mapping[int, StepTable]) -> None:
        """Runs, each a row, have taken edges."""
        for number, pairs in taken.items():
            edge = self._plan.edges[number]
            table = tables[edge.target]
            if self._deferred[edge.target]:
                self._new.append((edge.target, DeferredRuns(self._chains.runs, number, edge, pairs, table)))
            elif self._chains.dominance is None:
                self._arrive(edge.target, self._chains.growth.take(number, pairs, table))
            else:
                self._taking.append(self._chains.growth.take(number, pairs, table))

    def _go_on(self, position: int, arrived: DeferredRuns, tables: Mapping[int, StepTable]) -> None:
        """Runs have come to a position where they can only go on: rows are made of those that do, now or later."""
        taken = self._taken(arrived, position, np.arange(len(arrived), dtype=np.int64), tables)
        lasting = self._lasting(position, arrived, tables)
        kept = lasting.copy()
        for pairs in taken.values():
            kept[pairs.rows] = True
        numbers = np.full(len(arrived), NONE, dtype=np.int64)
        numbers[kept] = self._chains.growth.take(arrived.number, arrived.pairs.take(kept), arrived.table)
        for column, closed in arrived.closed.items():
            self._chains.runs.table[numbers[kept], column] = closed[kept]
        self._stand(position, numbers[lasting])
        self._follow({n: replace(pairs, rows=numbers[pairs.rows]) for n, pairs in taken.items()}, tables)

    def _lasting(self, position: int, arrived: DeferredRuns, tables: Mapping[int, StepTable]) -> Mask:
        """At least the runs that later events may extend, and that are not put together again for those."""
        if self._held is not None and position in self._held.positions and not self._unfolds:
            return np.zeros(len(arrived), dtype=np.bool_)
        return self._expiry.lasting(arrived, position, tables)

    def _stand(self, position: int, rows: Ids) -> None:
        """Later events may extend these runs."""
        if self.losses is not None:
            self.losses.arrive(position, rows)
        self._chains.active[position].add(rows)
        self._touched[position].append(rows)

    def _is_deferred(self, position: int) -> bool:
        """True if runs at the position neither end anything nor meet a condition as they go on."""
        targets = [self._plan.positions[edge.target] for edge in self._plan.edges if edge.source == position]
        ends = self._plan.positions[position].accepts or self._plan.positions[position].completes
        return not ends and not self._plan.unordered and not any(target.arriving for target in targets)

    def _arrive(self, position: int, rows: Ids) -> None:
        """Runs have come to a position: they may end a match or a member, open an ALL, and go on."""
        here, chains = self._plan.positions[position], self._chains
        for repetition in here.completes:
            ends = next(end for end in self._plan.repetitions[repetition].ends if end.position == position)
            chains.extensions.note(repetition, chains.extender.leaving(chains.runs, ends.leaves, rows))
        for accept in here.accepts:
            ended = chains.extender.leaving(chains.runs, self._plan.accepts[accept].leaves, rows)
            kept = chains.conditions.arrived(ended, here.final, patient=False)
            if kept.any():
                self._accepted.append(AcceptedRuns(ended[kept], accept))
        for number in here.opens:
            able = chains.extender.able(chains.runs, number, rows)
            if len(able):
                for start, started in chains.growth.open(number, able).items():
                    self._arrive(start, started)
        if here.onward:
            self._new.append((position, rows))
        for which, member, last in here.finishes:
            finished = chains.extender.leaving(chains.runs, last.leaves, rows)
            joined = chains.join_members(which, member, finished)
            if len(joined):
                self._arrive(self._plan.unordered[which].position, joined)


def _by_event(symbols: Mapping[int, StepTable], whole_slots: bool) -> Iterator[Mapping[int, StepTable]]:
    """The tables, event by event, or time by time where a slice must not end inside one."""
    places = {symbol: table.times if whole_slots else table.low for symbol, table in symbols.items()}
    for place in np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *places.values()])).tolist():
        bounds = {symbol: np.searchsorted(column, (place, place + 1)) for symbol, column in places.items()}
        yield {
            symbol: symbols[symbol].take(np.arange(*bound)) for symbol, bound in bounds.items() if bound[0] < bound[1]
        }
