"""The partial matches that wait at a position, as values for people to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arrays.times import AFTER_ALL, TIME_NS_MAX
from automata.chains import columns as col
from automata.chains.clocks import lapse
from automata.chains.store import ChainStore
from automata.chains.table import Runs
from automata.matches.pending import PendingMatches
from automata.matches.reader import read_entries
from automata.plan.program import Window
from automata.slices.timeline import deadline
from automata.values import NONE, Ids, PartialMatch


def begun(chains: ChainStore, position: int) -> Ids:
    """The runs that stand at a position and have an event: one that stands at the start of a member may have none."""
    rows = chains.active[position].rows
    having: Ids = rows[chains.runs.column(rows, col.FIRST) != NONE]
    return having


def waiting_runs(chains: ChainStore, position: int, limit: int) -> list[PartialMatch]:
    """The newest partial matches that stand at a position, `limit` at most."""
    runs, window = chains.runs, chains.plan.program.window
    rows = _newest(runs, begun(chains, position), limit)
    lasts = np.full(len(rows), AFTER_ALL, dtype=np.int64)
    if not window.in_events:
        columns = (runs.column(rows, column) for column in (col.FIRST_TIME, col.FIRST_RANK, col.WINDOW))
        lasts = deadline(window, *columns)
    limited = lapse(chains.plan, runs, position, rows)
    return _read(runs, rows, lasts if limited is None else np.minimum(lasts, limited))


def waiting_matches(chains: ChainStore, pending: PendingMatches, limit: int) -> list[PartialMatch]:
    """The newest matches that wait to be reported, `limit` at most; each until the last event that may remove it."""
    places = _newest_places(chains.runs, pending.rows, limit)
    lasts = pending.limits[places]
    if not chains.plan.program.window.in_events:
        lasts = np.minimum(lasts, pending.deadlines[places])
    return _read(chains.runs, pending.rows[places], lasts)


def newest_of(found: Sequence[PartialMatch], limit: int) -> list[PartialMatch]:
    """Some of these, those with the newest events first."""
    return sorted(found, key=lambda each: each.entries[-1][1] if each.entries else NONE, reverse=True)[:limit]


def lasts_of(window: Window, times: Ids, ranks: Ids, windows: Ids) -> list[int | None]:
    """The last times in windows that begin with such events; None where windows count events."""
    return [None] * len(times) if window.in_events else _known(deadline(window, times, ranks, windows))


def _read(runs: Runs, rows: Ids, lasts: Ids) -> list[PartialMatch]:
    registers = map(tuple, runs.registers(rows).tolist())
    return list(map(PartialMatch, read_entries(runs, rows), registers, _known(lasts)))


def _known(lasts: Ids) -> list[int | None]:
    return [last if last < TIME_NS_MAX else None for last in lasts.tolist()]


def _newest(runs: Runs, rows: Ids, limit: int) -> Ids:
    return rows[_newest_places(runs, rows, limit)]


def _newest_places(runs: Runs, rows: Ids, limit: int) -> Ids:
    """The places of the rows with the last events, newest first; only those that may be among them are sorted."""
    last = runs.column(rows, col.HIGH)
    places = np.arange(len(rows), dtype=np.int64)
    if len(rows) > limit:
        places = places[last >= np.partition(last, len(rows) - limit)[len(rows) - limit]]
    return places[np.lexsort((-places, -last[places]))][:limit]
