"""Extending runs: which rows of a step table let which runs take an edge (LANGUAGE 3.2, "extends").

Whole columns of runs meet whole tables: a range of candidates by join key and order, then masks for
order, window, contiguity, values and conditions. Skip-till-next looks at candidates slot by slot,
in growing stretches, until a run has found its first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.analysis import Analysis
from automata.expression import Contiguity
from automata.nfa import Automaton, Crossing, Edge
from automata.program import UNBOUND, Ids, Mask, Program
from automata.runs.pairs import Pairs, first_slots, joined, unpreceded
from automata.runs.step_index import StepIndex, hash_columns, step_index
from automata.runs.steps import SEVERAL, StepTable, blocks, expand
from automata.runs.substreams import Substream
from automata.runs.table import (
    CLOSED,
    FIRST,
    FIRST_RANK,
    FIRST_TIME,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    NONE,
    PARTITION,
    SEQ,
    SLOT,
    TAIL,
    WINDOW,
    Layout,
)
from automata.runs.unwritten import Standing

_GALLOP_FACTOR = 4
"""Skip-till-next looks at the first candidate, then at so many more, and so on; always at whole slots."""


Admit = Callable[[int, StepTable, Pairs], Mask]
"""Whether the decidable conditions hold: (edge, table, candidate pairs) → mask."""


@dataclass(frozen=True, slots=True)
class _EdgeFacts:
    """What is known of an edge before any run takes it.

    key         variables that both the runs and the step's solutions always bind
    scope       those that the step may bind
    shared      those of them that the runs may have bound
    loops       repetitions of which it begins another iteration
    begins      the runs at its source may not have had an event yet
    """

    edge: Edge
    key: tuple[int, ...]
    scope: tuple[int, ...]
    shared: tuple[int, ...]
    loops: tuple[int, ...]
    bit: int
    blockers: int
    begins: bool


class Extender:
    """Takes the edges of one automaton.

    substream   see `automata.runs.core.Core`
    given       variables that are bound before the first step
    """

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        analysis: Analysis,
        layout: Layout,
        substream: Substream | None = None,
        given: frozenset[int] = frozenset(),
    ) -> None:
        self._program = program
        self.substream = substream
        self._automaton = automaton
        self._analysis = analysis
        self._layout = layout
        self._given = given
        self._facts = [self._edge_facts(number) for number in range(len(automaton.edges))]

    def extend(
        self, runs: Standing, position: int, rows: Ids, tables: Mapping[int, StepTable], admit: Admit
    ) -> dict[int, Pairs]:
        """edge → the runs among `rows`, all at `position`, that take it. Marks skip-till-next edges as taken."""
        taken: dict[int, Pairs] = {}
        for number in self._automaton.outgoing[position]:
            table = tables.get(self._automaton.edges[number].target)
            if table is not None and len(table):
                taken[number] = self._take(runs, number, rows, table, admit)
        return self._settle(runs, taken, tables)

    def able(self, runs: Standing, number: int, rows: Ids) -> Ids:
        """Those rows whose repetitions allow the edge."""
        for action in self._facts[number].edge.actions:
            repetition = self._automaton.repetitions[action.repetition]
            counts = runs.column(rows, self._layout.count(action.repetition))
            if action.crossing is Crossing.LEAVE:
                rows = rows[counts >= repetition.at_least]
            elif action.crossing is Crossing.LOOP and repetition.at_most is not None:
                rows = rows[counts < repetition.at_most]
        return rows

    def base(self, runs: Standing, number: int, rows: Ids) -> NDArray[np.int64]:
        """The registers with which rows come to an edge's step: a new iteration forgets what the last one bound."""
        registers = runs.registers(rows)
        for repetition in self._facts[number].loops:
            variables = sorted(self._analysis.locals[repetition])
            entered = runs.written.registers(runs.column(rows, self._layout.entry(repetition)))
            registers[:, variables] = entered[:, variables]
        return registers

    def registers(self, runs: Standing, number: int, table: StepTable, pairs: Pairs) -> NDArray[np.int64]:
        """The registers with the step's values in."""
        registers = self.base(runs, number, pairs.rows)
        for variable in self._facts[number].scope:
            registers[:, variable] = self._merged(table, pairs, variable, registers[:, variable])
        return registers

    def register(self, runs: Standing, number: int, table: StepTable, pairs: Pairs, variable: int) -> Ids:
        """One column of `registers`."""
        facts = self._facts[number]
        if variable not in facts.scope:
            return self._before(runs, number, pairs.rows, variable)
        if variable not in facts.shared:
            return table.value(variable)[pairs.steps]
        return self._merged(table, pairs, variable, self._before(runs, number, pairs.rows, variable))

    def compatible(self, runs: Standing, number: int, table: StepTable, pairs: Pairs) -> Mask:
        """Where the step binds nothing to another value than the run has."""
        compatible = np.ones(len(pairs), dtype=np.bool_)
        for variable in self._facts[number].shared:
            new, old = table.value(variable)[pairs.steps], self._before(runs, number, pairs.rows, variable)
            same = new == old
            compatible &= same if same.all() else same | (new == UNBOUND) | (old == UNBOUND)
        return compatible

    def _before(self, runs: Standing, number: int, rows: Ids, variable: int) -> Ids:
        """One column of `base`."""
        for repetition in reversed(self._facts[number].loops):
            if variable in self._analysis.locals[repetition]:
                return runs.written.register(runs.column(rows, self._layout.entry(repetition)), variable)
        return runs.register(rows, variable)

    @staticmethod
    def _merged(table: StepTable, pairs: Pairs, variable: int, old: Ids) -> Ids:
        new = table.value(variable)[pairs.steps]
        return np.where(new == UNBOUND, old, new)

    def key_columns(self, number: int) -> tuple[int, ...]:
        """The variables by which the edge's runs and events are joined."""
        return self._facts[number].key

    def hashes(self, runs: Standing, number: int, rows: Ids, in_context: bool) -> Ids:
        """The join key of each row, as `step_index` hashes it."""
        context = [runs.column(rows, PARTITION), runs.column(rows, WINDOW)] if in_context else []
        return hash_columns(
            [*context, *(self._before(runs, number, rows, v) for v in self._facts[number].key)], len(rows)
        )

    def _edge_facts(self, number: int) -> _EdgeFacts:
        edge = self._automaton.edges[number]
        loops = tuple(a.repetition for a in edge.actions if a.crossing is Crossing.LOOP)
        bound = self._analysis.certain[edge.source]
        for repetition in loops:
            bound -= self._analysis.locals[repetition] - self._analysis.entered[repetition]
        symbols = self._automaton.positions[edge.target].symbols
        certain = frozenset().union(*(self._program.symbols[symbol].certain for symbol in symbols))
        bits = {other: 1 << place for place, other in enumerate(self._automaton.outgoing[edge.source])}
        blockers = bits[number] | sum(bits[rival] for rival in edge.rivals)
        scope = self._analysis.scope[edge.target]
        shared = scope & (self._analysis.possible[edge.source] | self._given)
        return _EdgeFacts(
            edge,
            tuple(sorted(bound & certain)),
            tuple(sorted(scope)),
            tuple(sorted(shared)),
            loops,
            bits[number],
            blockers,
            not self._automaton.positions[edge.source].symbols,
        )

    def _take(self, runs: Standing, number: int, rows: Ids, table: StepTable, admit: Admit) -> Pairs:
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
    def _by_context(runs: Standing, facts: _EdgeFacts, rows: Ids) -> list[tuple[Ids, bool]]:
        """The runs that have no window and partition yet (False), and those that have."""
        if not facts.begins:
            return [(rows, True)]
        fresh = runs.column(rows, FIRST) == NONE
        return [(rows[fresh], False), (rows[~fresh], True)]

    def _settle(self, runs: Standing, taken: dict[int, Pairs], tables: Mapping[int, StepTable]) -> dict[int, Pairs]:
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

    def valid(self, runs: Standing, number: int, table: StepTable, candidates: Pairs, in_context: bool) -> Mask:
        """Order, window and contiguity of candidate pairs."""
        rows, steps = candidates.rows, candidates.steps
        window = self._program.window
        if not in_context:
            inside: Mask = table.windows[steps] != NONE
            return inside
        time, high_time = table.times[steps], runs.column(rows, HIGH_TIME)
        stream = runs.column(rows, HIGH_STREAM)
        same_stream = (stream == table.streams[steps]) & (stream >= 0)
        valid: Mask = (time > high_time) | (
            (time == high_time) & same_stream & (table.low[steps] > runs.column(rows, HIGH))
        )
        valid &= table.partitions[steps] == runs.column(rows, PARTITION)
        valid &= table.windows[steps] == runs.column(rows, WINDOW)
        if window.sliding and window.in_events:
            valid &= table.rank_high[steps] - runs.column(rows, FIRST_RANK) < window.size
        elif window.sliding:
            valid &= time - runs.column(rows, FIRST_TIME) <= window.size
        if self._facts[number].edge.operator is Contiguity.STRICT:
            valid &= self._adjacent(runs, rows, table, steps, same_stream)
        return valid

    def reach(self, runs: Standing, rows: Ids, table: StepTable) -> Ids | None:
        """For each run a position that its window ends before; None where the key tells windows apart."""
        window = self._program.window
        if not window.sliding or (window.in_events and self._program.partition):
            return None
        if window.in_events:
            return runs.column(rows, FIRST) + window.size
        beyond = np.searchsorted(table.times, runs.column(rows, FIRST_TIME) + window.size, "right")
        return np.append(table.low, np.iinfo(np.int64).max)[beyond]

    def _adjacent(self, runs: Standing, rows: Ids, table: StepTable, steps: Ids, same_stream: Mask) -> Mask:
        if self.substream is not None:
            left = np.stack([runs.column(rows, column) for column in (HIGH, HIGH_TIME, HIGH_STREAM)])
            right = np.stack((table.low[steps], table.times[steps], table.streams[steps]))
            return self.substream.contiguous(left, right)
        slot, next_slot = runs.column(rows, SLOT), table.slots[steps]
        several = runs.column(rows, HIGH_STREAM) == SEVERAL
        opens = (table.seq_low[steps] == 0) | (table.streams[steps] == SEVERAL)
        over = (next_slot == slot + 1) & opens & (several | (runs.column(rows, TAIL) != 0))
        within = (next_slot == slot) & same_stream & (table.seq_low[steps] == runs.column(rows, SEQ) + 1)
        result: Mask = over | within
        return result


class _Search:
    """Candidates of some runs on one edge."""

    def __init__(
        self,
        extender: Extender,
        runs: Standing,
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
        index = step_index(self._table, self._extender.key_columns(self._number), self._in_context)
        hashes = self._extender.hashes(self._runs, self._number, self._rows, self._in_context)
        groups, begin, end = index.ranges(hashes, self._runs.column(self._rows, HIGH))
        reach = self._extender.reach(self._runs, self._rows, self._table) if self._in_context else None
        if reach is not None:
            end = np.clip(index.from_low(groups, reach), begin, end)
        if operator is Contiguity.STRICT and self._in_context and self._extender.substream is None:
            slot = self._runs.column(self._rows, SLOT)
            begin = np.minimum(np.maximum(begin, index.from_slot(groups, slot)), end)
            end = np.clip(index.from_slot(groups, slot + 2), begin, end)
        if operator is Contiguity.NEXT:
            return self._gallop(index, begin, end)
        return self._all(index, begin, end, np.arange(len(self._rows), dtype=np.int64))

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

    def _gallop(self, index: StepIndex, begin: Ids, end: Ids) -> list[Pairs]:
        parts: list[Pairs] = []
        open_runs = np.flatnonzero(begin < end)
        stretch = 1
        while len(open_runs):
            at, limit = begin[open_runs], end[open_runs]
            until = np.minimum(limit, index.slot_ends[np.minimum(at + stretch, limit) - 1])
            pairs = joined(self._all(index, at, until, open_runs))
            parts.append(pairs if stretch == 1 else first_slots(pairs, self._table))
            begin[open_runs] = until
            rest = until < limit
            if rest.any():
                rest &= ~np.isin(self._rows[open_runs], pairs.rows)
            open_runs = open_runs[rest]
            stretch *= _GALLOP_FACTOR
        return parts

    def _admitted(self, pairs: Pairs) -> Pairs:
        keep = self._extender.compatible(self._runs, self._number, self._table, pairs)
        keep &= self._extender.valid(self._runs, self._number, self._table, pairs, self._in_context)
        pairs = pairs.take(keep)
        return pairs.take(self._admit(self._number, self._table, pairs)) if len(pairs) else pairs
