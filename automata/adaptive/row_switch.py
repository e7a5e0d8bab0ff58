"""Single events: their share of the latest slices, and a buffer of those that the policy has not observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automata import protocol
from automata.plan.program import Program
from automata.slices.events import Events, SymbolSolutions

_BUFFERED_MAX = 64
"""Single events that the policy observes together."""
_MEMORY = 1 / 32
"""The weight of one more slice in the moving average of the share of short slices."""
_Event = tuple[int, int, Mapping[int, Sequence[tuple[int, ...]]]]


class RowSwitch:
    """The share of short slices in a stream, and the buffer of its single events."""

    def __init__(self, program: Program) -> None:
        self._scopes = [sorted(symbol.scope) for symbol in program.symbols]
        self._buffered: list[_Event] = []
        self._share = 0.0

    @property
    def usual(self) -> bool:
        """True if most of the latest slices were one event, or few."""
        return self._share > 0.5

    @property
    def full(self) -> bool:
        """True if the buffer should be observed."""
        return len(self._buffered) >= _BUFFERED_MAX

    def begin(self) -> None:
        """Assume single events, as the first slice is one."""
        self._share = 1.0

    def slice_(self, events: int) -> None:
        """Count a slice of so many events."""
        self._share += _MEMORY * ((events <= protocol.FEW_EVENTS_MAX) - self._share)

    def add(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> None:
        """Buffer a single event, given as to `automata.protocol.RowEvaluator.on_event`."""
        self.slice_(1)
        self._buffered.append((time, stream, solutions))

    def taken(self) -> tuple[Events, Mapping[int, SymbolSolutions]] | None:
        """Empties the buffer; its events as one slice, or None."""
        if not self._buffered:
            return None
        events, self._buffered = self._buffered, []
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
