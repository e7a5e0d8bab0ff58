"""Limits of operators and steps as deadlines of runs: the clocks of timed automata.

A limited step has a clock, which its first event sets to the last time at which the run may take an event inside. The
first one is not known to be it where members of an ALL run side by side: each sets the clock unless it is set to an
earlier deadline, and the least of theirs holds once they are joined. A clock that a run does not use is TIME_NS_MAX.
"""

from __future__ import annotations

import numpy as np

from arrays.times import BEFORE_ALL, TIME_NS_MAX, later
from automata.chains import columns as col
from automata.chains.table import Runs, RunView
from automata.plan.plan import Plan, PlannedEdge
from automata.values import NONE, Ids


def deadlines(runs: RunView, edge: PlannedEdge, rows: Ids) -> Ids | None:
    """The last times at which runs may take an edge; None if it is not limited."""
    if not edge.limited:
        return None
    least = np.full(len(rows), TIME_NS_MAX, dtype=np.int64)
    if edge.limit is not None:
        least = later(runs.column(rows, col.HIGH_TIME), edge.limit)
    for clock in edge.deadlines:
        least = np.minimum(least, runs.column(rows, runs.written.layout.clock(clock)))
    return least


def lapse(plan: Plan, runs: RunView, position: int, rows: Ids) -> Ids | None:
    """The last times at which an event may extend the runs at a position; None if no limit tells."""
    here = plan.positions[position]
    if not here.lapses:
        return None
    latest = np.full(len(rows), BEFORE_ALL, dtype=np.int64)
    for number in here.onward:
        last = deadlines(runs, plan.edges[number], rows)
        assert last is not None, number
        latest = np.maximum(latest, last)
    return latest


def set_clocks(runs: Runs, edge: PlannedEdge, sources: Ids, times: Ids) -> dict[int, Ids]:
    """The columns of clocks that rows change as they take an edge at these times, and their values."""
    columns: dict[int, Ids] = {}
    for clock, limit in edge.timed:
        column, last = runs.layout.clock(clock), later(times, limit)
        running = clock not in edge.starts
        columns[column] = np.minimum(runs.column(sources, column), last) if running else last
    return columns


def opened_clocks(plan: Plan, runs: Runs, edge: PlannedEdge, sources: Ids) -> dict[int, Ids]:
    """The same as they open an ALL: limited steps that begin with it, and the limit of the operator before it."""
    columns = {runs.layout.clock(clock): np.full(len(sources), TIME_NS_MAX, dtype=np.int64) for clock in edge.starts}
    own = plan.unordered[plan.positions[edge.target].any_order].clock
    if own != NONE:
        last = deadlines(runs, edge, sources)
        columns[runs.layout.clock(own)] = np.full(len(sources), TIME_NS_MAX) if last is None else last
    return columns
