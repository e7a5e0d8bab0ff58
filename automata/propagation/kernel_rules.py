"""A machine as the arrays that the kernel reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from automata.plan.plan import Plan
from automata.propagation.kernel_arrays import ADD, FORGET, KEEP, SET, Rules
from automata.propagation.layout import Layout
from automata.propagation.machine import Machine, Move
from automata.values import Ids


def rules_of(plan: Plan, machine: Machine, layout: Layout) -> Rules:
    """The rules of a machine, for the columns of a layout."""
    symbols = range(len(plan.program.symbols))
    moves = [(symbol, move) for symbol in symbols for move in machine.moves.get(symbol, ())]
    scopes = [symbol.scope for symbol in plan.program.symbols]
    every = [(one.variable, one.every) for one in layout.linear], [(one.variable, one.every) for one in layout.extreme]
    linear, extreme = (
        np.array([[effect_of(scopes[s], move, *one) for one in some] for s, move in moves], dtype=np.int64).reshape(
            len(moves), len(some)
        )
        for some in every
    )
    killed = [machine.killed.get(symbol, ()) for symbol in symbols]
    return Rules(
        _offsets(machine.moves.get(symbol, ()) for symbol in symbols),
        _numbers([move.lane for _, move in moves]),
        _numbers([move.target for _, move in moves]),
        _numbers([machine.lanes[move.lane].state == 0 for _, move in moves]),
        linear,
        extreme,
        _numbers([one.greatest for one in layout.extreme]),
        _offsets(killed),
        _numbers([lane for some in killed for lane in some]),
        _offsets(machine.entered),
        _numbers([lane for some in machine.entered for lane in some]),
        _numbers(machine.strict),
        _numbers(machine.opening),
        _numbers(machine.ends),
        _numbers([symbol in machine.openers for symbol in symbols]),
    )


def effect_of(scope: frozenset[int], move: Move, variable: int, every: bool) -> int:
    """The effect of a move on a measure of a variable: of all its values (`every`), or of the last one."""
    if variable in scope:
        return ADD if every else SET
    return FORGET if variable in move.forgets and not every else KEEP


def _numbers(values: Sequence[int]) -> Ids:
    return np.array(values, dtype=np.int64)


def _offsets(ranges: Iterable[Sequence[object]]) -> Ids:
    return np.concatenate(([0], np.cumsum([len(some) for some in ranges]))).astype(np.int64)
