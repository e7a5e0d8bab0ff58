"""Adjacency look-ahead: a run that only an adjacent event can extend is not worth a row if that event is there and
brings no such step.

What is looked at are whole step tables, not runs: order and adjacency tell, values and windows do not. So it holds
for every run, and is told once for a slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automata.plan.plan import Plan
from automata.slices.step_table import SEVERAL, StepTable
from automata.values import Ids, Mask

_ROUNDS_MAX = 8
"""Steps looked ahead: chains of adjacent events are seldom longer."""


class AdjacencyLookahead:
    """The positions of a plan that are left only by `,`, and where no match ends, nor what would extend one.

    in_one_order    there is one order of events; else every row is able
    positions       those positions
    """

    def __init__(self, plan: Plan, in_one_order: bool) -> None:
        self._plan = plan
        told = in_one_order and not plan.program.partition and not plan.unordered
        positions = enumerate(plan.positions) if told else ()
        ended = (n for n, position in positions if position.only_strict and not position.accepts)
        self.positions = tuple(n for n in ended if not plan.positions[n].completes)

    def able(self, tables: Mapping[int, StepTable]) -> dict[int, Mask]:
        """position → which rows of its table an event of the slice, or one after it, may extend; the others: all."""
        able: dict[int, Mask] = {}
        positions = [p for p in self.positions if p in tables and len(tables[p])]
        if not positions:
            return able
        ends = max(int(tables[position].slots.max()) for position in positions)
        left = dict.fromkeys(positions, -1)
        for _ in range(_ROUNDS_MAX):
            before = left.copy()
            for position in positions:
                able[position] = self._led_on(position, tables, able, ends)
                left[position] = int(np.count_nonzero(able[position]))
            if left == before:
                break
        return able

    def _led_on(self, position: int, tables: Mapping[int, StepTable], able: Mapping[int, Mask], ends: int) -> Mask:
        """The rows of a position's table that one of its edges may be taken after; told once for all queries."""
        table = tables[position]
        targets = [self._plan.edges[number].target for number in self._plan.positions[position].onward]
        following = [(tables[target], able.get(target)) for target in targets if target in tables]
        about = [part for other, mask in following for part in (other.low, mask)]
        return table.shared.once((_led_on, table.low, ends, *about), lambda: _led_on(table, following, ends))


def _led_on(table: StepTable, following: Sequence[tuple[StepTable, Mask | None]], ends: int) -> Mask:
    """The rows that one of the (able) rows that follow stands right after, or that may be followed by later events."""
    led = table.slots >= ends
    for other, able in following:
        led |= _adjacent(table, other, able)
    return led


def _adjacent(table: StepTable, following: StepTable, able: Mask | None) -> Mask:
    """The rows of a table that some (able) row of the one that may follow stands right after."""
    low, slots, opens = following.low, following.slots, (following.seq_low == 0) | (following.streams == SEVERAL)
    if able is not None:
        low, slots, opens = low[able], slots[able], opens[able]
    over = _among(slots[opens], table.slots + 1)
    within = _among(low[~opens], table.high + 1)
    result: Mask = np.where(table.tails | (table.streams == SEVERAL), over, within)
    return result


def _among(known: Ids, wanted: Ids) -> Mask:
    """A mask of the wanted numbers that are known; both lie in one slice, so that a table of flags is not long."""
    if not len(known):
        return np.zeros(len(wanted), dtype=np.bool_)
    first, last = int(known.min()), int(known.max())
    flags = np.zeros(last - first + 2, dtype=np.bool_)
    flags[known - first] = True
    inside = (wanted >= first) & (wanted <= last)
    result: Mask = flags[np.where(inside, wanted - first, last - first + 1)]
    return result
