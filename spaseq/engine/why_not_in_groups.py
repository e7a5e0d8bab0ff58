"""The reasons why a match of a query OVER MATCHES is in no row: HAVING, DISTINCT or LIMIT has removed its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.why import RecordedJob
from spaseq.engine.why_groups import in_unit, keys_of, of_groups
from spaseq.outputs.attempts import Fault, WhyNot
from spaseq.outputs.rows import Row
from spaseq.runtime.why.analysis import described
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.reasons import matches_of

_REMOVED_MAX = 10
"""Matches in groups that are no rows, and that are looked into."""


def in_groups(
    job: RecordedJob, query: TemporalQuery, evidence: Evidence, rows: Sequence[Row], matches: Sequence[Row]
) -> WhyNot:
    """The number of rows that have some of these matches; if there is none, the reasons why.

    rows        of the query
    matches     of `of_matches`, which `evidence` is about; at least one
    """
    every, kept = job.again(of_groups(query, having=False)), job.again(of_groups(query))
    having = [group for group in kept if any(_is_of(query, group, match) for match in matches)]
    shown = sum(1 for row in rows if any(_is_row(query, group, row) for group in having))
    if shown:
        return WhyNot(query.name, shown, ())
    faults = [_fault(query, every, having, match) for match in matches[:_REMOVED_MAX]]
    runs = (next(matches_of(evidence, match)).run for match in matches[:_REMOVED_MAX])
    attempts = [described(evidence, run, fault) for run, fault in zip(runs, faults, strict=True)]
    return WhyNot(query.name, 0, tuple(attempts), len(matches) - len(attempts))


def _fault(query: TemporalQuery, every: Sequence[Row], having: Sequence[Row], match: Row) -> Fault:
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


def _is_of(query: TemporalQuery, group: Row, match: Row) -> bool:
    """True if a match is in a group."""
    same = keys_of(query, group) == keys_of(query, match)
    return same and in_unit(query.window, group, match) and group.start <= match.start


def _is_row(query: TemporalQuery, group: Row, row: Row) -> bool:
    """True if a row of the query shows a group."""
    same_time = (row.time, row.start) == (group.time, group.start)
    return same_time and (row.graph is not None or dict(row.bindings) == dict(_shown(query, group)))
