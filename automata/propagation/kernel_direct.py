"""Lanes added to lanes in place: an event with one solution, whose step ends none of them, and numbers of one limb."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_part
from automata.propagation.kernel_arrays import ADD, FULL, KEEP, SET, Cells, Room, Rules, Slice
from automata.propagation.kernel_lanes import improves
from automata.propagation.machine import Machine
from automata.values import Ids

Unsigned = NDArray[np.uint64]
"""Places that are known not to be negative: the kernel need not ask."""


class Direct(NamedTuple):
    """The additions of each symbol, none of which reads a lane that one before has changed.

    able        1 for symbols that have them
    begins      symbol → its range of `sources`, `targets` (lanes) and `moves`
    """

    able: Ids
    begins: Ids
    sources: Unsigned
    targets: Unsigned
    moves: Ids


def direct_of(machine: Machine, rules: Rules) -> Direct:
    """The additions of a machine."""
    symbols = len(rules.moves) - 1
    ables, begins = np.zeros(symbols, dtype=np.int64), np.zeros(symbols + 1, dtype=np.int64)
    additions: list[tuple[int, int, int]] = []
    for symbol in range(symbols):
        own = _additions(machine, rules, symbol) if not machine.strict else None
        ables[symbol] = own is not None
        additions += own or ()
        begins[symbol + 1] = len(additions)
    columns = np.array(additions, dtype=np.int64).reshape(-1, 3).T
    sources, targets = columns[0].astype(np.uint64), columns[1].astype(np.uint64)
    return Direct(ables, begins, sources, targets, columns[2].copy())


def _additions(machine: Machine, rules: Rules, symbol: int) -> list[tuple[int, int, int]] | None:
    """Source, target, move, in an order in which each lane is read before it changes; None: there is none."""
    if machine.killed.get(symbol):
        return None
    moves = range(int(rules.moves[symbol]), int(rules.moves[symbol + 1]))
    left = [(int(rules.lane[m]), lane, m) for m in moves for lane in machine.entered[int(rules.target[m])]]
    if len({(source, target) for source, target, _ in left}) < len(left):
        return None
    ordered: list[tuple[int, int, int]] = []
    while left:
        read = {source for source, target, _ in left if source != target}
        ready = [each for each in left if each[1] not in read]
        if not ready:
            return None
        ordered += sorted(ready, key=lambda each: each[0] != each[1])
        left = [each for each in left if each not in ready]
    return ordered


@lean_part
def add_lanes(
    direct: Direct,
    rules: Rules,
    room: Room,
    cells: Cells,
    slice_: Slice,
    state: Ids,
    cell: np.uint64,
    symbol: int,
    solution: int,
    time: int,
) -> None:
    """Advances a cell by the only solution of an event."""
    for number in range(direct.begins[symbol], direct.begins[symbol + 1]):
        source, target = direct.sources[number], direct.targets[number]
        count = cells.counts[cell, source, 0]
        if count == 0:
            continue
        for measure in range(cells.sums.shape[2]):
            effect = rules.linear[direct.moves[number], measure]
            total = cells.sums[cell, target, measure, 0]
            if effect in (KEEP, ADD):
                total += cells.sums[cell, source, measure, 0]
            if effect in (SET, ADD):
                column = slice_.column[measure]
                total += count * slice_.addends[solution, column, 0] * slice_.signs[solution, column]
            cells.sums[cell, target, measure, 0] = total
            if abs(total) >= room.sums:
                state[FULL] = 1
        for measure in range(cells.best.shape[2]):
            _add_extreme(direct, rules, cells, slice_, cell, number, measure, solution)
        if cells.first.shape[0] > 0:
            first = time if rules.begins[direct.moves[number]] else cells.first[cell, source]
            if cells.counts[cell, target, 0]:
                first = min(first, cells.first[cell, target])
            cells.first[cell, target], cells.last[cell, target] = first, time
        total = cells.counts[cell, target, 0] + count
        cells.counts[cell, target, 0] = total
        if total >= room.counts:
            state[FULL] = 1


@lean_part
def _add_extreme(
    direct: Direct,
    rules: Rules,
    cells: Cells,
    slice_: Slice,
    cell: np.uint64,
    number: int,
    measure: int,
    solution: int,
) -> None:
    source, target, greatest = direct.sources[number], direct.targets[number], rules.greatest[measure]
    effect = rules.extreme[direct.moves[number], measure]
    if effect in (KEEP, ADD) and improves(
        cells.best[cell, source, measure], cells.best[cell, target, measure], greatest
    ):
        cells.best[cell, target, measure] = cells.best[cell, source, measure]
        cells.ids[cell, target, measure] = cells.ids[cell, source, measure]
    if effect in (SET, ADD) and improves(slice_.values[solution, measure], cells.best[cell, target, measure], greatest):
        cells.best[cell, target, measure] = slice_.values[solution, measure]
        cells.ids[cell, target, measure] = slice_.ids[solution, measure]
