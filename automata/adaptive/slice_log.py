"""The latest slices, for an evaluator that takes over at once: it reads them again, and its matches are discarded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from automata.plan.program import Window
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids

_EVENTS_MAX = 1 << 22
"""Events remembered; with more of them in a window the new evaluator has to read along for the length of one."""
Logged = tuple[int, int, int, Events | Gap, Mapping[int, SymbolSolutions]]
"""The position of the first event of a slice, its number of events, the time of the last, and the slice, or a gap."""


class SliceLog:
    """The slices that later matches may look back to.

    reach   how far that is, on the window's axis
    begun   True if there is something to forget
    """

    def __init__(self, window: Window, reach: int) -> None:
        self._window = window
        self._reach = reach
        self._slices: list[Logged] = []
        self._events = 0
        self._whole = True
        self.begun = True

    def add(self, position: int, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        """The next slice, whose first event has this position; slices that nothing looks back to are dropped."""
        own = Events(events.times.copy(), events.streams.copy())
        self._add((position, len(events), int(events.times[-1]), own, _copied(solutions)))
        self._events += len(events)
        if self._events > _EVENTS_MAX:
            self.forget()

    def skip(self, position: int, gap: Gap) -> None:
        """The next events, of which the first has this position, without solutions."""
        self._add((position, gap.events, gap.time, gap, {}))

    def _add(self, logged: Logged) -> None:
        self.begun = True
        self._slices.append(logged)
        now, last = logged[0] + logged[1], logged[2]
        past = next((n for n, logged in enumerate(self._slices) if not self._is_past(logged, now, last)), 0)
        if past:
            self._whole = True
            self._events -= sum(count for _, count, _, slice_, _ in self._slices[:past] if isinstance(slice_, Events))
            del self._slices[:past]

    def forget(self) -> None:
        """Begin anew: what has come so far, or what comes now, is not remembered."""
        self._slices.clear()
        self._events, self._whole, self.begun = 0, False, False

    def slices(self) -> Iterator[Logged] | None:
        """All that later matches look back to, oldest first; None: it is not all there."""
        return iter(self._slices) if self._whole else None

    def live_ids(self) -> list[Ids]:
        """Columns of the ids of the solutions."""
        tables = (table for *_, solutions in self._slices for table in solutions.values())
        return [column for table in tables for column in table.values.values() if len(column)]

    def oldest_position(self, default: int) -> int:
        """The position of the first event remembered; `default` where there is none."""
        return self._slices[0][0] if self._slices else default

    def _is_past(self, logged: Logged, now: int, last: int) -> bool:
        """True if no match to come looks back to a slice, given the next position and the last time."""
        position, events, newest, _, _ = logged
        if self._window.in_events:
            return position + events <= now - self._reach
        if self._window.sliding:
            return newest < last - self._reach
        size, start = self._window.size, self._window.start
        return newest < start + (last - start) // size * size


def _copied(solutions: Mapping[int, SymbolSolutions]) -> Mapping[int, SymbolSolutions]:
    """The solutions, without the longer arrays that they may be parts of."""
    return {
        symbol: SymbolSolutions(table.events.copy(), {v: column.copy() for v, column in table.values.items()})
        for symbol, table in solutions.items()
    }
