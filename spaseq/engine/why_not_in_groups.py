"""The reasons why a match of a query OVER MATCHES is in no row: HAVING, DISTINCT or LIMIT has removed its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from automata.plan.program import Window
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.why import RecordedJob
from spaseq.engine.why_groups import in_unit, keys_of, of_groups
from spaseq.errors import InputError
from spaseq.outputs.attempts import Fault, WhyNot
from spaseq.outputs.rows import Row
from spaseq.physical.hopping import lane_windows, sliding_once
from spaseq.physical.program import compile_program
from spaseq.runtime.why.analysis import described
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.reasons import matches_of

_REMOVED_MAX = 10
"""Matches in groups that are no rows, and that are looked into."""


@dataclass(frozen=True, slots=True)
class MatchInWindow:
    """A row of `of_matches`, and the windows of the query in which it is one."""

    row: Row
    window: Window


def in_windows(job: RecordedJob, query: TemporalQuery) -> list[MatchInWindow]:
    """The rows of a query over matches, each as often as windows that overlap have to be told apart (EVERY).

    Raises InputError if these count events.
    """
    window = query.window
    if not window.overlaps:
        return [MatchInWindow(row, window) for row in job.again(query)]
    if not compile_program(query).lanes:
        once = job.again(replace(query, window=sliding_once(window)))
        return [MatchInWindow(row, window) for row in once]
    if window.in_events:
        hint = "leave out EVERY, or give the window a time"
        raise InputError(f"a row of query '{query.name}' does not say in which window its matches are", hint=hint)
    lanes = lane_windows(window)
    return [MatchInWindow(row, lane) for lane in lanes for row in job.again(replace(query, window=lane))]


def in_groups(
    job: RecordedJob, query: TemporalQuery, evidence: Evidence, rows: Sequence[Row], found: Sequence[MatchInWindow]
) -> WhyNot | None:
    """The number of rows that have some of these matches; if there is none, the reasons why; None: no group has them.

    rows    of the query
    found   those of `of_matches`, which `evidence` is about
    """
    every, kept = job.again(of_groups(query, having=False)), job.again(of_groups(query))
    matches = found
    if query.window.overlaps:  # one that slides has more of them
        matches = [match for match in found if any(_is_of(query, group, match) for group in every)]
    if not matches:
        return None
    having = [group for group in kept if any(_is_of(query, group, match) for match in matches)]
    shown = sum(1 for row in rows if any(_is_row(query, group, row) for group in having))
    if shown:
        return WhyNot(query.name, shown, ())
    faults = [_fault(query, every, having, match) for match in matches[:_REMOVED_MAX]]
    runs = (next(matches_of(evidence, match.row)).run for match in matches[:_REMOVED_MAX])
    attempts = [described(evidence, run, fault) for run, fault in zip(runs, faults, strict=True)]
    return WhyNot(query.name, 0, tuple(attempts), len(matches) - len(attempts))


def _fault(query: TemporalQuery, every: Sequence[Row], having: Sequence[Row], match: MatchInWindow) -> Fault:
    group = next(each for each in every if _is_of(query, each, match))
    if any(_is_of(query, each, match) for each in having):
        if query.distinct:
            return Fault("distinct", {}, "without DISTINCT it is a row")
        return Fault("limit-rows", {"limit": query.limit}, f"raise LIMIT {query.limit}")
    written = query.parsed.having
    assert written is not None, query.name
    text = " ".join(query.parsed.text[written.span.start : written.span.end].split())
    text = text if text.upper().startswith("HAVING") else f"HAVING {text}"
    return Fault("having", {"text": text, "values": dict(_shown(query, group))}, f"leave out {text}")


def _shown(query: TemporalQuery, group: Row) -> Iterator[tuple[str, Any]]:
    """The values of a group that its row shows."""
    names = {column.name for column in query.columns}
    return ((name, term) for name, term in group.bindings if name in names)


def _is_of(query: TemporalQuery, group: Row, match: MatchInWindow) -> bool:
    """True if a match is in a group."""
    same = keys_of(query, group) == keys_of(query, match.row)
    return same and in_unit(match.window, group, match.row) and group.start <= match.row.start


def _is_row(query: TemporalQuery, group: Row, row: Row) -> bool:
    """True if a row of the query shows a group."""
    same_time = (row.time, row.start) == (group.time, group.start)
    return same_time and (row.graph is not None or dict(row.bindings) == dict(_shown(query, group)))
