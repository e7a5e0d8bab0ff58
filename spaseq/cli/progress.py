"""The progress line of a run on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

if TYPE_CHECKING:
    from spaseq.engine.options import Statistics

_REFRESHES_PER_SECOND_MAX = 5
_RATE_WINDOW_S = 2.0
"""The time over which events per second are counted."""


class Meter:
    """The counters of a run in words, at most _REFRESHES_PER_SECOND_MAX times a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._drawn = self._started
        self._mark = (self._started, 0)
        self._rate = 0.0

    def line(self, statistics: Statistics) -> str | None:
        """The counters with the current rate; None if the line before is too young to be replaced."""
        now = self._clock()
        if now - self._drawn < 1 / _REFRESHES_PER_SECOND_MAX:
            return None
        self._drawn = now
        self._measure(now, statistics.events)
        return _line(statistics, self._rate)

    def summary(self, statistics: Statistics) -> str:
        """The counters and the time of the whole run."""
        seconds = max(self._clock() - self._started, 1e-9)
        return f"{_line(statistics, statistics.events / seconds)} · {format_duration(round(seconds * 1e9))}"

    def _measure(self, now: float, events: int) -> None:
        since, before = self._mark
        if now > since:
            self._rate = (events - before) / (now - since)
        if now - since >= _RATE_WINDOW_S:
            self._mark = (now, events)


class Progress:
    """Events, events per second, matches and lag on a terminal; nothing elsewhere.

    Call `clear` before anything else is written to the terminal; the next `update` draws the line again.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._shown = console.is_terminal
        self._visible = False
        self._meter = Meter(clock)

    def update(self, statistics: Statistics) -> None:
        """Draw the line, at most _REFRESHES_PER_SECOND_MAX times a second."""
        if not self._shown or self._console.is_dumb_terminal:
            return
        text = self._meter.line(statistics)
        if text is None:
            return
        self.clear()
        line = Text(text, no_wrap=True, overflow="ellipsis")
        line.truncate(max(1, self._console.width - 1), overflow="ellipsis")
        self._console.print(line, end="", highlight=False)
        self._visible = True

    def clear(self) -> None:
        """Erase the line."""
        if self._visible:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
            self._visible = False

    def finish(self, statistics: Statistics) -> None:
        """Erase the line and print the summary of the whole run."""
        self.clear()
        if self._shown:
            self._console.print(self._meter.summary(statistics), highlight=False)


def _line(statistics: Statistics, rate: float) -> str:
    matches = "match" if statistics.matches == 1 else "matches"
    parts = [
        f"{statistics.events:,} events",
        f"{rate:,.0f} events/s",
        f"{statistics.matches:,} {matches}",
        f"lag {format_duration(statistics.lag_ns)}",
    ]
    return " · ".join(parts)


def format_duration(duration_ns: int) -> str:
    """A duration in its two largest units: `0 s`, `250 ms`, `1.5 s`, `2 min 5 s`, `3 d 4 h`."""
    if duration_ns == 0:
        return "0 s"
    for unit, size_ns, limit in (("ms", 1e6, 999.5), ("s", 1e9, 59.95)):
        if duration_ns / size_ns < limit:
            return f"{duration_ns / size_ns:.3g} {unit}"
    whole = round(duration_ns / 1e9)
    large, size, small, step = next(units for units in _LONG_UNITS if whole >= units[1])
    rest = whole % size // step
    return f"{whole // size:,} {large} {rest} {small}" if rest else f"{whole // size:,} {large}"


_LONG_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
"""Unit and its seconds, the next smaller unit and its seconds."""
