"""Negation: removing complete matches in which a negated step or group occurs (specification 3.2; G Appendix B, K 4.4).

A negation of one step is a join of matches with its stored solutions; a group is searched by an evaluator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arrays.columns import expand, hash_columns
from arrays.times import AFTER_ALL, BEFORE_ALL, earlier, later
from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.iteration import IterationView, OuterIterations
from automata.chains.series import Asker
from automata.chains.store import ChainStore
from automata.matches.negation_intervals import NegationIntervals
from automata.plan.plan import Plan
from automata.plan.program import EVENT, ConditionEvaluator, FoldValue, IterationValue
from automata.slices.shared_work import SharedWork
from automata.slices.step_index import step_index
from automata.slices.step_table import StepTable, blocks
from automata.slices.substreams import Substream, Substreams
from automata.slices.timeline import deadline, in_window
from automata.values import NONE, UNBOUND, Ids, Mask

_PAIRS_PER_ROW = 16
"""Pairs of a match and a negated solution for each of the solutions, above which they are joined by key."""
_LOOK_MIN = 64
"""Solutions of a negated step below which old ones are not looked for."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The solutions and events in the interval of a negation.

    tables      the solutions of negated steps
    partition   of the match
    substream   its events, with PARTITION BY
    since       the time of the last event before it; None: there is none
    """

    tables: dict[int, StepTable]
    partition: int
    substream: Substream | None
    since: int | None


GroupSearch = Callable[[int, NDArray[np.int64], dict[int, OuterIterations], Inside], bool]
GroupSearchFactory = Callable[[Plan, ConditionEvaluator], GroupSearch]
"""Makes the search for matches of the negated groups of a program; evaluators get it, for it takes a run-based one."""
"""(negation, registers, iterations, slice) → whether the negated group has a match there."""


class NegationIndex:
    """The negations of one program; `since`: of the negated group that it is, as `Inside` has it."""

    def __init__(
        self,
        chains: ChainStore,
        condition_evaluator: ConditionEvaluator,
        search: GroupSearch,
        since: int | None = None,
    ) -> None:
        self._since = since
        self._plan = chains.plan
        self._program = chains.plan.program
        self._runs = chains.runs
        self._iterations = chains.iterations
        self._lookback = chains.lookback
        self._condition_evaluator = condition_evaluator
        self._search = search
        self._parts: dict[int, list[StepTable]] = {}
        self._looked_at: dict[int, int] = {}
        self._limits = np.array([NONE if n.limit is None else n.limit for n in chains.plan.negations], dtype=np.int64)
        self.symbols = chains.plan.negated
        self.substreams = Substreams(chains.plan)

    def add(self, tables: dict[int, StepTable]) -> None:
        """Remembers the next slice's solutions of the negated steps."""
        for symbol in self.symbols & tables.keys():
            if len(tables[symbol]):
                own = replace(tables[symbol], shared=SharedWork())  # what others worked out from the slice goes with it
                self._parts.setdefault(symbol, []).append(own)

    def kept(self) -> Iterable[StepTable]:
        """All that is remembered, one table a negated step."""
        return [self._table(symbol) for symbol in self._parts]

    def forget(self, before_time: int, before_position: int) -> None:
        """Drops what lies before both, once that is most of it; checks again when as much has been added."""
        for symbol, parts in self._parts.items():
            if sum(map(len, parts)) < 2 * self._looked_at.get(symbol, 0):
                continue
            table = self._table(symbol)
            old = (table.times < before_time) & (table.low < before_position)
            if 2 * int(old.sum()) > len(table):
                table = table.take(~old)
                self._parts[symbol] = [table]
            self._looked_at[symbol] = max(len(table), _LOOK_MIN)
        if before_position == AFTER_ALL:
            self.substreams.forget(before_time)

    def forget_ranks(self, oldest: Callable[[], Mapping[int, int]]) -> None:
        """Drops what no window of events can reach, given the oldest position that matters in each partition."""
        if self.substreams.trim(self._program.window.size, oldest):
            before = {partition: substream.before for partition, substream in self.substreams.of.items()}
            for symbol in self._parts:
                table = self._table(symbol)
                reached = np.array([before.get(p, 0) for p in table.partitions.tolist()], dtype=np.int64)
                self._parts[symbol] = [table.take((table.partitions == NONE) | (table.rank_low >= reached))]

    def violated(self, rows: Ids, intervals: NegationIntervals) -> Mask:
        """Mask of the matches that one of these intervals removes."""
        result = np.zeros(len(rows), dtype=np.bool_)
        for number in np.unique(intervals.negations).tolist():
            some = intervals.take((intervals.negations == number) & ~result[intervals.which])
            part = self._plan.negations[number]
            if part.step != NONE:
                happened = self._happened(rows[some.which], some, part.step)
            else:
                happened = self._happened_within(rows, some, number)
            result[some.which[happened]] = True
        return result

    def deadlines(self, matches: NDArray[np.int64]) -> Ids:
        """The last time (or rank) in the window of each match."""
        return deadline(self._program.window, *matches[:, (col.FIRST_TIME, col.FIRST_RANK, col.WINDOW)].T)

    def _table(self, symbol: int) -> StepTable:
        parts = self._parts[symbol]
        if len(parts) > 1:
            self._parts[symbol] = parts = [StepTable.concatenate(parts)]
        return parts[0]

    # --- one step, outside repetitions --------------------------------------------------------------

    def _happened(self, rows: Ids, intervals: NegationIntervals, symbol: int) -> Mask:
        """Mask of the intervals in which the symbol has a compatible solution."""
        result = np.zeros(len(intervals), dtype=np.bool_)
        if symbol not in self._parts:
            return result
        table = self._table(symbol)
        for which, steps in self._candidates(rows, intervals, table):
            keep = self._fits(rows[which], intervals.take(which), table, steps)
            which, steps = which[keep], steps[keep]
            result[which[self._is_compatible(rows[which], symbol, table, steps)]] = True
        return result

    def _candidates(self, rows: Ids, intervals: NegationIntervals, table: StepTable) -> Iterator[tuple[Ids, Ids]]:
        """Numbers of intervals, each with a row of the table between its neighbours.

        Where those would be many, only rows with the match's own join key are looked at.
        """
        begin, end = self._range(intervals, table)
        order = None
        if int((end - begin).sum()) > _PAIRS_PER_ROW * len(table) and (key := self._join_key(rows, table)):
            index = step_index(table, key, in_context=False)
            lows = np.append(table.low, table.low[-1] + 1)
            groups, found = index.groups(hash_columns([self._runs.register(rows, v) for v in key], len(rows)))
            begin, end, order = index.from_low(groups, lows[begin]), index.from_low(groups, lows[end]), index.order
            end = np.where(found, np.maximum(begin, end), begin)
        for block in blocks(end - begin):
            which, within = expand((end - begin)[block])
            which += block.start
            steps = begin[which] + within
            yield which, steps if order is None else order[steps]

    def _join_key(self, rows: Ids, table: StepTable) -> tuple[int, ...]:
        """The variables that every one of these matches and every row of the table have bound."""
        bound = (v for v, column in sorted(table.values.items()) if (column != UNBOUND).all())
        return tuple(v for v in bound if (self._runs.register(rows, v) != UNBOUND).all())

    def _range(self, intervals: NegationIntervals, table: StepTable) -> tuple[Ids, Ids]:
        """The rows of the table between the neighbours of each interval, by position."""
        begin = np.searchsorted(table.low, self._runs.column(intervals.after, col.HIGH), "right")
        end = np.searchsorted(table.low, self._runs.column(intervals.before, col.LOW), "left")
        begin = np.where(intervals.after == NONE, 0, begin)
        end = np.where(intervals.before == NONE, len(table), end)
        earliest, latest = self._looked_at_times(intervals)
        begin = np.maximum(begin, np.searchsorted(table.times, earliest, "left"))
        end = np.minimum(end, np.searchsorted(table.times, latest, "right"))
        return begin, np.maximum(begin, end)

    def _looked_at_times(self, intervals: NegationIntervals) -> tuple[Ids, Ids]:
        """The first and last times that the limits of the negations let them look at."""
        earliest, latest = np.full(len(intervals), BEFORE_ALL), np.full(len(intervals), AFTER_ALL)
        limited = np.flatnonzero(self._limits[intervals.negations] != NONE)
        limits = self._limits[intervals.negations[limited]]
        after, before = intervals.after[limited], intervals.before[limited]
        leads = (after == NONE) & (self._since is None)
        earliest[limited[leads]] = earlier(self._runs.column(before, col.LOW_TIME), limits)[leads]
        since = np.where(after == NONE, self._since or 0, self._runs.column(after, col.HIGH_TIME))
        latest[limited[~leads]] = later(since, limits)[~leads]
        return earliest, latest

    def _fits(self, rows: Ids, intervals: NegationIntervals, table: StepTable, steps: Ids) -> Mask:
        """Strictly between the neighbours in time, and within the match's window."""
        times, streams = table.times[steps], table.streams[steps]
        after, before = self._runs.table[intervals.after], self._runs.table[intervals.before]
        later = (times == after[:, col.HIGH_TIME]) & (streams == after[:, col.HIGH_STREAM])
        later &= table.low[steps] > after[:, col.HIGH]
        earlier = (times == before[:, col.LOW_TIME]) & (streams == before[:, col.LOW_STREAM])
        earlier &= table.high[steps] < before[:, col.LOW]
        keep: Mask = (intervals.after == NONE) | later | (times > after[:, col.HIGH_TIME])
        keep &= (intervals.before == NONE) | earlier | (times < before[:, col.LOW_TIME])
        ends = np.flatnonzero(keep & ((intervals.after == NONE) | (intervals.before == NONE)))
        keep[ends] = self._in_window(self._runs.table[rows[ends]], table, steps[ends])
        return keep

    def _in_window(self, matches: NDArray[np.int64], table: StepTable, steps: Ids) -> Mask:
        """Mask of the rows of the table that are in the window of the match beside them (specification 3.3)."""
        window = self._program.window
        ends = (col.FIRST_RANK, col.RANK) if window.in_events else (col.FIRST_TIME, col.HIGH_TIME)
        where = self._ranks(matches, table, steps) if window.in_events else table.times[steps]
        inside: Mask = in_window(window, where, *matches[:, (*ends, col.WINDOW)].T)
        return inside

    def _ranks(self, matches: NDArray[np.int64], table: StepTable, steps: Ids) -> NDArray[np.float64]:
        """Positions in the match's substream; an event outside it stands right before the next one in it."""
        if not self._program.partition:
            return table.rank_low[steps].astype(np.float64)
        ranks = np.empty(len(steps), dtype=np.float64)
        partitions = matches[:, col.PARTITION]
        for partition in np.unique(partitions).tolist():
            here = partitions == partition
            ranks[here] = self.substreams[partition].places(table.low[steps[here]])
        return ranks

    def _is_compatible(self, rows: Ids, symbol: int, table: StepTable, steps: Ids) -> Mask:
        """Compatible with the whole match, and every condition of the negated step holds."""
        both = self._runs.registers(rows)
        keep = bindings.unify(both, {variable: column[steps] for variable, column in table.values.items()})
        for number in self._plan.conditions[symbol]:
            condition, which = self._program.conditions[number], np.flatnonzero(keep)
            if len(which):
                view = replace(self._iterations.arrived(rows[which]), registers=both[which])
                columns = self._iterations.columns(condition.references, view)
                if condition.needs_event:
                    columns[EVENT] = table.low[steps[which]]
                keep[which] = self._condition_evaluator.holds(number, columns, len(which))
        return keep

    # --- groups, and inside repetitions -------------------------------------------------------------

    def _happened_within(self, rows: Ids, intervals: NegationIntervals, number: int) -> Mask:
        """The same one match at a time: a group has to be looked for, an iteration has its own bindings.

        Of those only that have some solution of its symbols between the neighbours.
        """
        symbols = sorted(self._parts.keys() & self._plan.negations[number].symbols)
        ranges = {symbol: self._range(intervals, self._table(symbol)) for symbol in symbols}
        result = np.zeros(len(intervals), dtype=np.bool_)
        for begin, end in ranges.values():
            result |= begin < end
        for which in np.flatnonzero(result).tolist():
            steps = {symbol: np.arange(begin[which], end[which]) for symbol, (begin, end) in ranges.items()}
            result[which] = self._one(rows, intervals.take(np.array([which])), number, steps)
        return result

    def _one(self, rows: Ids, intervals: NegationIntervals, number: int, steps: Mapping[int, Ids]) -> bool:
        row = int(rows[intervals.which[0]])
        part = self._plan.negations[number]
        between = {symbol: self._between(row, intervals, symbol, some) for symbol, some in steps.items()}
        tables = {symbol: table for symbol, table in between.items() if len(table)}
        if not tables:
            return False
        now = self._iterations.arrived(np.array([row], dtype=np.int64))
        view = self._seen(row, int(intervals.seen_from[0]), part.repetitions, now)
        prior = {variable: self._iterations.as_outer(variable, view) for variable in self._iterated(frozenset(tables))}
        partition = int(self._runs.table[row, col.PARTITION])
        after = int(intervals.after[0])
        since = self._since if after == NONE else int(self._runs.table[after, col.HIGH_TIME])
        inside = Inside(tables, partition, self.substreams[partition] if self.substreams.needed else None, since)
        return self._search(number, view.registers[0], prior, inside)

    def _between(self, row: int, intervals: NegationIntervals, symbol: int, steps: Ids) -> StepTable:
        """Those of these solutions of a symbol that are strictly between the neighbours."""
        table = self._table(symbol)
        same = np.zeros(len(steps), dtype=np.int64)
        return table.take(steps[self._fits(np.full(len(steps), row), intervals.take(same), table, steps)])

    def _seen(self, row: int, seen_from: int, repetitions: tuple[int, ...], now: IterationView) -> IterationView:
        """The match as something inside the repetitions sees it from the iteration of the row `seen_from`."""
        if not repetitions:
            return now
        chain = self._lookback.chain(row)
        seen, _ = self._lookback.seen(
            chain, chain.index(seen_from), repetitions, self._runs.table[row, self._runs.layout.registers], NONE
        )
        return replace(now, registers=seen[np.newaxis, :], asker=Asker(seen_from, len(repetitions)))

    def _iterated(self, symbols: frozenset[int]) -> set[int]:
        """The variables over whose iterations a condition of these symbols ranges."""
        return {
            reference.variable
            for symbol in symbols
            for number in self._plan.conditions[symbol]
            for reference in self._program.conditions[number].references
            if isinstance(reference, IterationValue | FoldValue)
        }
