"""The arrays of the kernels of windows that overlap: a queue for each key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from automata.plan.plan import Plan
from automata.propagation import kernel_arrays
from automata.propagation.kernel_cells import KernelCells
from automata.propagation.kernel_direct import direct_of
from automata.propagation.kernel_keys import number_keys
from automata.propagation.layout import Layout
from automata.propagation.limbs import narrowed
from automata.propagation.machine import Machine
from automata.propagation.measures import Measured, Values
from automata.propagation.overlapping import arrays
from automata.propagation.overlapping.algebra import algebra_of, rules_with_paths
from automata.values import NONE, Ids, Mask

SLOTS_FIRST, NODES_FIRST = 16, 64


class QueuedCells(KernelCells, ABC):
    """The queues of one query: nodes of so many rows each."""

    def __init__(
        self, plan: Plan, groups: Sequence[int], measured: Sequence[Measured], layout: Layout, values: Values
    ) -> None:
        super().__init__(plan, groups, measured, layout, values)
        self._variables = tuple(dict.fromkeys(each.variable for each in measured))
        self._machine, self._width, sources = self._shaped(plan, layout)
        self._rules = rules_with_paths(plan, self._machine, layout)
        self._direct = direct_of(self._machine, self._rules)
        self._algebra = algebra_of(self._machine, layout, sources)
        self._every = np.arange(len(self._machine.lanes), dtype=np.int64)
        self._state = np.zeros(arrays.STATE, dtype=np.int64)
        self._since, self._most, self._addend, self._now = 0, 0, 0, (0, 0)
        self._stacks, self._held = self._new_stacks(0, 0), self._new_held(0, 1)
        self._reset(SLOTS_FIRST, NODES_FIRST)

    @abstractmethod
    def _shaped(self, plan: Plan, layout: Layout) -> tuple[Machine, int, Sequence[int]]:
        """The machine of matrices, the rows of a node, and the lanes that are asked for."""

    @property
    def idle(self) -> bool:
        """Nothing is held."""
        return not self._state[arrays.HELD]

    def _most_addend(self, slice_: kernel_arrays.Slice) -> int:
        """That of all held events."""
        return self._addend

    @property
    def _timed(self) -> bool:
        return True

    @property
    def _places(self) -> arrays.Places:
        lanes, backs = len(self._machine.lanes), 2 * len(self._machine.lanes) + 1
        return arrays.Places(lanes, backs - 1, backs, backs + len(self._stacks.head) * lanes, self._width)

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
        there[places.nodes :] = self._rows_of_nodes()
        return there

    @abstractmethod
    def _rows_of_nodes(self) -> Mask:
        """A mask of the rows of nodes that are in use."""

    @abstractmethod
    def _free(self) -> None:
        """Frees what is known not to be needed."""

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
        rows = self._new_cells(
            2 * lanes + 1 + slots * lanes + nodes * self._width, self._cells.keys.shape[1], limbs, wide
        )
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
        self._free()
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
            target[self._places.nodes :][: len(source) - places.nodes] = source[places.nodes :]
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
