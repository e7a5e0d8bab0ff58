"""NFA^scep runs: growing them, event set by event set, until nothing new comes of a stretch (G Algorithms 1-6).

A stretch of events is worked off set at a time: the runs at a position meet all the events of the
stretch at once, what comes of it is put on the queue at its own position, and so on. Every run meets
every event of a stretch exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from automata.analysis import analyse
from automata.nfa import START, Accept, Automaton, Crossing
from automata.program import UNBOUND, Host, Ids, Mask, Program
from automata.runs.active import ActiveRuns
from automata.runs.bindings import Bindings
from automata.runs.checks import Checks
from automata.runs.expiry import Expiry
from automata.runs.extend import Extender
from automata.runs.gather import Gather
from automata.runs.growth import Growth
from automata.runs.iteration import Series, Tracks
from automata.runs.lookback import Lookback
from automata.runs.pairs import Pairs
from automata.runs.prospects import Prospects
from automata.runs.steps import StepTable, conjunction
from automata.runs.substreams import Substream
from automata.runs.table import CLOSED, FIRST, NONE, PARTITION, ROOT, Layout, Runs
from automata.runs.unwritten import Standing, Unwritten
from automata.timeline import Timeline

_COMPACT_MIN = 1 << 14
"""Rows below which a compaction is not worth it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Runs that stand where a match may end.

    accept      the number of the automaton's accept
    free        no inner negation removes any of them: that has been looked at
    """

    rows: Ids
    accept: int
    free: bool = False


class Core:
    """The runs of one automaton, from one start: these registers, and iterations counted before it.

    substream   the events that `,` looks at, where some that steps may take are not among them
    """

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        host: Host,
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
        self.checks = Checks(program, automaton, self.analysis, self.layout, self.tracks, host)
        self.growth = Growth(automaton, self.analysis, self.layout, self.tracks, self.bindings)
        self.gathers = [
            Gather(automaton, unordered, self.layout, self.tracks, program.window) for unordered in automaton.unordered
        ]
        self.active = [ActiveRuns(automaton, position) for position in range(len(automaton.positions))]
        self._expiry = Expiry(program, automaton)
        self._prospects = Prospects(automaton, bool(program.partition) or substream is not None)
        self._able: dict[int, Mask] = {}
        self._new: list[tuple[int, Ids | Unwritten]] = []
        self._ended: list[Ended] = []
        self._deferred = [self._is_deferred(position) for position in range(len(automaton.positions))]
        self._compacted = _COMPACT_MIN
        self._arrive(START, np.array([ROOT], dtype=np.int64))
        self._rest()

    def grow(self, symbols: Mapping[int, StepTable]) -> list[Ended]:
        """Takes in one stretch: symbol → its solutions. Returns where matches may have ended."""
        tables = self._step_tables(symbols)
        if not tables:
            return []
        self._able = self._prospects.able(tables)
        for position, active in enumerate(self.active):
            if len(rows := active.lookup(self.runs, self.extender, tables)):
                self._work(position, rows, tables)
        while self._new:
            new, self._new = self._new, []
            for position, came in new:
                if isinstance(came, Unwritten):
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
        for gather in self.gathers:
            gather.keep(
                [
                    self._expiry.fresh_or_in_window(self.runs, rows, oldest_time, window, ranks)
                    for rows in gather.finished
                ]
            )

    def prune(self, timeline: Timeline) -> None:
        """Drops runs that no later event can extend: closed, or waiting for an adjacent event that did not come."""
        for position, active in enumerate(self.active):
            if len(active):
                active.keep(self._expiry.extendable(self.runs, position, active.rows, timeline))

    def compact(self, held: list[Ids], always: bool = False) -> list[Ids] | None:
        """Frees the rows of dead runs once they are many, or `always`.

        Returns `held` renumbered, or None if nothing moved.
        """
        if not self.is_large(self.runs.size) and not always:
            return None
        finished = [rows for gather in self.gathers for rows in gather.finished]
        numbers = self.runs.compact([*(active.rows for active in self.active), *finished, *held])
        for active in self.active:
            active.renumber(numbers)
        for gather in self.gathers:
            gather.finished = [numbers[rows] for rows in gather.finished]
        self._compacted = max(_COMPACT_MIN, self.runs.size)
        return [numbers[rows] for rows in held]

    def join_members(self, which: int, member: int, rows: Ids) -> Ids:
        """The rows of an ALL that newly finished rows of one member complete, as far as its conditions hold."""
        joined = self.gathers[which].add(self.runs, member, rows)
        if not len(joined):
            return joined
        checks = self.analysis.checks[self.automaton.unordered[which].position]
        return joined[self.checks.standing(self.runs, joined, checks, patient=True)]

    def is_large(self, rows: int) -> bool:
        """Whether there are so many rows that a compaction is due."""
        return rows >= 2 * self._compacted

    def alive_registers(self) -> NDArray[np.int64]:
        """int64[runs, variables]: what the runs that may still be extended have bound."""
        return self.runs.registers(np.concatenate([active.rows for active in self.active]))

    def oldest(self, column: int, default: int) -> int:
        """The least FIRST or FIRST_TIME of the runs that are alive."""
        rows = [active.rows for active in self.active]
        rows += [finished for gather in self.gathers for finished in gather.finished]
        alive = np.concatenate(rows)
        alive = alive[self.runs.column(alive, FIRST) != NONE]
        return int(self.runs.column(alive, column).min()) if len(alive) else default

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions and first positions of the runs that are alive."""
        rows = [active.rows for active in self.active]
        rows += [finished for gather in self.gathers for finished in gather.finished]
        parts = [(self.runs.column(alive, PARTITION), self.runs.column(alive, FIRST)) for alive in rows]
        return [(partitions[firsts != NONE], firsts[firsts != NONE]) for partitions, firsts in parts]

    def partitions(self) -> set[int]:
        """The partitions that have runs."""
        rows = [active.rows for active in self.active]
        rows += [finished for gather in self.gathers for finished in gather.finished]
        return set(np.unique(self.runs.column(np.concatenate(rows), PARTITION)).tolist())

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

    def _taken(self, runs: Standing, position: int, rows: Ids, tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
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
                self._new.append((edge.target, self._unwritten(number, pairs, tables[edge.target])))
            else:
                self._arrive(edge.target, self.growth.take(self.runs, number, pairs, tables[edge.target]))

    def _unwritten(self, number: int, pairs: Pairs, table: StepTable) -> Unwritten:
        return Unwritten(self.runs, number, self.automaton.edges[number], pairs, table, self.bindings)

    def _go_on(self, position: int, came: Unwritten, tables: Mapping[int, StepTable]) -> None:
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
                ended = self._leaving(accept, rows)
                kept = self.checks.standing(self.runs, ended, self.analysis.final[position], patient=False)
                if kept.any():
                    self._ended.append(Ended(ended[kept], number))

    def _leaving(self, accept: Accept, rows: Ids) -> Ids:
        """Those that have iterated often enough to leave the repetitions they are in."""
        for action in accept.actions:
            if action.crossing is Crossing.LEAVE:
                counts = self.runs.column(rows, self.layout.count(action.repetition))
                rows = rows[counts >= self.automaton.repetitions[action.repetition].at_least]
        return rows

    def _finish_members(self, position: int, rows: Ids) -> None:
        for which, unordered in enumerate(self.automaton.unordered):
            for number, member in enumerate(unordered.members):
                for accept in member.accepts:
                    if accept.position == position:
                        joined = self.join_members(which, number, self._leaving(accept, rows))
                        if len(joined):
                            self._arrive(unordered.position, joined)

    def _rest(self) -> None:
        for position, rows in self._new:
            assert not isinstance(rows, Unwritten), position
            self.active[position].add(rows)
        self._new.clear()
