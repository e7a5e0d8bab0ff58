"""A machine as matrices: what a kernel has to know to multiply its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from automata.plan.plan import Plan
from automata.propagation.kernel_arrays import FORGET, KEEP, Rules
from automata.propagation.kernel_rules import rules_of
from automata.propagation.layout import Layout, Linear
from automata.propagation.machine import ACCEPTED, Machine, Move
from automata.propagation.overlapping.arrays import ALL, OWN, Algebra
from automata.values import Ids


def open_part(machine: Machine) -> Machine:
    """The machine of the partial matches that are not complete: its last lanes are left out."""
    lanes = tuple(lane for lane in machine.lanes if lane.state != ACCEPTED)
    assert machine.lanes[: len(lanes)] == lanes, machine
    return replace(
        machine,
        entered=tuple(tuple(lane for lane in some if lane < len(lanes)) for some in machine.entered),
        lanes=lanes,
        ends=(),
        killed={symbol: tuple(lane for lane in some if lane < len(lanes)) for symbol, some in machine.killed.items()},
    )


def completing_part(machine: Machine) -> Machine:
    """The moves that complete matches, all to one state."""
    moves = {
        symbol: tuple(Move(move.lane, 0, move.forgets) for move in some if move.target in machine.accepting)
        for symbol, some in machine.moves.items()
    }
    return replace(machine, moves=moves, entered=((),), ends=(), killed={}, strict=())


def rules_with_paths(plan: Plan, machine: Machine, layout: Layout) -> Rules:
    """The rules of a machine, with a sum more for each of `last_values`: of the paths that leave the variable alone."""
    paths = tuple(Linear(variable, True, False) for variable in last_values(layout))
    rules = rules_of(plan, machine, replace(layout, linear=layout.linear + paths))
    rules.linear[:, len(layout.linear) :][rules.linear[:, len(layout.linear) :] != KEEP] = FORGET
    return rules


def last_values(layout: Layout) -> tuple[int, ...]:
    """The variables of which the last value counts: what a step before has bound is replaced."""
    linear = [one.variable for one in layout.linear if not one.every]
    return tuple(dict.fromkeys([*linear, *(one.variable for one in layout.extreme if not one.every)]))


def algebra_of(machine: Machine, layout: Layout, sources: Sequence[int]) -> Algebra:
    """The algebra of a machine; `sources`: the lanes that are asked for."""
    kept = {variable: len(layout.linear) + number for number, variable in enumerate(last_values(layout))}
    through = [ALL if one.every else kept[one.variable] for one in layout.linear] + [OWN] * len(kept)
    extremes = [ALL if one.every else kept[one.variable] for one in layout.extreme]
    reached = _reached(machine)
    symbols = max(machine.symbols, default=-1) + 1
    touched: list[int] = []
    begins = [0]
    for symbol in range(symbols):
        changed = {move.lane for move in machine.moves.get(symbol, ())} | set(machine.killed.get(symbol, ()))
        touched += [lane for lane, there in reached.items() if there & changed]
        begins.append(len(touched))
    return Algebra(*map(_numbers, (through, extremes, begins, touched, sources)))


def _reached(machine: Machine) -> Mapping[int, frozenset[int]]:
    """lane → the lanes that its partial matches may be in at some time."""
    after = {
        lane: frozenset(
            entered
            for some in machine.moves.values()
            for move in some
            if move.lane == lane
            for entered in machine.entered[move.target]
        )
        for lane in range(len(machine.lanes))
    }
    reached = {lane: frozenset({lane}) for lane in after}
    for _ in after:
        reached = {lane: there.union(*(after[each] for each in there)) for lane, there in reached.items()}
    return reached


def _numbers(values: Sequence[int]) -> Ids:
    return np.array(values, dtype=np.int64)
