"""Events that come one by one: how usual that is, and what the policy has not been told of them yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automata import protocol
from automata.plan.program import Program
from automata.slices.events import Events, SymbolSolutions

_UNTOLD_MAX = 64
"""Events that came alone, of which the policy is told together."""
_MEMORY = 1 / 32
"""By how much one more slice changes the share of those that are few events."""
_Event = tuple[int, int, Mapping[int, Sequence[tuple[int, ...]]]]


class RowSwitch:
    """Of one stream of slices."""

    def __init__(self, program: Program) -> None:
        self._scopes = [sorted(symbol.scope) for symbol in program.symbols]
        self._untold: list[_Event] = []
        self._share = 0.0

    @property
    def usual(self) -> bool:
        """True if most of the latest slices were one event, or few."""
        return self._share > 0.5

    @property
    def full(self) -> bool:
        """True if it is time to report them."""
        return len(self._untold) >= _UNTOLD_MAX

    def begin(self) -> None:
        """The first event comes alone."""
        self._share = 1.0

    def slice_(self, events: int) -> None:
        """A slice of so many events has come."""
        self._share += _MEMORY * ((events <= protocol.FEW_EVENTS_MAX) - self._share)

    def add(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> None:
        """An event has come alone; its solutions as `automata.protocol.SingleEvaluator.on_event` has them."""
        self.slice_(1)
        self._untold.append((time, stream, solutions))

    def taken(self) -> tuple[Events, Mapping[int, SymbolSolutions]] | None:
        """The events not reported yet, as one slice, or None."""
        if not self._untold:
            return None
        events, self._untold = self._untold, []
        found: dict[int, list[tuple[int, ...]]] = {}
        for number, (_, _, solutions) in enumerate(events):
            for symbol, rows in solutions.items():
                found.setdefault(symbol, []).extend((number, *row) for row in rows)
        times, streams = (np.array(column, dtype=np.int64) for column in list(zip(*events, strict=True))[:2])
        tables = {symbol: _as_columns(rows, self._scopes[symbol]) for symbol, rows in found.items()}
        return Events(times, streams), tables


def _as_columns(rows: Sequence[tuple[int, ...]], scope: Sequence[int]) -> SymbolSolutions:
    """Solutions given as the number of the event and the values of the variables of `scope`."""
    numbers, *values = np.array(rows, dtype=np.int64).T
    return SymbolSolutions(numbers, dict(zip(scope, values, strict=True)))
