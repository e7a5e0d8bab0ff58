"""From a slice of events and the solutions of its symbols to symbol tables: places, partitions, windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrays.columns import numbers_within
from automata import layouts
from automata.plan.plan import Plan
from automata.slices.events import Events, SymbolSolutions
from automata.slices.shared_work import SharedWork
from automata.slices.step_table import Part, StepTable
from automata.slices.substreams import Substreams
from automata.slices.timeline import Carry, Places, Timeline, window_numbers
from automata.state import Values
from automata.values import NONE, UNBOUND, Ids, Mask


class SymbolTables:
    """Numbers whatever comes in, slice after slice; `substreams` are told of the events of each partition.

    used    the symbols that have tables
    """

    def __init__(self, plan: Plan, substreams: Substreams) -> None:
        self._program = plan.program
        self.used = plan.used | plan.negated | ({plan.program.using} - {NONE})
        self._substreams = substreams
        self.timeline = Timeline(total=not plan.whole_slots)
        self._partitions: dict[tuple[int, ...], int] = {}
        self._partitions_seen = 0

    def tables(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> dict[int, StepTable]:
        """symbol → its solutions in the next slice, of the symbols that are used."""
        positions = self.timeline.advance(events)
        used = {s: table for s, table in solutions.items() if s in self.used}
        if not self._program.partition:
            places = self.timeline.all_places(events)
            return {s: self._table(s, events, positions, table, places, table.events) for s, table in used.items()}
        keys = {symbol: self._partition_of(table) for symbol, table in used.items()}
        places, found = self._partition_places(events, used, keys)
        self._substreams.add(events, positions, places)
        return {s: self._table(s, events, positions, table, places, found[s]) for s, table in used.items()}

    def partition_ids(self) -> Ids:
        """The ids that partitions are known by."""
        return np.array([i for key in self._partitions for i in key], dtype=np.int64)

    def snapshot(self) -> dict[str, Any]:
        """The places of the streams, the key and the number of each partition, and how many there have been."""
        carries = [[partition, carry.rank, carry.slot] for partition, carry in self.timeline.carries.items()]
        shape = len(self._partitions), len(self._program.partition)
        return layouts.SYMBOL_TABLES.written(
            position=self.timeline.position,
            carries=np.array(carries, dtype=np.int64).reshape(-1, 3),
            keys=Values(self.partition_ids().reshape(shape)),
            numbers=np.array(list(self._partitions.values()), dtype=np.int64),
            seen=self._partitions_seen,
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        state = layouts.SYMBOL_TABLES.read(state)
        self.timeline.position = state["position"]
        self.timeline.carries = {partition: Carry(rank, slot) for partition, rank, slot in state["carries"].tolist()}
        keys, numbers = state["keys"].ids.tolist(), state["numbers"].tolist()
        self._partitions = {tuple(key): number for key, number in zip(keys, numbers, strict=True)}
        self._partitions_seen = state["seen"]

    def forget(self, kept: set[int]) -> None:
        """Drop every other partition; only where ranks need not go on."""
        self.timeline.forget(kept)
        self._partitions = {key: number for key, number in self._partitions.items() if number in kept}

    def _partition_of(self, table: SymbolSolutions) -> Ids:
        """The partition of each solution, NONE where it leaves a variable of PARTITION BY unbound."""
        none = np.zeros(len(table.events), dtype=np.int64)
        columns = np.column_stack([table.values.get(variable, none) for variable in self._program.partition])
        keys, inverse = np.unique(columns, axis=0, return_inverse=True)
        numbers = [NONE if UNBOUND in key else self.partition_number(tuple(key)) for key in keys.tolist()]
        return np.array(numbers, dtype=np.int64)[inverse.ravel()] if len(numbers) else none

    def partition_number(self, key: tuple[int, ...]) -> int:
        """The number of the partition with these values, given out now if it is new."""
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
        places = self.timeline.places(events, distinct[:, 0], distinct[:, 1])
        order = np.lexsort((places.partitions, places.events))
        code = places.events[order] * (self._partitions_seen + 1) + places.partitions[order]
        found = {}
        for symbol, pair in zip(used, pairs, strict=True):
            wanted = pair[:, 0] * (self._partitions_seen + 1) + pair[:, 1]
            at = np.searchsorted(code, wanted)
            known = pair[:, 1] != NONE
            found[symbol] = np.where(known, order[np.minimum(at, len(order) - 1)] if len(order) else NONE, NONE)
        return places, found

    def _table(
        self, symbol: int, events: Events, positions: Ids, table: SymbolSolutions, places: Places, which: Ids
    ) -> StepTable:
        numbers = events.shared.of(numbers_within, table.events)
        partitioned = bool(self._program.partition)
        shared = SharedWork() if partitioned else events.shared
        placed = shared.of(_placed, events, positions, table.events, places, which, partitioned)
        windows = window_numbers(self._program.window, placed.times, placed.ranks)
        if partitioned:
            windows = np.where(which != NONE, windows, NONE)
        low, ranks, seqs = placed.low, placed.ranks, placed.seqs
        return StepTable(
            low, low, placed.times, placed.streams, placed.slots, seqs, seqs, placed.tails, ranks, ranks, windows,
            placed.partitions, table.values, (Part(symbol, low, numbers),), shared,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Placed:
    """Solutions' positions, times and streams, and their places (slices.timeline); NONE: no place."""

    low: Ids
    times: Ids
    streams: Ids
    slots: Ids
    seqs: Ids
    tails: Mask
    ranks: Ids
    partitions: Ids


def _placed(events: Events, positions: Ids, taken: Ids, places: Places, which: Ids, partitioned: bool) -> _Placed:
    """The solutions of these events of the slice, at these places; each has one but where there are partitions."""
    columns = places.slots, places.seqs, places.ranks, places.partitions
    if partitioned:
        tails = _at(places.tails.astype(np.int64), which) == 1
        slots, seqs, ranks, partitions = (_at(column, which) for column in columns)
    else:
        tails = places.tails[which]
        slots, seqs, ranks, partitions = (column[which] for column in columns)
    return _Placed(positions[taken], events.times[taken], events.streams[taken], slots, seqs, tails, ranks, partitions)


def _at(column: Ids, which: Ids) -> Ids:
    """The column at these places; NONE for what has none."""
    return np.where(which != NONE, column[which] if len(column) else NONE, NONE)


def positive(table: StepTable) -> StepTable:
    """The solutions that a positive step may take: nothing outside every partition and window."""
    keep = (table.windows != NONE) & (table.partitions != NONE)
    return table if keep.all() else table.take(keep)
