"""The reporting units of OVER MATCHES (specification 3.4): windows that tumble or hop, else triggering events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arrays.times import whole_periods
from automata.matches.match_table import FIRST, LAST, PARTITION, START, TIME, MatchTable
from automata.plan.program import Window
from automata.values import Ids, Match


@dataclass(frozen=True, slots=True)
class Spans:
    """The first and last positions and times of some matches, and the lanes that found them; int64[matches] each."""

    first: Ids
    last: Ids
    start: Ids
    time: Ids
    lane: Ids


def spans_of(matches: Sequence[Match]) -> Spans:
    """The spans of some matches."""
    if isinstance(matches, MatchTable):
        return Spans(*(matches.facts[:, column] for column in (FIRST, LAST, START, TIME, PARTITION)))
    facts = [(each.first, each.last, each.start, each.time, each.partition) for each in matches]
    columns = np.array(facts, dtype=np.int64).reshape(len(facts), 5).T
    return Spans(*columns)


@dataclass(frozen=True, slots=True)
class ReportingUnits:
    """The units of one query; a window is the number k of [start + k hop, start + k hop + size).

    lanes   evaluators that each found the matches of every so manieth window; 0: one found every match once
    """

    window: Window
    lanes: int = 0

    @property
    def of_windows(self) -> bool:
        """True if the units are windows, False if they are triggering events."""
        return not self.window.sliding

    @property
    def of_time(self) -> bool:
        """True if the units are windows of time."""
        return not self.window.sliding and not self.window.in_events

    @property
    def _hop(self) -> int:
        return self.window.hop or self.window.size

    def of(self, spans: Spans) -> tuple[Ids, Ids]:
        """(number of the match, unit) for every unit that a match is in, by match."""
        numbers = np.arange(len(spans.last), dtype=np.int64)
        if self.window.sliding:
            return numbers, spans.last
        begins, ends = (spans.first, spans.last) if self.window.in_events else (spans.start, spans.time)
        latest = whole_periods(self.window.start, self._hop, begins)
        earliest = whole_periods(self.window.start + self.window.size, self._hop, ends) + 1
        if self.lanes:
            latest = latest - (latest - spans.lane) % self.lanes
            earliest = latest
        if self.window.anchored:
            earliest = np.maximum(earliest, 0)
        counts = np.maximum(latest - earliest + 1, 0)
        rows = np.repeat(numbers, counts)
        offsets = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, earliest[rows] + offsets

    def begin(self, unit: int) -> int:
        """The beginning of a window."""
        return self.window.start + unit * self._hop

    def end(self, unit: int) -> int:
        """The first time or position after a window."""
        return self.begin(unit) + self.window.size

    def first_end_after(self, time: int) -> int:
        """The end of the first window that ends after a time."""
        return self.end((time - self.window.start - self.window.size) // self._hop + 1)
