"""Extending runs: which rows of a step table let which runs take an edge (specification 3.2, "extends").

Whole columns of runs meet whole tables: a range of candidates by join key and order, then masks for
order, window, contiguity, values and conditions. Skip-till-next looks at candidates slot by slot,
in growing slices, until a run has found its first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from arrays.columns import expand, hash_columns
from automata.chains.bindings import Bindings
from automata.chains.deferred import RunView
from automata.chains.table import (
    CLOSED,
    FIRST,
    FIRST_RANK,
    FIRST_TIME,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    PARTITION,
    SEQ,
    SLOT,
    TAIL,
    WINDOW,
    Layout,
)
from automata.plan.automaton import Automaton, Crossing, Edge
from automata.plan.expression import Contiguity
from automata.plan.program import Program
from automata.slices.pairs import Pairs, first_slots, follows, joined, unpreceded
from automata.slices.step_index import StepIndex, clipped, step_index
from automata.slices.step_table import SEVERAL, StepTable, blocks
from automata.slices.substreams import Substream
from automata.slices.successors import Successors, successors
from automata.values import NONE, Ids, Mask

_GALLOP_FACTOR = 4
"""Skip-till-next looks at the first candidate, then at so many more, and so on; always at whole slots."""


Admit = Callable[[int, StepTable, Pairs], Mask]
"""Whether the decidable conditions hold: (edge, table, candidate pairs) → mask."""


@dataclass(frozen=True, slots=True)
class _EdgeFacts:
    """What is known of an edge before any run takes it.

    bit, blockers   see CLOSED: that of its own, and those of whatever closes it
    begins          the runs at its source may not have had an event yet
    """

    edge: Edge
    bit: int
    blockers: int
    begins: bool


class Extender:
    """Takes the edges of one automaton.

    substream   see `automata.runs.columns.core.Core`
    """

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        layout: Layout,
        bindings: Bindings,
        substream: Substream | None = None,
    ) -> None:
        self._program = program
        self.substream = substream
        self._automaton = automaton
        self._layout = layout
        self.bindings = bindings
        self._facts = [self._edge_facts(number) for number in range(len(automaton.edges))]

    def extend(
        self, runs: RunView, position: int, rows: Ids, tables: Mapping[int, StepTable], admit: Admit
    ) -> dict[int, Pairs]:
        """edge → the runs among `rows`, all at `position`, that take it. Marks skip-till-next edges as taken."""
        taken: dict[int, Pairs] = {}
        for number in self._automaton.outgoing[position]:
            table = tables.get(self._automaton.edges[number].target)
            if table is not None and len(table):
                taken[number] = self._take(runs, number, rows, table, admit)
        return self._settle(runs, taken, tables)

    def able(self, runs: RunView, number: int, rows: Ids) -> Ids:
        """Those rows whose repetitions allow the edge."""
        for action in self._facts[number].edge.actions:
            repetition = self._automaton.repetitions[action.repetition]
            counts = runs.column(rows, self._layout.count(action.repetition))
            if action.crossing is Crossing.LEAVE:
                rows = rows[counts >= repetition.at_least]
            elif action.crossing is Crossing.LOOP and repetition.at_most is not None:
                rows = rows[counts < repetition.at_most]
        return rows

    def index(self, number: int, table: StepTable, in_context: bool) -> StepIndex:
        """A table's rows by the edge's key; `in_context` by partition too, where there are any, and then by window."""
        return step_index(table, self.bindings.key(number), in_context and bool(self._program.partition))

    def hashes(self, runs: RunView, number: int, rows: Ids, in_context: bool) -> Ids:
        """The key of each row, as `index` hashes it."""
        partitioned = in_context and self._program.partition
        context = [runs.column(rows, PARTITION), runs.column(rows, WINDOW)] if partitioned else []
        values = [self.bindings.before(runs, number, rows, variable) for variable in self.bindings.key(number)]
        return hash_columns([*context, *values], len(rows))

    def _edge_facts(self, number: int) -> _EdgeFacts:
        edge = self._automaton.edges[number]
        bits = {other: 1 << place for place, other in enumerate(self._automaton.outgoing[edge.source])}
        blockers = bits[number] | sum(bits[rival] for rival in edge.rivals)
        return _EdgeFacts(edge, bits[number], blockers, not self._automaton.positions[edge.source].symbols)

    def _take(self, runs: RunView, number: int, rows: Ids, table: StepTable, admit: Admit) -> Pairs:
        facts = self._facts[number]
        rows = self.able(runs, number, rows)
        if facts.edge.operator is Contiguity.NEXT:
            rows = rows[runs.column(rows, CLOSED) & facts.blockers == 0]
        parts = []
        for some, in_context in self._by_context(runs, facts, rows):
            if len(some):
                search = _Search(self, runs, number, some, table, admit, in_context)
                parts += search.pairs(facts.edge.operator)
        return joined(parts)

    @staticmethod
    def _by_context(runs: RunView, facts: _EdgeFacts, rows: Ids) -> list[tuple[Ids, bool]]:
        """The runs that have no window and partition yet (False), and those that have."""
        if not facts.begins:
            return [(rows, True)]
        fresh = runs.column(rows, FIRST) == NONE
        return [(rows[fresh], False), (rows[~fresh], True)]

    def _settle(self, runs: RunView, taken: dict[int, Pairs], tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
        """Skip-till-next among rivals: only what no earlier taking of any of them precedes; then closes the edges."""
        settled = {}
        for number, pairs in taken.items():
            facts = self._facts[number]
            if facts.edge.operator is not Contiguity.NEXT:
                settled[number] = pairs
                continue
            rivals = [
                (tables[self._facts[n].edge.target], taken[n]) for n in (number, *facts.edge.rivals) if n in taken
            ]
            settled[number] = pairs.take(unpreceded(pairs, tables[facts.edge.target], rivals))
        for number, pairs in taken.items():
            if self._facts[number].edge.operator is Contiguity.NEXT:
                runs.close(pairs.rows, self._facts[number].bit)
        return settled

    def valid(self, runs: RunView, number: int, table: StepTable, candidates: Pairs, in_context: bool) -> Mask:
        """Order, window and contiguity of candidate pairs."""
        rows, steps = candidates.rows, candidates.steps
        if not in_context:
            inside: Mask = table.windows[steps] != NONE
            return inside
        last = (runs.column(rows, column) for column in (HIGH_TIME, HIGH_STREAM, HIGH))
        valid = follows(table, steps, *last) & self.in_window(runs, table, candidates)
        if self._facts[number].edge.operator is Contiguity.STRICT:
            valid &= self._adjacent(runs, rows, table, steps)
        return valid

    def in_window(self, runs: RunView, table: StepTable, candidates: Pairs) -> Mask:
        """Which candidates are in the window, and the partition, of their run."""
        rows, steps, window = candidates.rows, candidates.steps, self._program.window
        if window.sliding and window.in_events:
            inside: Mask = table.rank_high[steps] - runs.column(rows, FIRST_RANK) < window.size
        elif window.sliding:
            inside = table.times[steps] - runs.column(rows, FIRST_TIME) <= window.size
        else:
            inside = table.windows[steps] == runs.column(rows, WINDOW)
        if self._program.partition:
            inside &= table.partitions[steps] == runs.column(rows, PARTITION)
        return inside

    def reach(self, runs: RunView, rows: Ids, table: StepTable) -> Ids | None:
        """For each run a position that its window ends before; None where `index` tells windows apart."""
        window = self._program.window
        if self._program.partition and (window.in_events or not window.sliding):
            return None
        if window.sliding and window.in_events:
            return runs.column(rows, FIRST) + window.size
        if window.sliding:
            beyond = np.searchsorted(table.times, runs.column(rows, FIRST_TIME) + window.size, "right")
        else:
            beyond = np.searchsorted(table.windows, runs.column(rows, WINDOW), "right")
        return np.append(table.low, np.iinfo(np.int64).max)[beyond]

    def successors(
        self, runs: RunView, number: int, rows: Ids, table: StepTable, index: StepIndex
    ) -> Successors | None:
        """What follows each of the runs; None where other queries would not ask the same."""
        begun, bindings = runs.begun, self.bindings
        if begun is None or len(begun) != len(rows) or bindings.loops(number) or bindings.given:
            return None
        if self._program.partition:
            return None
        return successors(begun, table, index, bindings.key(number), bindings.shared(number))

    def _adjacent(self, runs: RunView, rows: Ids, table: StepTable, steps: Ids) -> Mask:
        if self.substream is not None:
            left = np.stack([runs.column(rows, column) for column in (HIGH, HIGH_TIME, HIGH_STREAM)])
            right = np.stack((table.low[steps], table.times[steps], table.streams[steps]))
            return self.substream.contiguous(left, right)
        slot, next_slot = runs.column(rows, SLOT), table.slots[steps]
        several = runs.column(rows, HIGH_STREAM) == SEVERAL
        opens = (table.seq_low[steps] == 0) | (table.streams[steps] == SEVERAL)
        over = (next_slot == slot + 1) & opens & (several | (runs.column(rows, TAIL) != 0))
        same_stream = runs.column(rows, HIGH_STREAM) == table.streams[steps]
        within = (next_slot == slot) & same_stream & ~several & (table.seq_low[steps] == runs.column(rows, SEQ) + 1)
        result: Mask = over | within
        return result


class _Search:
    """Candidates of some runs on one edge."""

    def __init__(
        self,
        extender: Extender,
        runs: RunView,
        number: int,
        rows: Ids,
        table: StepTable,
        admit: Admit,
        in_context: bool,
    ) -> None:
        self._extender = extender
        self._runs = runs
        self._number = number
        self._rows = rows
        self._table = table
        self._admit = admit
        self._in_context = in_context

    def pairs(self, operator: Contiguity) -> list[Pairs]:
        """The admitted pairs; under skip-till-next only those in each run's first slot that has any."""
        index = self._extender.index(self._number, self._table, self._in_context)
        if operator is Contiguity.NEXT:
            return self._gallop(index)
        if operator is Contiguity.STRICT and self._in_context and self._extender.substream is None:
            groups, found = index.groups(self._hashes())
            slot = self._runs.column(self._rows, SLOT)
            begin = index.from_slot(groups, slot)
            end = np.where(found, index.from_slot(groups, slot + 2), begin)
        else:
            groups, begin, end = self._ranges(index)
            end = self._reached(index, self._rows, groups, begin, end)
        return self._all(index, begin, end, np.arange(len(self._rows), dtype=np.int64))

    def _ranges(self, index: StepIndex) -> tuple[Ids, Ids, Ids]:
        """Of each run the group of its key in the index, and the range of what comes after it."""
        return index.ranges(self._hashes(), self._runs.column(self._rows, HIGH))

    def _hashes(self) -> Ids:
        return self._extender.hashes(self._runs, self._number, self._rows, self._in_context)

    def _reached(self, index: StepIndex, rows: Ids, groups: Ids, begin: Ids, end: Ids) -> Ids:
        """Where the ranges of some runs end in their windows."""
        reach = self._extender.reach(self._runs, rows, self._table) if self._in_context else None
        return end if reach is None else clipped(index.from_low(groups, reach), begin, end)

    def _all(self, index: StepIndex, begin: Ids, end: Ids, which: Ids) -> list[Pairs]:
        parts = []
        counts = end - begin
        for block in blocks(counts):
            local, within = expand(counts[block])
            local += block.start
            steps = index.order[begin[local] + within]
            if len(steps):
                parts.append(self._admitted(Pairs(self._rows[which[local]], steps)))
        return parts

    def _gallop(self, index: StepIndex) -> list[Pairs]:
        known = self._extender.successors(self._runs, self._number, self._rows, self._table, index)
        if known is None:
            parts: list[Pairs] = []
            groups, at, limit = self._ranges(index)
            open_runs, slice_ = np.flatnonzero(at < limit), 1
        else:
            pairs = Pairs(known.rows, known.steps)
            pairs = self._decided(pairs.take(self._extender.in_window(self._runs, self._table, pairs)))
            groups, at, limit = known.groups, known.begin, known.end
            left = at < limit
            left[pairs.rows] = False
            parts, open_runs, slice_ = [pairs], np.flatnonzero(left), _GALLOP_FACTOR
        at, limit = at[open_runs], limit[open_runs]
        while len(open_runs):
            if slice_ == _GALLOP_FACTOR:  # windows are looked up for those that have not found anything at once
                limit = self._reached(index, self._rows[open_runs], groups[open_runs], at, limit)
            until = np.minimum(limit, index.slot_ends[np.minimum(at + slice_, limit) - 1])
            pairs = joined(self._all(index, at, until, open_runs))
            parts.append(pairs if slice_ == 1 else first_slots(pairs, self._table))
            rest = until < limit
            if rest.any():
                rest &= ~np.isin(self._rows[open_runs], pairs.rows)
            open_runs, at, limit = open_runs[rest], until[rest], limit[rest]
            slice_ *= _GALLOP_FACTOR
        return parts

    def _admitted(self, pairs: Pairs) -> Pairs:
        keep = self._extender.bindings.compatible(self._runs, self._number, self._table, pairs)
        keep &= self._extender.valid(self._runs, self._number, self._table, pairs, self._in_context)
        return self._decided(pairs.take(keep))

    def _decided(self, pairs: Pairs) -> Pairs:
        """Those for which the conditions hold."""
        return pairs.take(self._admit(self._number, self._table, pairs)) if len(pairs) else pairs
