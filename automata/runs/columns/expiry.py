"""Expiry of runs that no later event can extend: the window has passed, or the next steps cannot follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arrays.times import BEFORE_ALL, earlier
from automata.chains import columns as col
from automata.chains.clocks import lapse
from automata.chains.deferred import DeferredRuns
from automata.chains.table import RunView
from automata.plan.plan import Plan
from automata.plan.program import Window
from automata.slices.step_table import StepTable
from automata.slices.timeline import Timeline, next_window
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class Bounds:
    """Runs that began before `time`, in an earlier tumbling `window`, or whose `ranks` or limits have run out are over.

    now     no event before it will come
    """

    time: int = BEFORE_ALL
    window: int = BEFORE_ALL
    ranks: Timeline | None = None
    now: int = BEFORE_ALL


def expired(window: Window, time: int, timeline: Timeline) -> Bounds:
    """The bounds of what is over once no event before `time` will come."""
    if window.in_events:
        return Bounds(ranks=timeline, now=time)
    if window.sliding:
        return Bounds(time=earlier(time, window.size), now=time)
    return Bounds(window=next_window(window, time), now=time)


def next_expiry(plan: Plan, time: int) -> int:
    """The time before which it is not worth looking for expired runs again."""
    window = plan.program.window
    if window.in_events:
        return BEFORE_ALL
    passes = time + window.size // 32
    if not window.sliding:
        passes = window.start + ((time - window.start) // window.period + 1) * window.period
    return min([passes, *(time + limit // 32 for limit in plan.limits)])


class Expiry:
    """Looks at the runs of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def fresh_or_in_window(self, runs: RunView, rows: Ids, over: Bounds) -> Mask:
        """Runs without an event, and those that are not over."""
        fits = (runs.column(rows, col.FIRST_TIME) >= over.time) & (runs.column(rows, col.WINDOW) >= over.window)
        if over.ranks is not None:
            columns = runs.column(rows, col.PARTITION), runs.column(rows, col.FIRST_RANK)
            fits &= over.ranks.lasts(self._plan.program.window, *columns)
        kept: Mask = (runs.column(rows, col.FIRST) == NONE) | fits
        return kept

    def extendable(self, runs: RunView, position: int, rows: Ids, timeline: Timeline) -> Mask:
        """Runs at a position that are not closed, nor wait for an adjacent event that did not come."""
        keep = self._not_closed(runs, position, rows)
        if self._plan.positions[position].only_strict:
            partitions, inverse = np.unique(runs.column(rows, col.PARTITION), return_inverse=True)
            slots = np.array([timeline.slot(int(partition)) for partition in partitions], dtype=np.int64)
            possible = runs.column(rows, col.SLOT) >= slots[inverse]
            keep &= possible | (runs.column(rows, col.FIRST) == NONE) | (runs.column(rows, col.INSTANCE) != NONE)
        return keep

    def lasting(self, arrived: DeferredRuns, position: int, tables: Mapping[int, StepTable]) -> Mask:
        """At least the runs that have come to a position which events after those of the tables may extend."""
        rows = np.arange(len(arrived), dtype=np.int64)
        keep = self._not_closed(arrived, position, rows)
        window, reached = self._plan.program.window, [table for table in tables.values() if len(table)]
        if not window.sliding and not (window.in_events and self._plan.program.partition):
            keep &= arrived.column(rows, col.WINDOW) >= max(int(table.windows.max()) for table in reached)
        elif window.sliding and not window.in_events:
            newest = max(int(table.times.max()) for table in reached)
            keep &= arrived.column(rows, col.FIRST_TIME) >= newest - window.size
        last = lapse(self._plan, arrived, position, rows)
        if last is not None:
            keep &= last >= max(int(table.times[-1]) for table in reached)
        return keep

    def _not_closed(self, runs: RunView, position: int, rows: Ids) -> Mask:
        here = self._plan.positions[position]
        masks = runs.written.layout.closed_masks(range(len(here.outgoing))) if here.closing else {}
        left = np.full(len(rows), not masks)
        for column, mask in masks.items():
            left |= runs.column(rows, column) != mask
        return left
