"""The arrays of the kernel of sliding windows, and what events complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from automata.plan.plan import Plan
from automata.propagation import kernel_arrays
from automata.propagation.found_columns import Block, FoundColumns
from automata.propagation.kernel import Stop
from automata.propagation.layout import Layout
from automata.propagation.limbed_cells import WIDE_ROOM
from automata.propagation.machine import Machine
from automata.propagation.overlapping import arrays, sliding_kernel
from automata.propagation.overlapping.algebra import completing_part, open_part, rules_with_paths
from automata.propagation.overlapping.queued_cells import QueuedCells
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.windows import HeldEvent
from automata.slices.events import Events, SymbolSolutions
from automata.values import NONE, Ids, Mask


class SlidingCells(QueuedCells):
    """Sliding windows of one query: a queue of the events of each key."""

    def _shaped(self, plan: Plan, layout: Layout) -> tuple[Machine, int, Sequence[int]]:
        """That of partial matches, a row for each event, and the lanes that an event completes."""
        self._shape = self._shape._replace(size=self._shape.size - self._shape.in_events)
        self._final = rules_with_paths(plan, completing_part(self._machine), layout)
        return open_part(self._machine), 1, np.unique(self._final.lane).tolist()

    def begin_at(self, window: int | None) -> None:
        """Nothing: matches begin with the events that come, whatever came before."""

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions], position: int) -> FoundColumns:
        """All that the slice completes; Unsuited, with the cells as they were, if the kernel cannot take it."""
        if self.idle:
            self._forget()
        found = self._consumed(events, solutions, position + np.arange(len(events), dtype=np.int64))
        self._since += len(events)
        if self._since >= max(self._slots, int(self._state[arrays.HELD])):
            self._sweep(int(events.times[-1]), position + len(events) - 1)
            if self._widths[0] > 1 and self._held.addends.shape[2] == 1:
                self._narrow()
        return FoundColumns(found)

    def passed(self, time: int) -> FoundColumns:
        """Nothing: windows are not closed, but asked."""
        return FoundColumns([])

    def finish(self) -> FoundColumns:
        """Nothing."""
        return FoundColumns([])

    def live_ids(self) -> list[Ids]:
        """The ids of held events."""
        nodes = self._nodes()
        return [self._cells.keys[: self._slots].ravel(), self._stacks.raw[nodes].ravel()]

    def hand_over(self, exact: PropagatingEvaluator) -> None:
        """Lets exact values go on, which hold nothing; nothing is held here then."""
        exact.hold(self.held_events())
        self._forget()

    def snapshot(self, exact: PropagatingEvaluator) -> dict[str, Any]:
        """The state of exact values that would go on; they hold nothing yet."""
        return exact.snapshot_of(self.held_events())

    def held_events(self) -> Iterator[HeldEvent]:
        """The events that are held, those of one key in order."""
        stacks, held, machine = self._stacks, self._held, self._machine
        for slot in range(self._slots):
            nodes, node = [], int(stacks.head[slot])
            while node != NONE:
                nodes.append(node)
                node = int(stacks.next[node])
            key = tuple(self._cells.keys[slot].tolist())
            for position, some in groupby(nodes, key=lambda each: int(held.events[each])):
                own = list(some)
                taken = [(int(stacks.symbols[each]), tuple(stacks.raw[each].tolist())) for each in own]
                assert all(symbol in machine.symbols for symbol, _ in taken), taken
                yield HeldEvent(key, int(held.times[own[0]]), position, taken)

    def hold(self, events: Iterable[HeldEvent]) -> None:
        """Goes on with these events, where none is held; Unsuited, with none held, if the kernel cannot take them."""
        ordered = sorted(events, key=lambda each: each.position)
        moments = {each.position: each.time for each in ordered}
        numbers = {position: number for number, position in enumerate(moments)}
        rows: dict[int, list[tuple[int, ...]]] = {}
        for each in ordered:
            for symbol, ids in each.taken:
                rows.setdefault(symbol, []).append((numbers[each.position], *each.key, *ids))
        times = np.array(list(moments.values()), dtype=np.int64)
        solutions = {symbol: self._solutions(some) for symbol, some in rows.items()}
        positions = np.array(list(moments), dtype=np.int64)
        self._consumed(Events(times, np.zeros_like(times)), solutions, positions)

    # --- a slice ----------------------------------------------------------------------------------

    def _solutions(self, rows: Sequence[tuple[int, ...]]) -> SymbolSolutions:
        """The solutions of one symbol: event, key, values of the measured variables."""
        columns = np.array(rows, dtype=np.int64).T
        key = self._reader.key
        values = dict(zip(self._variables, columns[1 + len(key) :], strict=True))
        return SymbolSolutions(columns[0], values | dict(zip(key, columns[1 : 1 + len(key)], strict=True)))

    def _consumed(self, events: Events, solutions: Mapping[int, SymbolSolutions], positions: Ids) -> list[Block]:
        slice_ = self._reader.read(events, solutions, self._machine.symbols, 0)
        raw = self._reader.columns(solutions, self._machine.symbols, self._variables)
        order, most = self._order(slice_)
        self._most = max(self._most, most)
        self._addend = max(self._addend, int(slice_.addends.max(initial=0)))
        self._keep_addends(slice_.addends.shape[2])
        room, scratch = self._room(slice_, self._most), self._scratch()
        group = arrays.Group(np.zeros(self._most, dtype=np.int64), np.zeros(self._most, dtype=np.int64))
        found: list[Block] = []
        self._state[kernel_arrays.EVENT] = self._state[arrays.AT] = 0
        while True:
            stop = sliding_kernel.consume(
                self._rules,
                self._final,
                self._direct,
                self._algebra,
                self._shape,
                room,
                self._places,
                self._cells,
                self._flat(),
                self._stacks,
                self._held,
                slice_,
                positions,
                raw,
                order,
                scratch,
                group,
                self._every,
                self._output,
                self._state,
            )
            match stop:
                case Stop.DONE:
                    return found + self._emitted()
                case Stop.OUTPUT:
                    found += self._emitted(full=True)
                case Stop.LIMBS:
                    self._widen(self._widths[0] + 1, slice_.addends.shape[2])
                    room, scratch = WIDE_ROOM, self._scratch()
                case Stop.NODES:
                    event = int(self._state[kernel_arrays.EVENT])
                    self._sweep(int(events.times[event]), int(positions[event]))
                    if 2 * (int(self._state[arrays.HELD]) + most) > len(self._stacks.next):
                        self._grow(len(self._cells.keys), 2 * len(self._stacks.next) + most)

    def _sweep(self, time: int, position: int) -> None:
        """Frees the events that have left their window at this moment."""
        self._since, self._now = 0, (time, position)
        if not self._ranked:
            where = position if self._shape.in_events else time
            sliding_kernel.sweep(self._stacks, self._shape, self._state, self._slots, where)

    @property
    def _ranked(self) -> bool:
        """Each partition counts its own events."""
        return bool(self._shape.in_events and self._shape.consecutive)

    def _free(self) -> None:
        """The events that have left their window when it was last looked at."""
        self._sweep(*self._now)

    def _rows_of_nodes(self) -> Mask:
        """A mask of the nodes that have a vector."""
        stacks, front = self._stacks, np.zeros(len(self._stacks.next), dtype=np.bool_)
        for slot in np.flatnonzero(stacks.head[: self._slots] != stacks.border[: self._slots]).tolist():
            node = int(stacks.head[slot])
            while node not in (NONE, int(stacks.border[slot])):
                front[node] = not stacks.flags[node] & arrays.JOINED
                node = int(stacks.next[node])
        return front
