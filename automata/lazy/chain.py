"""Lazy evaluation of one path: partial matches that wait, state by state, for the next unit (K Sections 3-6).

A state is a set of bound units. A partial match that reaches a state is joined with every buffered event of the unit
that the plan names next, and waits for later ones. When the plan names another unit, it looks for *later* events of the
old one only: every match is found once, whatever the plan does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrays.times import later
from automata import layouts
from automata.lazy.horizon import Horizon
from automata.lazy.join import Bound, Joiner
from automata.lazy.partial import Rows, Waiting
from automata.lazy.plan import EvaluationOrder
from automata.lazy.search import Search
from automata.slices.step_buffer import LOW, TIME
from automata.state import Values, columns_of, pairs, rows_of
from automata.values import Mask

_NOTHING: Bound = frozenset()


class LazyChain:
    """The partial matches of one path.

    states          the sets of units that some are bound to, with those that wait there
    operations      partial matches made so far
    held            the arguments of `advance` for slices not joined yet, as no match can be complete so far
    """

    def __init__(self, search: Search, joiner: Joiner, plan: EvaluationOrder) -> None:
        self._search = search
        self._units = search.units
        self._buffers = [search.buffer(unit) for unit in range(len(search.units))]
        self._layout = search.layout
        self._joiner = joiner
        self._plan = plan
        self._check_runs = search.plan.program.check_runs
        self.states: dict[Bound, Waiting] = {}
        self.operations = 0
        self.held: tuple[int, Mapping[int, int]] | None = None
        self._steps = len({unit.step for unit in search.units.units})

    def advance(self, position: int, fresh: Mapping[int, int], at_boundary: bool) -> Rows:
        """The complete matches that a slice, already buffered, brings.

        position    of its first event
        fresh       symbol → the number of its first solution
        """
        sizes = [len(buffer) for buffer in self._buffers]
        self._plan.observe(sizes, at_boundary)
        if not self.states:
            self._begin()
        position, fresh = self.held or (position, fresh)
        if not self._completable(sizes):
            self.held = position, fresh
            return self._layout.root()[:0]
        self.held = None
        complete: list[Rows] = []
        arriving: list[tuple[Bound, Rows]] = []
        for bound, waiting in self.states.items():
            unit, rows = self._meet(bound, waiting, position, fresh)
            arriving.append((bound | {unit}, rows))
        while arriving:
            bound, rows = arriving.pop()
            if not len(rows):
                continue
            self.operations += len(rows)
            self._check_runs(self.runs + sum(map(len, complete)) + len(rows))
            if len(bound) == len(self._units):
                complete.append(rows)
            else:
                arriving.append(self._arrive(bound, rows))
        return np.concatenate(complete) if complete else self._layout.root()[:0]

    def keep(self, horizon: Horizon) -> None:
        """Drops partial matches that have run out of time."""
        for bound, waiting in self.states.items():
            if bound and len(waiting.rows):
                waiting.keep(horizon.alive(waiting.rows) & self._in_time(bound, waiting, horizon.time))

    def _in_time(self, bound: Bound, waiting: Waiting, now: int) -> Mask:
        """A mask of the partial matches that limits let wait for events of the time `now` and later ones."""
        rows = waiting.rows
        kept = np.ones(len(rows), dtype=np.bool_)
        for other in bound if self._search.plan.limits else ():
            most, _ = self._search.times.between(other, waiting.unit)
            kept &= later(self._search.at(rows, other, TIME), most) >= now
        return kept

    def snapshot(self) -> dict[str, Any]:
        """The plan, and partial matches by what they are bound to."""
        registers = self._layout.registers
        waiting = [
            [sorted(bound), w.unit, columns_of(w.rows[:, : registers.start]), Values(w.rows[:, registers])]
            for bound, w in self.states.items()
        ]
        held = None if self.held is None else [self.held[0], pairs(self.held[1])]
        return layouts.CHAIN.written(waiting=waiting, plan=self._plan.snapshot(), operations=self.operations, held=held)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a snapshot."""
        state = layouts.CHAIN.read(state)
        self._plan.restore(state["plan"])
        self.operations = state["operations"]
        if state["held"] is not None:
            position, fresh = state["held"]
            self.held = position, dict(fresh.tolist())
        for bound, unit, fixed, registers in state["waiting"]:
            waiting = self.states[frozenset(bound)] = Waiting(self._layout.width, unit)
            rows = np.concatenate((rows_of(fixed, len(registers.ids)), registers.ids), axis=1)
            waiting.replace(rows if bound else self._layout.unbounded(rows))

    def _completable(self, sizes: Sequence[int]) -> bool:
        """True if each unit has a buffered event, and there are no fewer events than steps."""
        if not all(sizes) or max(sizes) >= self._steps:
            return all(sizes)
        return len(np.unique(np.concatenate([buffer.column(LOW) for buffer in self._buffers]))) >= self._steps

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept now."""
        return sum(len(waiting.rows) for waiting in self.states.values())

    def _begin(self) -> None:
        root = Waiting(self._layout.width, self._plan.following(_NOTHING, None))
        root.add(self._layout.root())
        self.states[_NOTHING] = root

    def _meet(self, bound: Bound, waiting: Waiting, position: int, fresh: Mapping[int, int]) -> tuple[int, Rows]:
        """Partial matches that have been waiting, joined with the slice, or with all events of another unit."""
        chosen = self._plan.following(bound, waiting.unit)
        if chosen == waiting.unit or not len(waiting.rows):
            waiting.unit = chosen
            return chosen, self._joiner.join(bound, waiting.rows, chosen, fresh[self._units.units[chosen].symbol])
        rows = waiting.await_instead(chosen, position, self._layout)
        if not self._units.waits(bound, chosen):
            waiting.keep(np.zeros(len(rows), dtype=np.bool_))
        return chosen, self._joiner.join(bound, rows, chosen, self._buffers[chosen].first)

    def _arrive(self, bound: Bound, rows: Rows) -> tuple[Bound, Rows]:
        """New partial matches at a state: joined with all that is buffered; kept if more can come."""
        waiting = self.states.get(bound)
        if waiting is None:
            waiting = self.states[bound] = Waiting(self._layout.width, self._plan.following(bound, None))
        if self._units.waits(bound, waiting.unit):
            waiting.add(rows)
        first = self._buffers[waiting.unit].first
        return bound | {waiting.unit}, self._joiner.join(bound, rows, waiting.unit, first)
