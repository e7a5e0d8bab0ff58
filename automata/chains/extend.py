"""Extending runs: the rows of a step table that let runs take an edge (specification 3.2, "extends").

A range of candidates by join key and order, then masks for order, window, contiguity, values and conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arrays.columns import expand, hash_columns
from arrays.times import later
from automata.chains import bindings
from automata.chains import columns as col
from automata.chains.clocks import deadlines
from automata.chains.conditions import RunConditions
from automata.chains.table import Layout, RunView
from automata.plan.expression import Contiguity
from automata.plan.plan import Plan, PlannedEdge
from automata.slices.pairs import Pairs, first_slots, follows, joined, unpreceded
from automata.slices.step_index import StepIndex, clipped, step_index
from automata.slices.step_table import SEVERAL, StepTable, blocks
from automata.slices.substreams import Substream
from automata.slices.successors import Successors, successors
from automata.values import NONE, Ids, Mask

_GALLOP_FACTOR = 4
"""Skip-till-next looks at the first candidate, then at so many more, and so on; always at whole slots."""


class Extender:
    """Takes the edges of one plan; `substream` as in `automata.chains.store.ChainStore`."""

    def __init__(self, plan: Plan, conditions: RunConditions, substream: Substream | None) -> None:
        self.plan = plan
        self.conditions = conditions
        self.substream = substream
        layout = Layout.of(plan)
        self._blockers = [tuple(layout.closed_masks(edge.blockers).items()) for edge in plan.edges]

    def extend(self, runs: RunView, position: int, rows: Ids, tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
        """edge → the runs among `rows`, all at `position`, that take it. Marks skip-till-next edges as taken."""
        taken: dict[int, Pairs] = {}
        for number in self.plan.positions[position].onward:
            table = tables.get(self.plan.edges[number].target)
            if table is not None and len(table):
                taken[number] = self._take(runs, number, rows, table)
        return self._close(runs, taken, tables)

    def able(self, runs: RunView, number: int, rows: Ids) -> Ids:
        """Those rows whose repetitions allow the edge."""
        edge = self.plan.edges[number]
        rows = self.leaving(runs, edge.leaves, rows)
        if edge.loop != NONE and (at_most := self.plan.repetitions[edge.loop].at_most) is not None:
            rows = rows[runs.column(rows, runs.written.layout.count(edge.loop)) < at_most]
        return rows

    def leaving(self, runs: RunView, repetitions: tuple[int, ...], rows: Ids) -> Ids:
        """Those that have iterated often enough to leave the repetitions."""
        for repetition in repetitions:
            counts = runs.column(rows, runs.written.layout.count(repetition))
            rows = rows[counts >= self.plan.repetitions[repetition].at_least]
        return rows

    def adjacent(self, runs: RunView, number: int, table: StepTable, pairs: Pairs) -> Mask:
        """A mask of the pairs between which no event lies."""
        return _Search(self, runs, number, pairs.rows, table, True).adjacent(pairs)

    def index(self, number: int, table: StepTable, in_context: bool) -> StepIndex:
        """A table's rows by the edge's key; `in_context` by partition too, where there are any, and then by window."""
        return step_index(table, self.plan.edges[number].key, in_context and bool(self.plan.program.partition))

    def hashes(self, runs: RunView, number: int, rows: Ids, in_context: bool) -> Ids:
        """The key of each row, as `index` hashes it."""
        edge, partitioned = self.plan.edges[number], in_context and self.plan.program.partition
        context = [runs.column(rows, col.PARTITION), runs.column(rows, col.WINDOW)] if partitioned else []
        values = [bindings.before(runs, edge, rows, variable) for variable in edge.key]
        return hash_columns([*context, *values], len(rows))

    def _take(self, runs: RunView, number: int, rows: Ids, table: StepTable) -> Pairs:
        edge = self.plan.edges[number]
        rows = self.able(runs, number, rows)
        if edge.operator is Contiguity.NEXT:
            for column, mask in self._blockers[number]:
                rows = rows[runs.column(rows, column) & mask == 0]
        begun = [(rows, True)]
        if edge.begins:
            fresh = runs.column(rows, col.FIRST) == NONE
            begun = [(rows[fresh], False), (rows[~fresh], True)]
        searches = [_Search(self, runs, number, some, table, in_context) for some, in_context in begun if len(some)]
        return joined([pairs for search in searches for pairs in search.pairs()])

    def _close(self, runs: RunView, taken: dict[int, Pairs], tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
        """Skip-till-next: only what no event precedes that extends by the edge or a rival; then closes the edges."""
        first, edges = {}, self.plan.edges
        for number, pairs in taken.items():
            edge, table = edges[number], tables[edges[number].target]
            if edge.operator is Contiguity.NEXT:
                rivals = [(tables[edges[n].target], taken[n]) for n in (number, *edge.rivals) if n in taken]
                pairs = pairs.take(unpreceded(pairs, table, rivals))
            elif edge.operator is Contiguity.STRICT and edge.closes:
                pairs = pairs.take(_Search(self, runs, number, pairs.rows, table, True).adjacent(pairs))
            first[number] = pairs
        for number, pairs in taken.items():
            if edges[number].closes:
                runs.close(pairs.rows, edges[number].place)
        return first


@dataclass(frozen=True, slots=True)
class _Search:
    """Candidates of some runs on one edge; `in_context`: the runs have a window and a partition."""

    extender: Extender
    runs: RunView
    number: int
    rows: Ids
    table: StepTable
    in_context: bool

    def pairs(self) -> list[Pairs]:
        """The admitted pairs; under skip-till-next only those in each run's first slot that has any."""
        index = self.extender.index(self.number, self.table, self.in_context)
        if self.extender.plan.edges[self.number].operator is Contiguity.NEXT:
            return self._gallop(index)
        if self._strict and self.in_context and self.extender.substream is None:
            groups, found = index.groups(self._hashes())
            slot = self.runs.column(self.rows, col.SLOT)
            begin = index.from_slot(groups, slot)
            end = np.where(found, index.from_slot(groups, slot + 2), begin)
        else:
            groups, begin, end = self._ranges(index)
            end = self._reached(index, self.rows, groups, begin, end)
        return self._all(index, begin, end, np.arange(len(self.rows), dtype=np.int64))

    @property
    def _edge(self) -> PlannedEdge:
        return self.extender.plan.edges[self.number]

    @property
    def _strict(self) -> bool:
        """True if only adjacent events matter; others may end what they rival under skip-till-next."""
        edge = self.extender.plan.edges[self.number]
        return edge.operator is Contiguity.STRICT and not edge.closes

    # --- ranges of candidates ---------------------------------------------------------------------

    def _ranges(self, index: StepIndex) -> tuple[Ids, Ids, Ids]:
        """Of each run the group of its key in the index, and the range of what comes after it."""
        return index.ranges(self._hashes(), self.runs.column(self.rows, col.HIGH))

    def _hashes(self) -> Ids:
        return self.extender.hashes(self.runs, self.number, self.rows, self.in_context)

    def _reached(self, index: StepIndex, rows: Ids, groups: Ids, begin: Ids, end: Ids) -> Ids:
        """The ends of the ranges of some runs in their windows."""
        reach = self._reach(rows) if self.in_context else None
        return end if reach is None else clipped(index.from_low(groups, reach), begin, end)

    def _reach(self, rows: Ids) -> Ids | None:
        """For each run a position that its window and limits end before; None where the index tells windows apart."""
        reach, last = self._window_reach(rows), deadlines(self.runs, self._edge, rows)
        if last is None:
            return reach
        limit = self._low_at(np.searchsorted(self.table.times, last, "right"))
        return limit if reach is None else np.minimum(reach, limit)

    def _low_at(self, places: Ids) -> Ids:
        """The first positions of the table's rows at these places; one after all where the table ends."""
        low: Ids = np.append(self.table.low, np.iinfo(np.int64).max)[places]
        return low

    def _window_reach(self, rows: Ids) -> Ids | None:
        program, runs, table = self.extender.plan.program, self.runs, self.table
        window = program.window
        if program.partition and (window.in_events or not window.sliding):
            return None
        if window.sliding and window.in_events:
            return later(runs.column(rows, col.FIRST), window.size)
        if window.sliding:
            beyond = np.searchsorted(table.times, later(runs.column(rows, col.FIRST_TIME), window.size), "right")
        else:
            beyond = np.searchsorted(table.windows, runs.column(rows, col.WINDOW), "right")
        return self._low_at(beyond)

    def _successors(self, index: StepIndex) -> Successors | None:
        """The successors of each of the runs; None where other queries would not ask the same."""
        begun, plan = self.runs.begun, self.extender.plan
        edge = plan.edges[self.number]
        if begun is None or len(begun) != len(self.rows) or edge.loop != NONE or plan.given or plan.program.partition:
            return None
        return successors(begun, self.table, index, edge.key, edge.shared)

    def _all(self, index: StepIndex, begin: Ids, end: Ids, which: Ids) -> list[Pairs]:
        """The admitted pairs of these runs with the ranges."""
        parts, found = [], 0
        counts = end - begin
        for block in blocks(counts):
            local, within = expand(counts[block])
            local += block.start
            steps = index.order[begin[local] + within]
            if len(steps):
                parts.append(self._admitted(Pairs(self.rows[which[local]], steps)))
                found += len(parts[-1])
                self.extender.plan.program.check_runs(found)
        return parts

    def _gallop(self, index: StepIndex) -> list[Pairs]:
        known = self._successors(index)
        if known is None:
            parts: list[Pairs] = []
            groups, at, limit = self._ranges(index)
            open_runs, stride = np.flatnonzero(at < limit), 1
        else:
            pairs = Pairs(known.rows, known.steps)
            pairs = self._decided(pairs.take(self._in_window(pairs)))
            groups, at, limit = known.groups, known.begin, known.end
            left = at < limit
            left[pairs.rows] = False
            parts, open_runs, stride = [pairs], np.flatnonzero(left), _GALLOP_FACTOR
        at, limit = at[open_runs], limit[open_runs]
        while len(open_runs):
            if stride == _GALLOP_FACTOR:  # windows are looked up for those that have not found anything at once
                limit = self._reached(index, self.rows[open_runs], groups[open_runs], at, limit)
            until = np.minimum(limit, index.slot_ends[np.minimum(at + stride, limit) - 1])
            pairs = joined(self._all(index, at, until, open_runs))
            parts.append(pairs if stride == 1 else first_slots(pairs, self.table))
            rest = until < limit
            if rest.any():
                rest &= ~np.isin(self.rows[open_runs], pairs.rows)
            open_runs, at, limit = open_runs[rest], until[rest], limit[rest]
            stride *= _GALLOP_FACTOR
        return parts

    # --- masks over candidates --------------------------------------------------------------------

    def _admitted(self, pairs: Pairs) -> Pairs:
        fits = bindings.fits(self.runs, self.extender.plan.edges[self.number], self.table, pairs)
        return self._decided(pairs.take(fits & self._valid(pairs)))

    def _decided(self, pairs: Pairs) -> Pairs:
        """Those for which the conditions hold."""
        return pairs.take(self.extender.conditions.admitted(self.number, self.table, pairs))

    def _valid(self, pairs: Pairs) -> Mask:
        """Order, window and contiguity."""
        if not self.in_context:
            begins: Mask = self.table.windows[pairs.steps] != NONE
            return begins
        last = (self.runs.column(pairs.rows, column) for column in (col.HIGH_TIME, col.HIGH_STREAM, col.HIGH))
        valid = follows(self.table, pairs.steps, *last) & self._in_window(pairs)
        if self._strict:
            valid &= self.adjacent(pairs)
        return valid

    def _in_window(self, pairs: Pairs) -> Mask:
        """A mask of the steps in the window, the partition and the limits of their run."""
        runs, table, rows, steps = self.runs, self.table, pairs.rows, pairs.steps
        program = self.extender.plan.program
        window = program.window
        if window.sliding and window.in_events:
            inside: Mask = table.rank_high[steps] - runs.column(rows, col.FIRST_RANK) < window.size
        elif window.sliding:
            inside = table.times[steps] <= later(runs.column(rows, col.FIRST_TIME), window.size)
        else:
            inside = table.windows[steps] == runs.column(rows, col.WINDOW)
        if program.partition:
            inside &= table.partitions[steps] == runs.column(rows, col.PARTITION)
        last = deadlines(runs, self._edge, rows)
        if last is not None:
            inside &= table.times[steps] <= last
        return inside

    def adjacent(self, pairs: Pairs) -> Mask:
        """No event lies between the last one of the run and the step."""
        runs, table, rows, steps = self.runs, self.table, pairs.rows, pairs.steps
        if self.extender.substream is not None:
            left = np.stack([runs.column(rows, column) for column in (col.HIGH, col.HIGH_TIME, col.HIGH_STREAM)])
            right = np.stack((table.low[steps], table.times[steps], table.streams[steps]))
            return self.extender.substream.contiguous(left, right)
        slot, next_slot = runs.column(rows, col.SLOT), table.slots[steps]
        several = runs.column(rows, col.HIGH_STREAM) == SEVERAL
        opens = (table.seq_low[steps] == 0) | (table.streams[steps] == SEVERAL)
        over = (next_slot == slot + 1) & opens & (several | (runs.column(rows, col.TAIL) != 0))
        same_stream = runs.column(rows, col.HIGH_STREAM) == table.streams[steps]
        within = (next_slot == slot) & same_stream & ~several & (table.seq_low[steps] == runs.column(rows, col.SEQ) + 1)
        adjacent: Mask = over | within
        return adjacent
