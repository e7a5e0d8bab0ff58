"""The run-based evaluator: every construct of the language, by NFA^scep runs (G Sections 6 and Appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automata.absence import Absences
from automata.core import Core, Ended
from automata.expression import Take
from automata.matches import Reader
from automata.nfa import Automaton, build_automaton
from automata.program import (
    UNBOUND,
    Events,
    Host,
    Ids,
    Match,
    Program,
    Selector,
    Skip,
    SymbolSolutions,
    Window,
)
from automata.reporting import Reporter
from automata.runs import FIRST, FIRST_TIME, NONE
from automata.steps import Part, StepTable
from automata.timeline import Places, Timeline, window_numbers

_FOREVER = np.iinfo(np.int64).max
_ENDLESS = Window(size=1 << 61, in_events=False, sliding=True)


class RunEvaluator:
    """Runs of one program; see `automata.face.Evaluator`."""

    def __init__(self, program: Program, host: Host) -> None:
        self._program = program
        self._host = host
        self._automaton = build_automaton(program.expression)
        self._core = Core(program, self._automaton, host, np.zeros(program.variables, dtype=np.int64))
        self._timeline = Timeline(total=not self.needs_whole_slots)
        self._absences = Absences(
            program,
            self._automaton,
            self._core.layout,
            self._core.tracks,
            self._core.lookback,
            host,
            self._search_group,
        )
        self._groups: dict[int, Automaton] = {}
        self._reader = Reader(self._core, program, host)
        self._reporter = Reporter(program, self._automaton, self._core, self._absences, self._reader, host)
        self._partitions: dict[tuple[int, ...], int] = {}
        self._partitions_seen = 0
        self._serial = 0
        self._time = -_FOREVER
        self._next_expiry = -_FOREVER
        self._used = frozenset(s for p in self._automaton.positions for s in p.symbols) | self._absences.symbols

    @property
    def automaton(self) -> Automaton:
        """The automaton, to be explained."""
        return self._automaton

    @property
    def needs_whole_slots(self) -> bool:
        """See `automata.face.Evaluator`."""
        conjunction = any(len(symbols) > 1 for symbols in _conjunctions(self._program.expression))
        return self._program.streams > 1 or conjunction

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> list[Match]:
        """See `automata.face.Evaluator`."""
        if not len(events):
            return []
        positions = self._timeline.advance(events)
        self._time = int(events.times[-1])
        tables = self._symbol_tables(events, positions, solutions)
        self._absences.buffer(tables)
        if not self._program.window.in_events:
            self._expire(int(events.times[0]))
        ended = self._core.grow({symbol: _positive(table) for symbol, table in tables.items()})
        if self._program.window.in_events:
            self._expire(self._time)
        self._core.prune(self._timeline)
        return self._report(ended, self._time)

    def on_watermark(self, time: int) -> list[Match]:
        """See `automata.face.Evaluator`."""
        self._time = max(self._time, time)
        self._expire(time)
        return self._report([], time + 1)

    def finish(self) -> list[Match]:
        """See `automata.face.Evaluator`."""
        return self._reporter.finish()

    def live_ids(self) -> list[Ids]:
        """See `automata.face.Evaluator`."""
        runs = self._core.runs
        ids = [np.unique(runs.table[: runs.size, self._core.layout.registers])]
        ids += [np.unique(table.values) for table in self._absences.buffers.values()]
        ids.append(np.array([i for key in self._partitions for i in key], dtype=np.int64))
        return [*ids, *self._reporter.live_ids()]

    def oldest_position(self) -> int:
        """See `automata.face.Evaluator`."""
        oldest = self._core.oldest(FIRST, self._timeline.position)
        buffers = [int(table.low[0]) for table in self._absences.buffers.values() if len(table)]
        return min([oldest, self._reporter.oldest_position(), *buffers])

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.face.Evaluator`."""
        return min(watermark, self._reporter.oldest_time())

    def _report(self, ended: list[Ended], time: int) -> list[Match]:
        matches = self._reporter.report(ended, time, self._timeline)
        moved = self._core.compact(self._reporter.held_rows())
        if moved is not None:
            self._reporter.renumber(moved)
            self._forget()
        return matches

    # --- tables -----------------------------------------------------------------------------------

    def _symbol_tables(
        self, events: Events, positions: Ids, solutions: Mapping[int, SymbolSolutions]
    ) -> dict[int, StepTable]:
        used = {s: table for s, table in solutions.items() if s in self._used}
        if not self._program.partition:
            everything = np.arange(len(events), dtype=np.int64)
            places = self._timeline.places(events, everything, np.zeros_like(everything))
            return {s: self._table(s, events, positions, table, places, table.events) for s, table in used.items()}
        keys = {symbol: self._partition_of(table) for symbol, table in used.items()}
        places, found = self._partition_places(events, used, keys)
        self._remember_ranks(positions, places)
        return {s: self._table(s, events, positions, table, places, found[s]) for s, table in used.items()}

    def _partition_of(self, table: SymbolSolutions) -> Ids:
        """The partition of each solution, NONE where it leaves a variable of PARTITION BY unbound."""
        none = np.zeros(len(table.events), dtype=np.int64)
        columns = np.column_stack([table.values.get(variable, none) for variable in self._program.partition])
        keys, inverse = np.unique(columns, axis=0, return_inverse=True)
        numbers = [NONE if UNBOUND in key else self._partition_number(tuple(key)) for key in keys.tolist()]
        return np.array(numbers, dtype=np.int64)[inverse.ravel()] if len(numbers) else none

    def _partition_number(self, key: tuple[int, ...]) -> int:
        if key not in self._partitions:
            self._partitions_seen += 1
            self._partitions[key] = self._partitions_seen
        return self._partitions[key]

    def _partition_places(
        self, events: Events, used: Mapping[int, SymbolSolutions], keys: Mapping[int, Ids]
    ) -> tuple[Places, dict[int, Ids]]:
        """The places of all solutions' partitions, and for each solution which of them is its own (NONE: none)."""
        pairs = [np.column_stack((used[s].events, keys[s])) for s in used]
        stacked = np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)
        distinct = np.unique(stacked[stacked[:, 1] != NONE], axis=0)
        places = self._timeline.places(events, distinct[:, 0], distinct[:, 1])
        order = np.lexsort((places.partitions, places.events))
        code = places.events[order] * (self._partitions_seen + 1) + places.partitions[order]
        found = {}
        for symbol, pair in zip(used, pairs, strict=True):
            wanted = pair[:, 0] * (self._partitions_seen + 1) + pair[:, 1]
            at = np.searchsorted(code, wanted)
            known = pair[:, 1] != NONE
            found[symbol] = np.where(known, order[np.minimum(at, len(order) - 1)] if len(order) else NONE, NONE)
        return places, found

    def _remember_ranks(self, positions: Ids, places: Places) -> None:
        """Which events were in which substream, where a negation must count them."""
        if self._program.window.in_events and self._absences.symbols:
            for event, partition in zip(places.events.tolist(), places.partitions.tolist(), strict=True):
                self._absences.ranks.setdefault(partition, []).append(int(positions[event]))

    def _table(
        self, symbol: int, events: Events, positions: Ids, table: SymbolSolutions, places: Places, which: Ids
    ) -> StepTable:
        count = len(table.events)
        serials = np.arange(self._serial, self._serial + count, dtype=np.int64)
        self._serial += count
        values = np.zeros((count, self._program.variables), dtype=np.int64)
        for variable, column in table.values.items():
            values[:, variable] = column
        inside = which != NONE
        rank, slot, seq, partition = (
            np.where(inside, column[which] if len(column) else NONE, NONE)
            for column in (places.ranks, places.slots, places.seqs, places.partitions)
        )
        tails = np.where(inside, places.tails[which], False) if len(places.tails) else np.zeros(count, dtype=np.bool_)
        times, low = events.times[table.events], positions[table.events]
        windows = np.where(inside, window_numbers(self._program.window, times, rank), NONE)
        return StepTable(
            low, low, times, events.streams[table.events], slot, seq, seq, tails, rank, rank, windows, partition,
            values, (Part(symbol, low, serials),),
        )  # fmt: skip

    # --- negated groups ---------------------------------------------------------------------------

    def _search_group(
        self, absence: int, registers: NDArray[np.int64], tables: dict[int, StepTable], partition: int
    ) -> bool:
        """Whether a negated group has a match among these solutions, starting from these registers."""
        if absence not in self._groups:
            self._groups[absence] = build_automaton(self._automaton.absences[absence].expression)
        program = replace(
            self._program,
            expression=self._automaton.absences[absence].expression,
            window=_ENDLESS,
            partition=(),
            selector=Selector.ALL,
            skip=Skip.NO_SKIP,
            outputs=(),
        )
        core = Core(program, self._groups[absence], self._host, registers)
        ended = core.grow({symbol: _in_one_partition(table, partition) for symbol, table in tables.items()})
        return bool(ended)

    # --- forgetting -------------------------------------------------------------------------------

    def _expire(self, time: int) -> None:
        """Drops runs whose window has passed; under a sliding window not at every batch."""
        window = self._program.window
        if time < self._next_expiry:
            return
        ranks = self._timeline if window.in_events else None
        if window.in_events:
            self._core.expire(-_FOREVER, -_FOREVER, ranks)
        elif window.sliding:
            self._core.expire(time - window.size, -_FOREVER, None)
            self._next_expiry = time + window.size // 32
        else:
            here = window_numbers(window, np.array([time]), np.array([0]))
            self._core.expire(-_FOREVER, int(here[0]), None)
            self._next_expiry = window.start + ((time - window.start) // window.size + 1) * window.size
        self._forget_absences(time)

    def _forget_absences(self, time: int) -> None:
        window = self._program.window
        oldest = min(self._core.oldest(FIRST_TIME, time), self._reporter.oldest_time())
        if window.in_events:
            if not self._program.partition:
                first = self._core.oldest(FIRST, self._timeline.position)
                self._absences.forget(_FOREVER, min(first, self._reporter.oldest_position()) - window.size)
        else:
            self._absences.forget(min(oldest, time) - window.size, _FOREVER)

    def _forget(self) -> None:
        """After a compaction: partitions that no run is in any more."""
        if not self._program.partition or self._program.window.in_events:
            return
        kept = self._core.partitions() | self._reporter.partitions()
        kept |= {p for table in self._absences.buffers.values() for p in np.unique(table.partitions).tolist()}
        self._timeline.forget(kept)
        self._partitions = {key: number for key, number in self._partitions.items() if number in kept}


def _positive(table: StepTable) -> StepTable:
    """What a positive step may take: nothing outside every partition and window."""
    keep = (table.windows != NONE) & (table.partitions != NONE)
    return table if keep.all() else table.take(keep)


def _in_one_partition(table: StepTable, partition: int) -> StepTable:
    """The table as a negated group sees it from a match of that partition."""
    inside = (table.partitions == partition) | (table.partitions == NONE)
    table = table.take(inside)
    zeros = np.zeros(len(table), dtype=np.int64)
    return replace(table, partitions=zeros, windows=zeros, cache={})


def _conjunctions(expression: object) -> Iterable[tuple[int, ...]]:
    """The symbols of every Take in an expression."""
    if isinstance(expression, Take):
        yield expression.symbols
    for name in ("items", "branches", "members"):
        for part in getattr(expression, name, ()):
            yield from _conjunctions(part)
    if (inner := getattr(expression, "inner", None)) is not None:
        yield from _conjunctions(inner)
