"""Products: the events at positions whose runs are put together only for an event that goes on from there.

An event is kept if a run may come to it, and found by the keys of the edges from it. So a slice costs what it finds:
events that end nothing are one row of a buffer, whatever the number of the runs that come to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from arrays.columns import hash_columns
from arrays.times import earlier
from automata.chains.store import ChainStore
from automata.chains.table import ROOT
from automata.matches.match_stage import PartialMatches
from automata.plan.automaton import START
from automata.plan.plan import PlannedEdge
from automata.plan.products import product_positions
from automata.runs.columns.expiry import Bounds
from automata.runs.columns.waiting import lasts_of
from automata.slices.step_buffer import LOW, PARTITION, RANK, TIME, WINDOW, Buffer
from automata.slices.step_index import step_index
from automata.slices.step_table import StepTable
from automata.slices.timeline import deadline
from automata.values import UNBOUND, Ids, PartialMatch

_GROWTH = 1.125
"""Buffers have room for an eighth more: most of their memory holds events of the window."""
_PERIOD = 32
"""Slices after which it is decided again whether events are kept unasked."""
_LOOKED_SHARE = 16
"""Windows of events are looked at once a sixteenth of what is held has come."""
_LOOKED_MAX = 2_000
"""Events whose predecessors are looked for, so that people see some runs."""
_Chain = tuple[tuple[int, int], ...]
"""Positions and numbers of the events of a run."""


class HeldSteps(PartialMatches):
    """The events at the positions that `automata.plan.products` names.

    positions   of them
    looked_at   how many events searches have found
    came        by position, how many events were kept, since the beginning
    """

    def __init__(self, chains: ChainStore) -> None:
        self._chains = chains
        self._plan = plan = chains.plan
        self._window = plan.program.window
        self._in_context = bool(plan.program.partition)
        self.positions = product_positions(plan)
        self.looked_at = self._added = 0
        self._slices = self._came = self._found = 0
        self._asked: set[int] = set()
        self.came = dict.fromkeys(self.positions, 0)
        self._buffers = {position: self._buffer(position) for position in self.positions}

    def __len__(self) -> int:
        return sum(map(len, self._buffers.values()))

    @property
    def sizes(self) -> dict[int, int]:
        """The number of events by position."""
        return {position: len(buffer) for position, buffer in self._buffers.items()}

    def newest(self, position: int, limit: int) -> list[PartialMatch] | None:
        """Some runs at a position that end in the newest events kept here; None: more than keys relates their events.

        None too where runs before it are rows.
        """
        buffer = self._buffers.get(position)
        if buffer is None or not len(buffer):
            return []
        if not self._is_related_by_keys(position):
            return None
        begin, looked = len(buffer) - min(len(buffer), _LOOKED_MAX), iter(range(_LOOKED_MAX))
        ends = ((position, number) for number in range(buffer.end - 1, buffer.first + begin - 1, -1))
        found = (chain for end in ends for chain in self._chains_to((end,), looked))
        return [self._put_together(chain) for chain in islice(found, limit)]

    def _is_related_by_keys(self, position: int) -> bool:
        """True if the runs that come to a position are the chains of events that have the keys of their edges."""
        reached, before = {position}, [position]
        while before:
            here = before.pop()
            for edge in (edge for edge in self._plan.edges if edge.target == here and edge.source != START):
                is_kept = edge.source in self._buffers and not len(self._chains.active[edge.source])
                if not is_kept or edge.begins or edge.merged or edge.forgets:
                    return False
                if edge.source not in reached:
                    reached.add(edge.source)
                    before.append(edge.source)
        return True

    def _chains_to(self, chain: _Chain, looked: Iterator[int]) -> Iterator[_Chain]:
        """The chains that a run takes, from its first event on, that end so; none once `looked` is at its end."""
        position, number = chain[0]
        for edge in (edge for edge in self._plan.edges if edge.target == position):
            if edge.source == START:
                yield chain
            elif next(looked, None) is not None:
                for earlier_one in self._followed_by(edge, number, chain[-1]):
                    yield from self._chains_to(((edge.source, earlier_one), *chain), looked)

    def _followed_by(self, edge: PlannedEdge, number: int, last: tuple[int, int]) -> list[int]:
        """The numbers of the events at the source of an edge by which a run comes to an event, the newest first.

        last    position and number of the last event of the run
        """
        buffer, one = self._buffers[edge.source], np.array([number], dtype=np.int64)
        table, end = self._buffers[edge.target].table(one), self._buffers[last[0]].table(np.array([last[1]]))
        begin, stop = int(self._since(buffer, end.times)[0]), int(buffer.number(LOW, table.low)[0])
        numbers = np.arange(max(begin, buffer.first), max(stop, begin, buffer.first), dtype=np.int64)
        fits = (buffer.at(PARTITION, numbers) == table.partitions) & (buffer.at(WINDOW, numbers) == table.windows)
        if self._window.in_events:
            fits &= buffer.at(RANK, numbers) > end.rank_high - self._window.size
        for variable in edge.key:
            fits &= buffer.value(variable, numbers) == table.value(variable)
        found: list[int] = numbers[fits][::-1].tolist()
        return found

    def _put_together(self, chain: _Chain) -> PartialMatch:
        tables = [self._buffers[position].table(np.array([number])) for position, number in chain]
        registers = self._chains.runs.registers(np.array([ROOT]))[0]
        for table in tables:
            for variable, values in table.values.items():
                registers[variable] = values[0] if values[0] != UNBOUND else registers[variable]
        first = tables[0]
        (last,) = lasts_of(self._window, first.times, first.rank_low, first.windows)
        entries = [(table.parts[0].symbol, int(table.low[0]), int(table.parts[0].numbers[0])) for table in tables]
        return PartialMatch(tuple(entries), tuple(registers.tolist()), last)

    @property
    def deep(self) -> int:
        """The number of events that more than one run may come to."""
        edges = (edge for edge in self._plan.edges if edge.source != START)
        return sum(len(self._buffers[p]) for p in {edge.target for edge in edges} & self._buffers.keys())

    def add(self, tables: Mapping[int, StepTable]) -> dict[int, StepTable]:
        """Keeps the events at their positions, but most that no run comes to; the tables of the other positions."""
        self._decide_whom_to_ask()
        for position in self.positions:
            if position in tables:
                self._came += len(tables[position])
                table = self._reached(position, tables[position])
                self._buffers[position].add(table)
                self.came[position] += len(table)
                self._added += len(table)
        self._plan.program.check_runs(self._chains.runs.size - 1 + len(self))
        return {position: table for position, table in tables.items() if position not in self._buffers}

    def found(self, tables: Mapping[int, StepTable]) -> dict[int, StepTable]:
        """The tables of all positions by which the runs that the events of these may extend are put together."""
        together = dict(tables)
        for position in reversed(self.positions):
            numbers = self._before(position, together)
            if len(numbers):
                together[position] = self._buffers[position].table(numbers)
                self.looked_at += len(numbers)
                self._found += len(numbers)
        return together

    def taken_out(self) -> dict[int, StepTable]:
        """Everything that was kept, by position; it is forgotten here."""
        tables = {}
        for position, buffer in self._buffers.items():
            if len(buffer):
                tables[position] = buffer.table(np.arange(buffer.first, buffer.end, dtype=np.int64))
                buffer.forget(buffer.end)
        return tables

    def expire(self, over: Bounds, always: bool) -> None:
        """Drops events before the first whose runs may go on; where windows count events not each time, or `always`."""
        if over.ranks is not None and _LOOKED_SHARE * self._added < len(self) and not always:
            return
        self._added = 0
        bound = over.now if over.ranks is None else over.ranks.rank(0)
        for buffer in self._buffers.values():
            lasts = deadline(self._window, *(buffer.column(column) for column in (TIME, RANK, WINDOW)))
            buffer.forget(buffer.first + int(np.searchsorted(lasts, bound)))

    def values(self, variable: int) -> list[Ids]:
        """The values of a variable in the events."""
        return [
            buffer.value(variable, np.arange(buffer.first, buffer.end, dtype=np.int64))
            for position, buffer in self._buffers.items()
            if variable in self._plan.positions[position].scope
        ]

    def live_ids(self) -> list[Ids]:
        """Columns of the ids in the events."""
        return [buffer.values() for buffer in self._buffers.values()]

    def oldest_position(self, default: int) -> int:
        return min((int(buffer.column(LOW)[0]) for buffer in self._buffers.values() if len(buffer)), default=default)

    def oldest_time(self, default: int) -> int:
        return min((int(buffer.column(TIME)[0]) for buffer in self._buffers.values() if len(buffer)), default=default)

    def firsts(self) -> list[tuple[Ids, Ids]]:
        return [(buffer.column(PARTITION), buffer.column(LOW)) for buffer in self._buffers.values()]

    def partitions(self) -> set[int]:
        return {p for buffer in self._buffers.values() for p in np.unique(buffer.column(PARTITION)).tolist()}

    def snapshot(self) -> list[Any]:
        """The state, as `automata.state.State`."""
        return [buffer.snapshot() for buffer in self._buffers.values()]

    def restore(self, state: list[Any]) -> None:
        """Continue from a state."""
        for buffer, own in zip(self._buffers.values(), state, strict=True):
            buffer.restore(own)

    def _buffer(self, position: int) -> Buffer:
        here = self._plan.positions[position]
        return Buffer(here.symbols[0], here.scope, _GROWTH)

    def _decide_whom_to_ask(self) -> None:
        """Has looked at whether a run comes to an event only where more events were found than came."""
        self._slices += 1
        if self._slices % _PERIOD == 0:
            self._asked = set(self.positions) if self._found > self._came else set()
            self._came = self._found = 0

    def _reached(self, position: int, table: StepTable) -> StepTable:
        """The rows of a table that a run may come to at a position, and perhaps others."""
        edges = [edge for edge in self._plan.edges if edge.target == position and edge.source != position]
        if position not in self._asked or any(map(self._may_have_other_runs, edges)):
            return table
        reached = np.zeros(len(table), dtype=np.bool_)
        for edge in edges:
            buffer = self._buffers[edge.source]
            begin, end = self._since(buffer, table.times), buffer.number(LOW, table.low)
            context = [table.partitions, table.windows] if self._in_context else []
            hashes = hash_columns([*context, *map(table.value, edge.key)], len(table))
            reached |= buffer.reaches(begin, end, edge.key, hashes, self._in_context)
        if 2 * np.count_nonzero(reached) > len(table):
            self._asked.discard(position)
        return table if reached.all() else table.take(reached)

    def _may_have_other_runs(self, edge: PlannedEdge) -> bool:
        """True if runs that are rows, or the one without an event, may take the edge."""
        return edge.begins or edge.source not in self._buffers or len(self._chains.active[edge.source]) > 0

    def _before(self, position: int, tables: Mapping[int, StepTable]) -> Ids:
        """The numbers of the events at a position that some rows of the tables may follow."""
        edges = [self._plan.edges[number] for number in self._plan.positions[position].onward]
        buffer = self._buffers[position]
        found = [self._followed(buffer, edge, tables[edge.target]) for edge in edges if edge.target in tables]
        numbers = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))
        for edge in edges:
            while edge.target == position and len(numbers):
                more = np.union1d(numbers, self._followed(buffer, edge, buffer.table(numbers)))
                if len(more) == len(numbers):
                    break
                numbers = more
        return numbers

    def _followed(self, buffer: Buffer, edge: PlannedEdge, table: StepTable) -> Ids:
        """The numbers of the events from which some row of a table may take an edge; perhaps some more."""
        index = step_index(table, edge.key, self._in_context)
        first, last = index.order[index.starts[:-1]], index.order[index.starts[1:] - 1]
        begin, end = self._since(buffer, table.times[first]), buffer.number(LOW, table.low[last])
        pairs = buffer.search(begin, end, edge.key, index.keys, self._in_context)
        return np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for _, numbers in pairs)])

    def _since(self, buffer: Buffer, times: Ids) -> Ids:
        """The numbers of the first events in the windows that end at these times; perhaps of some before."""
        if self._window.in_events or not self._window.sliding:
            return np.full(len(times), buffer.first, dtype=np.int64)
        return buffer.number(TIME, earlier(times, self._window.size))


class RunsAndHeldSteps(PartialMatches):
    """Runs that are rows, and products."""

    def __init__(self, chains: ChainStore, held: HeldSteps) -> None:
        self._parts: tuple[PartialMatches, PartialMatches] = chains, held

    def oldest_position(self, default: int) -> int:
        return min(part.oldest_position(default) for part in self._parts)

    def oldest_time(self, default: int) -> int:
        return min(part.oldest_time(default) for part in self._parts)

    def firsts(self) -> list[tuple[Ids, Ids]]:
        return [pair for part in self._parts for pair in part.firsts()]

    def partitions(self) -> set[int]:
        return set().union(*(part.partitions() for part in self._parts))
