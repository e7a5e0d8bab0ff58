"""From complete sets of events to runs: a path of the automaton is walked once more, forwards (K Section 4.5).

Only the earlier iterations of repeated steps are searched, last of all. The rows are those of run-based evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from arrays.columns import expand, hash_columns
from arrays.times import earlier
from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.clocks import deadlines
from automata.chains.dominance import gapless
from automata.chains.store import AcceptedRuns, ChainStore
from automata.chains.table import ROOT
from automata.lazy.partial import PARTITION as OF_PARTITION
from automata.lazy.partial import RANK_MAX, TIME_MAX, Rows
from automata.lazy.partial import WINDOW as OF_WINDOW
from automata.lazy.path import AllOf, Item, Step, walk
from automata.lazy.search import Search
from automata.plan.pruning import is_gapless
from automata.slices.pairs import Pairs
from automata.slices.step_buffer import LOW, PARTITION, RANK, STREAM, TIME, WINDOW, Buffer
from automata.slices.step_table import StepTable, side_by_side
from automata.values import NONE, Ids, Mask

_Walked = tuple[Ids, Ids]
"""Rows of runs, and for each the number of the complete match that it comes from."""


class Replay:
    """Walks one path; `free`: no negation on it removes a complete match."""

    def __init__(self, core: ChainStore, search: Search, free: bool) -> None:
        self._core = core
        self._search = search
        self._path = search.path
        self._free = free
        self._layout = search.layout
        self._units_of_edge = {step.edge: search.units.of_step(n) for n, step in enumerate(search.units.steps)}
        self._distinct = not any(unit.repeated for unit in search.units.units)
        self._gapless = is_gapless(core.plan)
        self._complete: Rows = search.layout.root()[:0]

    def ended(self, complete: Rows) -> AcceptedRuns:
        """The runs of these complete matches that fulfil every condition."""
        self._complete = complete
        start = np.full(len(complete), ROOT, dtype=np.int64), np.arange(len(complete), dtype=np.int64)
        rows, _ = self._sequence(self._path.items, start)
        accept = self._core.plan.accepts[self._path.accept]
        checks = self._core.plan.positions[accept.position].final
        kept = self._core.conditions.arrived(rows, checks, patient=False)
        return AcceptedRuns(rows[kept], self._path.accept, self._free)

    def _sequence(self, items: Sequence[Item], walked: _Walked) -> _Walked:
        for item in items:
            match item:
                case AllOf():
                    walked = self._all_of(item, walked)
                case Step(loop=-1):
                    rows, which = walked
                    walked = self._take(item.edge, rows, which, self._last(item, which))
                case Step():
                    walked = self._repeated(item, walked)
        return walked

    def _last(self, step: Step, which: Ids) -> StepTable:
        """The events that the step takes last, one row for each of `which`."""
        units = self._units_of_edge[step.edge]
        numbers = (self._complete[which, self._layout.number(unit)] for unit in units)
        tables = (self._search.buffer(unit).table(own) for unit, own in zip(units, numbers, strict=True))
        return reduce(side_by_side, tables)

    def _take(self, number: int, rows: Ids, which: Ids, table: StepTable) -> _Walked:
        """Each row takes the edge with the table's row beside it, where values and conditions allow."""
        pairs = Pairs(rows, np.arange(len(rows), dtype=np.int64))
        if self._gapless:
            pairs = gapless(self._core.runs, pairs, table)
        last = deadlines(self._core.runs, self._core.plan.edges[number], pairs.rows)
        if last is not None:
            pairs = pairs.take(table.times[pairs.steps] <= last)
        pairs = pairs.take(bindings.fits(self._core.runs, self._core.plan.edges[number], table, pairs))
        pairs = pairs.take(self._core.conditions.admitted(number, table, pairs))
        if not len(pairs):
            return rows[:0], which[:0]
        return self._core.growth.take(number, pairs, table), which[pairs.steps]

    # --- repetition -------------------------------------------------------------------------------

    def _repeated(self, step: Step, walked: _Walked) -> _Walked:
        """All possibilities for iterations before the last one."""
        if self._core.dominance is not None and step.loop != NONE:
            return self._undominated(step, walked)
        rows, which = walked
        edge, done = step.edge, []
        while len(rows):
            done.append(self._ended(step, edge, rows, which))
            parts = [(rows[:0], which[:0])]
            for before, numbers in self._earlier(step, rows, which):
                parts.append(self._able(step, *self._iterated(step, edge, rows[before], which[before], numbers)))
            rows, which = _both(*parts)
            edge = step.loop
        return _both(*done) if done else walked

    def _undominated(self, step: Step, walked: _Walked) -> _Walked:
        """The same, event by event, without the rows that others of the same complete match make superfluous."""
        buffer, none = self._search.buffers.positive[step.symbols[0]], walked[0][:0]
        inside: _Walked = none, none
        begun, firsts = self._all_earlier(step, *walked)
        for low in np.unique(buffer.at(LOW, firsts)).tolist():
            now = buffer.at(LOW, firsts) == low
            new = self._iterated(step, step.edge, walked[0][begun[now]], walked[1][begun[now]], firsts[now])
            later, numbers = self._all_earlier(step, *inside, low)
            more = self._iterated(step, step.loop, inside[0][later], inside[1][later], numbers)
            inside = _both(inside, self._able(step, *self._pruned(_both(new, more))))
        return self._pruned(_both(self._ended(step, step.edge, *walked), self._ended(step, step.loop, *inside)))

    def _pruned(self, walked: _Walked) -> _Walked:
        rows, which = walked
        kept = np.isin(rows, self._core.undominated(rows, which))
        return rows[kept], which[kept]

    def _iterated(self, step: Step, edge: int, rows: Ids, which: Ids, numbers: Ids) -> _Walked:
        """The rows that take one iteration each."""
        return self._take(edge, rows, which, self._search.buffers.positive[step.symbols[0]].table(numbers))

    def _able(self, step: Step, rows: Ids, which: Ids) -> _Walked:
        """Those that may iterate once more."""
        able = np.isin(rows, self._core.extender.able(self._core.runs, step.loop, rows))
        return rows[able], which[able]

    def _ended(self, step: Step, edge: int, rows: Ids, which: Ids) -> _Walked:
        """The rows that take the last iteration."""
        ended, of = self._take(edge, rows, which, self._last(step, which))
        repetition = self._core.plan.positions[step.position].repetitions[-1]
        often = self._core.runs.column(ended, self._core.layout.count(repetition)) >= step.at_least
        return ended[often], of[often]

    def _all_earlier(self, step: Step, rows: Ids, which: Ids, low: int | None = None) -> tuple[Ids, Ids]:
        """Those of `_earlier` together; raises TooManyRuns."""
        parts = [(rows[:0], rows[:0])]
        for some in self._earlier(step, rows, which, low):
            parts.append(some)
            self._core.runs.check(sum(len(at) for at, _ in parts))
        return _both(*parts)

    def _earlier(self, step: Step, rows: Ids, which: Ids, low: int | None = None) -> Iterator[tuple[Ids, Ids]]:
        """Pairs of a row and an event after it and before the step's last one, within the match's window, in blocks.

        low     only events with this first position
        """
        (unit,) = self._units_of_edge[step.edge]
        buffer = self._search.buffer(unit)
        complete = self._complete[which]
        last = complete[:, self._layout.number(unit)]
        begin = buffer.number(LOW, self._core.runs.column(rows, col.HIGH), after=True)
        window = self._core.plan.program.window
        if window.sliding and not window.in_events:
            begin = np.maximum(begin, buffer.number(TIME, earlier(complete[:, TIME_MAX], window.size)))
        for _, limit in self._core.plan.edges[step.edge].timed:
            begin = np.maximum(begin, buffer.number(TIME, earlier(buffer.at(TIME, last), limit)))
        context = [complete[:, OF_PARTITION], complete[:, OF_WINDOW]]
        end = buffer.number(LOW, buffer.at(LOW, last))
        if low is not None:
            at_low = np.full(len(rows), low, dtype=np.int64)
            begin = np.maximum(begin, buffer.number(LOW, at_low))
            end = np.minimum(end, buffer.number(LOW, at_low, after=True))
        found = buffer.search(begin, end, (), hash_columns(context, len(rows)), in_context=True)
        for at, numbers in found:
            if len(keep := np.flatnonzero(self._between(rows[at], complete[at], last[at], buffer, numbers))):
                yield at[keep], numbers[keep]

    def _between(self, rows: Ids, complete: Rows, last: Ids, buffer: Buffer, numbers: Ids) -> Mask:
        """The relations that positions do not imply: order between streams, partition, window."""
        times, streams = buffer.at(TIME, numbers), buffer.at(STREAM, numbers)
        runs, window = self._core.runs, self._core.plan.program.window
        after: Mask = (times > runs.column(rows, col.HIGH_TIME)) | (streams == runs.column(rows, col.HIGH_STREAM))
        after &= (times < buffer.at(TIME, last)) | (streams == buffer.at(STREAM, last))
        after &= buffer.at(PARTITION, numbers) == complete[:, OF_PARTITION]
        after &= buffer.at(WINDOW, numbers) == complete[:, OF_WINDOW]
        if window.sliding and window.in_events:
            after &= complete[:, RANK_MAX] - buffer.at(RANK, numbers) < window.size
        return after

    # --- ALL --------------------------------------------------------------------------------------

    def _all_of(self, item: AllOf, walked: _Walked) -> _Walked:
        """The ALL is opened once for all that come from one row; of its members, those of one walk are joined."""
        core, (rows, which) = self._core, walked
        if not len(rows):
            return walked
        unordered = core.plan.unordered[item.unordered]
        sources, origin = np.unique(rows, return_inverse=True)
        started = core.growth.open(item.edge, sources)
        starts = [started[member.start][origin] for member in unordered.members]
        combined, walks = self._members(item, starts, which)
        joined, kept = core.all_joins[item.unordered].combine(combined, self._distinct)
        points = core.plan.positions[unordered.position].arriving
        passed = core.conditions.arrived(joined, points, patient=True)
        return joined[passed], which[walks[kept[passed]]]

    def _members(self, item: AllOf, starts: Sequence[Ids], which: Ids) -> tuple[Rows, Ids]:
        """Combinations of finished rows of the members, for each walk that has come to the ALL; and whose they are.

        Raises TooManyRuns.
        """
        every, self._complete = self._complete, self._complete[which]
        walks = np.arange(len(which), dtype=np.int64)
        combined = np.empty((len(which), 0), dtype=np.int64)
        for start, items in zip(starts, item.members, strict=True):
            finished, of = self._member(items, start)
            order = np.argsort(of, kind="stable")
            begin, end = (np.searchsorted(of[order], walks, side) for side in ("left", "right"))
            self._core.runs.check(int((end - begin).sum()))
            at, within = expand(end - begin)
            combined, walks = np.column_stack((combined[at], finished[order[begin[at] + within]])), walks[at]
        self._complete = every
        return combined, walks

    def _member(self, items: Sequence[Item], starts: Ids) -> _Walked:
        """Finished rows of one member, and whose they are; walks from one row over the same events share theirs."""
        walks = np.arange(len(starts), dtype=np.int64)
        if not self._distinct:
            return self._sequence(items, (starts, walks))
        steps = (step for step in walk(items) if isinstance(step, Step))
        units = [unit for step in steps for unit in self._units_of_edge[step.edge]]
        key = np.column_stack((starts, self._complete[:, [self._layout.number(unit) for unit in units]]))
        _, first, same = np.unique(key, axis=0, return_index=True, return_inverse=True)
        finished, of = self._sequence(items, (starts[first], first))
        rows = np.full(len(starts), NONE, dtype=np.int64)
        rows[of] = finished
        shared = rows[first[same.ravel()]]
        walks = np.flatnonzero(shared != NONE)
        return shared[walks], walks


def _both(*parts: _Walked) -> _Walked:
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([which for _, which in parts])
