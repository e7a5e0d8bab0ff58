"""Negation: removing complete matches that something forbidden lies in (LANGUAGE 3.2; G Appendix B, K 4.4).

The solutions of negated steps are kept for as long as a match may ask for them. A negation of one
step is a join with the stretch between its neighbours; a negated group is looked for there with an
evaluator of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from automata.expression import Take
from automata.iteration import Tracks
from automata.lookback import Lookback
from automata.nfa import Automaton, Passed
from automata.program import EVENT, UNBOUND, Host, Ids, Mask, Program
from automata.runs import (
    EDGE,
    FIRST_RANK,
    FIRST_TIME,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    LOW,
    LOW_STREAM,
    LOW_TIME,
    NONE,
    PARENT,
    PARTITION,
    RANK,
    SOURCE,
    STATE,
    WINDOW,
    Layout,
    Runs,
)  # fmt: skip
from automata.steps import StepTable
from automata.timeline import window_end

_EVER = np.iinfo(np.int64).max
GroupSearch = Callable[[int, NDArray[np.int64], dict[int, StepTable], int], bool]
"""(absence, registers, tables of the stretch, partition) → whether the negated group has a match there."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One negation that one match has passed.

    after, before   the neighbouring rows; NONE at an end of the match
    seen_from       the row in whose iteration the negation stands
    """

    absence: int
    after: int
    before: int
    seen_from: int


class Absences:
    """The negations of one program."""

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        layout: Layout,
        tracks: Tracks,
        lookback: Lookback,
        host: Host,
        search: GroupSearch,
    ) -> None:
        self._program = program
        self._automaton = automaton
        self._layout = layout
        self._tracks = tracks
        self._lookback = lookback
        self._host = host
        self._search = search
        self.symbols = frozenset().union(*(symbols_of(absence.expression) for absence in automaton.absences))
        self.buffers: dict[int, StepTable] = {}
        self.ranks: dict[int, list[int]] = {}

    def buffer(self, tables: dict[int, StepTable]) -> None:
        """Remembers the next stretch's solutions of the negated steps."""
        for symbol in self.symbols:
            table = tables.get(symbol)
            if table is not None and len(table):
                kept = self.buffers.get(symbol)
                self.buffers[symbol] = table if kept is None else StepTable.concatenate([kept, table])

    def forget(self, before_time: int, before_position: int) -> None:
        """Drops what lies before both."""
        for symbol, table in self.buffers.items():
            old = (table.times < before_time) & (table.low < before_position)
            if 2 * int(old.sum()) > len(table):
                self.buffers[symbol] = table.take(~old)

    def inner(self, runs: Runs, row: int) -> list[Obligation]:
        """What a match that ends at this row has passed on its way."""
        found: list[Obligation] = []
        chain = self._lookback.chain(runs, row)
        closing = self._closing_rows(runs, chain)
        for ancestor in chain:
            edge = int(runs.table[ancestor, EDGE])
            if edge == NONE:
                continue
            for passed in self._automaton.edges[edge].passed:
                source = int(runs.table[ancestor, SOURCE])
                target = closing.get(ancestor, ancestor)
                after = source if runs.table[source, HIGH] != NONE else NONE
                found.append(Obligation(passed.absence, after, target, source if passed.at_source else target))
        return found

    def _closing_rows(self, runs: Runs, chain: list[int]) -> dict[int, int]:
        """For each row that opened an ALL, the ALL's own row."""
        return {
            int(runs.table[row, PARENT]): row
            for row in chain
            if runs.table[row, STATE] != NONE and self._automaton.positions[int(runs.table[row, STATE])].any_order >= 0
        }

    @staticmethod
    def trailing(passed: tuple[Passed, ...], row: int) -> list[Obligation]:
        """What a match that ends at this row still has to see through to the end of its window."""
        return [Obligation(p.absence, row, NONE, row) for p in passed]

    def violated(self, runs: Runs, row: int, obligation: Obligation) -> bool:
        """Whether what must not happen has happened in the match that ends at this row."""
        absence = self._automaton.absences[obligation.absence]
        registers = self._registers(runs, row, obligation, absence.repetitions)
        tables = {
            symbol: table.take(rows)
            for symbol in sorted(symbols_of(absence.expression))
            if (table := self.buffers.get(symbol)) is not None
            and len(rows := self._between(runs, row, obligation, table))
        }
        if not tables:
            return False
        if isinstance(absence.expression, Take) and len(absence.expression.symbols) == 1:
            return self._happened(runs, row, absence.expression.symbols[0], registers, tables)
        return self._search(obligation.absence, registers, tables, int(runs.table[row, PARTITION]))

    def _registers(
        self, runs: Runs, row: int, obligation: Obligation, repetitions: tuple[int, ...]
    ) -> NDArray[np.int64]:
        last: NDArray[np.int64] = runs.table[row, self._layout.registers]
        if not repetitions:
            return last
        chain = self._lookback.chain(runs, row)
        seen, _ = self._lookback.seen(runs, chain, chain.index(obligation.seen_from), repetitions, last, NONE)
        return seen

    def _between(self, runs: Runs, row: int, obligation: Obligation, table: StepTable) -> Ids:
        """Rows of the buffer strictly between the two ends, in the match's window and partition."""
        begin, end = 0, len(table)
        if obligation.after != NONE:
            begin = int(np.searchsorted(table.low, runs.table[obligation.after, HIGH], "right"))
        if obligation.before != NONE:
            end = int(np.searchsorted(table.low, runs.table[obligation.before, LOW], "left"))
        rows = np.arange(begin, max(begin, end), dtype=np.int64)
        keep = np.ones(len(rows), dtype=np.bool_)
        if obligation.after != NONE:
            keep &= _after(runs.table[obligation.after], table, rows)
        if obligation.before != NONE:
            keep &= _before(runs.table[obligation.before], table, rows)
        if NONE in (obligation.after, obligation.before):
            keep &= self._in_window(runs.table[row], table, rows)
        return rows[keep]

    def _in_window(self, match: NDArray[np.int64], table: StepTable, rows: Ids) -> Mask:
        window = self._program.window
        if window.in_events:
            ranks = self._ranks(int(match[PARTITION]), table, rows)
            if window.sliding:
                result: Mask = (ranks > match[RANK] - window.size) & (ranks < match[FIRST_RANK] + window.size)
                return result
            end = window_end(window, int(match[WINDOW]))
            return (ranks >= end - window.size) & (ranks < end)
        times = table.times[rows]
        if window.sliding:
            result = (times >= match[HIGH_TIME] - window.size) & (times <= match[FIRST_TIME] + window.size)
            return result
        end = window_end(window, int(match[WINDOW]))
        return (times >= end - window.size) & (times < end)

    def _ranks(self, partition: int, table: StepTable, rows: Ids) -> NDArray[np.float64]:
        """Positions in the match's substream; an event outside it stands right before the next one in it."""
        if not self._program.partition:
            return table.rank_low[rows].astype(np.float64)
        known = self.ranks.get(partition, [])
        places = [bisect_left(known, position) for position in table.low[rows].tolist()]
        outside = [
            place >= len(known) or known[place] != position
            for place, position in zip(places, table.low[rows].tolist(), strict=True)
        ]
        return np.array(places, dtype=np.float64) - 0.5 * np.array(outside, dtype=np.float64)

    def _happened(
        self, runs: Runs, row: int, symbol: int, registers: NDArray[np.int64], tables: dict[int, StepTable]
    ) -> bool:
        table = tables.get(symbol)
        if table is None:
            return False
        values = table.values
        compatible = ((values == registers) | (values == UNBOUND) | (registers == UNBOUND)).all(axis=1)
        table = table.take(compatible)
        keep = np.ones(len(table), dtype=np.bool_)
        for number, condition in enumerate(self._program.conditions):
            if condition.symbol != symbol or not len(table):
                continue
            view = self._tracks.standing(runs, self._layout, np.full(len(table), row, dtype=np.int64))
            view = replace(view, registers=np.where(table.values != UNBOUND, table.values, registers))
            columns = self._tracks.columns(condition.references, view, runs, self._layout, self._host)
            if condition.needs_event:
                columns[EVENT] = table.low
            keep &= self._host.holds(number, columns, len(table))
        return bool(keep.any())

    def deadline(self, match: NDArray[np.int64]) -> int:
        """The last time (or rank) at which something forbidden may still happen after the match."""
        window = self._program.window
        if window.sliding:
            first = match[FIRST_RANK] if window.in_events else match[FIRST_TIME]
            return int(first) + window.size - (1 if window.in_events else 0)
        return window_end(window, int(match[WINDOW])) - 1


def symbols_of(expression: object) -> frozenset[int]:
    """Every symbol in an expression."""
    if isinstance(expression, Take):
        return frozenset(expression.symbols)
    parts = [getattr(expression, name, ()) for name in ("items", "branches", "members")]
    inner = [getattr(expression, "inner", None)]
    nodes = [node for part in parts for node in part] + [node for node in inner if node is not None]
    return frozenset().union(*(symbols_of(node) for node in nodes))


def _after(row: NDArray[np.int64], table: StepTable, rows: Ids) -> Mask:
    """Events that every event of the row's set precedes."""
    times, streams = table.times[rows], table.streams[rows]
    same = (times == row[HIGH_TIME]) & (streams == row[HIGH_STREAM]) & (table.low[rows] > row[HIGH])
    result: Mask = (times > row[HIGH_TIME]) | same
    return result


def _before(row: NDArray[np.int64], table: StepTable, rows: Ids) -> Mask:
    """Events that precede every event of the row's set."""
    times, streams = table.times[rows], table.streams[rows]
    same = (times == row[LOW_TIME]) & (streams == row[LOW_STREAM]) & (table.high[rows] < row[LOW])
    result: Mask = (times < row[LOW_TIME]) | same
    return result
