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
from automata.propagation.kernel_cells import KernelCells
from automata.propagation.kernel_direct import direct_of
from automata.propagation.kernel_keys import number_keys
from automata.propagation.layout import Layout
from automata.propagation.limbs import narrowed
from automata.propagation.measures import Measured, Values
from automata.propagation.overlapping import arrays, sliding_kernel
from automata.propagation.overlapping.algebra import algebra_of, completing_part, open_part, rules_with_paths
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.windows import HeldEvent
from automata.slices.events import Events, SymbolSolutions
from automata.values import NONE, Ids, Mask

_SLOTS_FIRST, _NODES_FIRST = 16, 64


class SlidingCells(KernelCells):
    """Sliding windows of one query: a queue of the events of each key."""

    def __init__(
        self, plan: Plan, groups: Sequence[int], measured: Sequence[Measured], layout: Layout, values: Values
    ) -> None:
        super().__init__(plan, groups, measured, layout, values)
        whole, self._variables = self._machine, tuple(dict.fromkeys(each.variable for each in measured))
        self._machine = open_part(whole)
        self._rules = rules_with_paths(plan, self._machine, layout)
        self._final = rules_with_paths(plan, completing_part(whole), layout)
        self._shape = self._shape._replace(size=self._shape.size - self._shape.in_events)
        self._direct = direct_of(self._machine, self._rules)
        self._algebra = algebra_of(self._machine, layout, np.unique(self._final.lane).tolist())
        self._every = np.arange(len(self._machine.lanes), dtype=np.int64)
        self._state = np.zeros(arrays.STATE, dtype=np.int64)
        self._since, self._most, self._addend, self._now = 0, 0, 0, (0, 0)
        self._stacks, self._held = self._new_stacks(0, 0), self._new_held(0, 1)
        self._reset(_SLOTS_FIRST, _NODES_FIRST)

    @property
    def idle(self) -> bool:
        """No event is held."""
        return not self._state[arrays.HELD]

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
                    room, scratch = kernel_arrays.Room(1 << 29, 1 << 29), self._scratch()
                case Stop.NODES:
                    event = int(self._state[kernel_arrays.EVENT])
                    self._sweep(int(events.times[event]), int(positions[event]))
                    if 2 * (int(self._state[arrays.HELD]) + most) > len(self._stacks.next):
                        self._grow(len(self._cells.keys), 2 * len(self._stacks.next) + most)

    def _most_addend(self, slice_: kernel_arrays.Slice) -> int:
        """That of all held events."""
        return self._addend

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

    # --- arrays -----------------------------------------------------------------------------------

    @property
    def _timed(self) -> bool:
        return True

    @property
    def _places(self) -> arrays.Places:
        lanes, backs = len(self._machine.lanes), 2 * len(self._machine.lanes) + 1
        return arrays.Places(lanes, backs - 1, backs, backs + len(self._stacks.head) * lanes, 1)

    def _flat(self) -> arrays.Flat:
        held = self._cells
        return arrays.Flat(held.counts.reshape(-1), held.sums.reshape(-1))

    def _nodes(self) -> Ids:
        """The nodes in use."""
        free = np.zeros(int(self._state[arrays.DRAWN]), dtype=np.bool_)
        node = int(self._state[arrays.FREE])
        while node != NONE:
            free[node] = True
            node = int(self._stacks.next[node])
        return np.flatnonzero(~free)

    def _there(self) -> Mask:
        """A mask of the rows in use."""
        places, stacks = self._places, self._stacks
        there = np.zeros(len(self._cells.counts), dtype=np.bool_)
        backs = np.repeat(stacks.head != NONE, places.lanes)
        there[places.backs : places.nodes] = backs
        there[places.nodes + np.flatnonzero(self._in_front())] = True
        return there

    def _in_front(self) -> Mask:
        """A mask of the nodes that have a vector."""
        stacks, front = self._stacks, np.zeros(len(self._stacks.next), dtype=np.bool_)
        for slot in np.flatnonzero(stacks.head[: self._slots] != stacks.border[: self._slots]).tolist():
            node = int(stacks.head[slot])
            while node not in (NONE, int(stacks.border[slot])):
                front[node] = not stacks.flags[node] & arrays.JOINED
                node = int(stacks.next[node])
        return front

    def _forget(self) -> None:
        """Nothing is held: numbers are small again, and any representation will do."""
        self._reader.forget()
        if not self._slots and not self._state[arrays.DRAWN]:
            return
        self._known = None
        self._reset(min(len(self._cells.keys), 1 << 16), min(len(self._stacks.next), 1 << 16))

    def _reset(self, slots: int, nodes: int) -> None:
        """Makes arrays in which nothing is held."""
        self._since = self._most = self._addend = 0
        self._now = 0, 0
        self._state[:] = 0
        self._state[arrays.FREE] = NONE
        self._stacks, self._held = self._new_stacks(slots, nodes), self._new_held(nodes, 1)
        self._cells = self._new_rows(slots, nodes, 1, 1)
        self._output = self._new_output(len(self._output.windows), self._cells.keys.shape[1])

    def _new_stacks(self, slots: int, nodes: int) -> arrays.Stacks:
        ends = [np.full(slots, NONE, dtype=np.int64) for _ in range(3)]
        counted = [np.full(slots, -2, dtype=np.int64), np.zeros(slots, dtype=np.int64)]
        linked = [np.zeros(nodes, dtype=np.int64) for _ in range(5)]
        raw = np.zeros((nodes, len(self._variables)), dtype=np.int64)
        return arrays.Stacks(*(*ends, *counted, *linked, raw))

    def _new_held(self, nodes: int, limbs: int) -> kernel_arrays.Slice:
        """The solutions of nodes: those of an event have its time and its position."""
        extremes, addends = len(self._layout.extreme), len(self._layout.addends)
        column = [self._layout.addends.index((one.variable, one.counts)) for one in self._layout.linear]
        none = np.zeros(0, dtype=np.int64)
        return kernel_arrays.Slice(
            np.zeros(nodes, dtype=np.int64),
            0,
            none,
            np.zeros(nodes, dtype=np.int64),
            np.zeros((0, 0), dtype=np.int64),
            np.zeros((nodes, addends, limbs), dtype=np.int64),
            np.ones((nodes, addends), dtype=np.int64),
            np.array(column, dtype=np.int64),
            np.zeros((nodes, extremes)),
            np.zeros((nodes, extremes), dtype=np.int64),
        )

    def _new_rows(self, slots: int, nodes: int, limbs: int, wide: int) -> kernel_arrays.Cells:
        """Cells for work, for the back of each slot, and for each node."""
        lanes = len(self._machine.lanes)
        rows = self._new_cells(2 * lanes + 1 + slots * lanes + nodes, self._cells.keys.shape[1], limbs, wide)
        keys = np.zeros((slots, rows.keys.shape[1]), dtype=np.int64)
        return rows._replace(table=np.zeros(4 * slots, dtype=np.int64), keys=keys)

    def _keep_addends(self, limbs: int) -> None:
        """Makes room for addends of so many limbs."""
        known = self._held.addends
        if limbs > known.shape[2]:
            wide = np.zeros((*known.shape[:2], limbs), dtype=np.int64)
            wide[..., : known.shape[2]] = known
            self._held = self._held._replace(addends=wide)

    def _make_room(self, stuck: bool) -> None:
        """Gives up the slots of keys of which nothing is held; makes twice as many where few are."""
        self._sweep(*self._now)
        kept = np.flatnonzero(self._stacks.head[: self._slots] != NONE)
        slots = len(self._cells.keys)
        self._grow(slots if len(kept) * 2 <= slots and not stuck else 2 * slots, len(self._stacks.next), kept)

    def _grow(self, slots: int, nodes: int, kept: Ids | None = None) -> None:
        """Makes arrays for so many slots and nodes, and keeps these slots. Raises TooManyRuns."""
        self._program.check_runs(int(self._state[arrays.HELD]))
        old, stacks, before, places = self._cells, self._stacks, self._held, self._places
        kept = np.arange(self._slots, dtype=np.int64) if kept is None else kept
        self._stacks = fresh = self._new_stacks(slots, nodes)
        for name in arrays.Stacks._fields[:5]:
            getattr(fresh, name)[: len(kept)] = getattr(stacks, name)[kept]
        for name in arrays.Stacks._fields[5:]:
            getattr(fresh, name)[: len(stacks.next)] = getattr(stacks, name)
        self._held = self._new_held(nodes, before.addends.shape[2])
        for name in ("times", "events", "addends", "signs", "values", "ids"):
            getattr(self._held, name)[: len(before.times)] = getattr(before, name)
        self._cells = self._new_rows(slots, nodes, *self._widths)
        self._cells.keys[: len(kept)] = old.keys[kept]
        backs = (kept[:, np.newaxis] * places.lanes + np.arange(places.lanes)).ravel()
        for name in ("counts", "sums", "best", "ids", "first", "last"):
            source, target = getattr(old, name), getattr(self._cells, name)
            target[places.backs : places.backs + len(backs)] = source[places.backs + backs]
            target[self._places.nodes : self._places.nodes + len(stacks.next)] = source[places.nodes :]
        self._state[kernel_arrays.SLOTS] = len(kept)
        number_keys(self._cells.table, self._cells.keys, len(kept))

    def _widen(self, limbs: int, addends: int) -> None:
        super()._widen(max(limbs, 2), max(addends, self._held.addends.shape[2]))

    def _narrow(self) -> None:
        """Makes one limb of numbers that are small again."""
        there = self._there()
        counts, sums = narrowed(self._cells.counts), narrowed(self._cells.sums)
        if counts[0][there].all() and sums[0][there].all():
            self._known = None
            self._cells = self._cells._replace(counts=counts[1], sums=sums[1])
            self._output = self._new_output(len(self._output.windows), self._cells.keys.shape[1])
