"""All input buffers of a lazy evaluator, and what of them is still needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automata.lazy.horizon import Horizon
from automata.lazy.units import Units
from automata.matches.match_stage import PartialMatches
from automata.plan.plan import Plan
from automata.slices.step_buffer import LOW, PARTITION, TIME, Buffer
from automata.slices.step_table import StepTable
from automata.slices.symbol_tables import positive
from automata.slices.timeline import Timeline
from automata.values import Ids


class Buffers(PartialMatches):
    """The buffers of one plan.

    positive    by symbol, solutions that a step may take
    negated     by symbol, solutions of negated steps: those outside every partition and window included
    """

    def __init__(self, plan: Plan, timeline: Timeline) -> None:
        self.positive = {symbol: Buffer(symbol, range(plan.program.variables)) for symbol in sorted(plan.used)}
        self.negated = {symbol: Buffer(symbol, range(plan.program.variables)) for symbol in sorted(plan.negated)}
        self.horizon = Horizon(plan.program.window, timeline)
        self._in_events = plan.program.window.in_events
        self._reach = dict.fromkeys(self.positive, 0)

    def keep_for(self, units: Units, reach: int) -> None:
        """Keeps the events of these units at least so long, as one more path may ask for them."""
        for unit in units.units:
            self._reach[unit.symbol] = max(self._reach[unit.symbol], reach)

    def add(self, tables: Mapping[int, StepTable]) -> dict[int, int]:
        """Buffers a slice. Returns for each symbol the number of its first solution."""
        fresh = {symbol: buffer.end for symbol, buffer in self.positive.items()}
        for symbol, table in tables.items():
            if symbol in self.positive:
                self.positive[symbol].add(positive(table))
            if symbol in self.negated:
                self.negated[symbol].add(table)
        return fresh

    def forget(self) -> None:
        """Drops what has run out of time."""
        for symbol, buffer in self.positive.items():
            self.horizon.forget(buffer, self._reach[symbol])
        for buffer in self.negated.values():
            oldest = self.oldest_position(self.horizon.timeline.position)
            buffer.forget(int(buffer.number(LOW, np.array([oldest]))[0]))

    def values(self) -> list[Ids]:
        """Every id in the buffers."""
        return [buffer.values() for buffer in self.positive.values()]

    def oldest_position(self, default: int) -> int:
        return min((int(each.column(LOW)[0]) for each in self.positive.values() if len(each)), default=default)

    def oldest_time(self, default: int) -> int:
        oldest = min((int(each.column(TIME)[0]) for each in self.positive.values() if len(each)), default=default)
        return min(oldest if self._in_events else max(oldest, self.horizon.oldest_time()), default)

    def firsts(self) -> list[tuple[Ids, Ids]]:
        return [(buffer.column(PARTITION), buffer.column(LOW)) for buffer in self.positive.values()]

    def partitions(self) -> set[int]:
        return {p for buffer in self.positive.values() for p in np.unique(buffer.column(PARTITION)).tolist()}

    def snapshot(self) -> dict[str, Any]:
        """The state, as `automata.state.State`."""
        return {
            "buffers": [buffer.snapshot() for buffer in self.positive.values()],
            "negated": [buffer.snapshot() for buffer in self.negated.values()],
            "horizon": self.horizon.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        for buffers, states in ((self.positive, state["buffers"]), (self.negated, state["negated"])):
            for buffer, own in zip(buffers.values(), states, strict=True):
                buffer.restore(own)
        self.horizon.restore(state["horizon"])
