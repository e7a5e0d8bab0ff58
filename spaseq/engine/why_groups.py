"""The matches of a row of OVER MATCHES, which is a group of them (specification 3.4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from automata.plan.program import Window
from sparql_gpm.pattern import Variable
from sparql_gpm.terms import Term
from spaseq.algebra.nodes import Column, TemporalQuery
from spaseq.outputs.rows import Row
from spaseq.runtime.why.evidence import Evidence

MATCHES_MAX = 100
"""Matches of a group that are explained; the others are counted."""
Keys = dict[str, Term]


def of_matches(query: TemporalQuery, row: Row | None = None) -> TemporalQuery:
    """The query whose rows are the matches that the groups are made of; in windows that overlap, those of a row's."""
    window = query.window
    if row is not None and window.hop is not None:
        window = replace(window, hop=None, start=row.start)
    return replace(
        query, over=None, columns=_key_columns(query), template=None, register=None, distinct=False, limit=None,
        window=window,
    )  # fmt: skip


def of_groups(query: TemporalQuery, having: bool = True) -> TemporalQuery:
    """The query of all groups, with the variables of GROUP BY beside the columns; perhaps those without HAVING, too."""
    assert query.over is not None, query.name
    over = query.over if having else replace(query.over, having=None)
    columns = (*query.columns, *_key_columns(query))
    return replace(query, over=over, columns=columns, template=None, register=None, distinct=False, limit=None)


def _key_columns(query: TemporalQuery) -> tuple[Column, ...]:
    assert query.over is not None, query.name
    return tuple(Column(_key(name), Variable(name)) for name in query.over.keys)


def _key(name: str) -> str:
    """A name that no column of a query can have."""
    return f"GROUP BY {name}"


def keys_of(query: TemporalQuery, row: Row) -> Keys:
    """The values of GROUP BY in a row of `of_groups` or `of_matches`."""
    assert query.over is not None, query.name
    found = dict(row.bindings)
    return {name: found[_key(name)] for name in query.over.keys if _key(name) in found}


def group_of(query: TemporalQuery, groups: Sequence[Row], rows: Sequence[Row], number: int) -> Row:
    """The row of `of_groups` that is a row of the query, by its number in output order.

    Equal rows, and graphs of one unit, stand in the same order in both.
    """
    row = rows[number - 1]

    def fits(other: Row) -> bool:
        if other.time != row.time or (query.template is None and other.start != row.start):
            return False
        found = dict(other.bindings)
        return all(found.get(name) == term for name, term in row.bindings)

    same = [group for group in groups if fits(group)]
    before = sum(1 for other in rows[: number - 1] if fits(other) and (other.graph is not None or _equal(other, row)))
    return same[min(before, len(same) - 1)]


def _equal(one: Row, other: Row) -> bool:
    return (one.time, one.start, one.bindings) == (other.time, other.start, other.bindings)


def matches_in(
    query: TemporalQuery, evidence: Evidence, groups: Sequence[Row], group: Row, matches: Sequence[Row]
) -> list[Row]:
    """The matches of a group: those of its reporting unit with its values of GROUP BY, in output order."""
    keys = keys_of(query, group)
    found = [row for row in matches if keys_of(query, row) == keys and in_unit(query.window, group, row)]
    if not query.window.sliding:
        return found
    units = [each for each in groups if each.time == group.time and keys_of(query, each) == keys]
    triggers = sorted({_trigger(evidence, row) for row in found})
    own = triggers[[each is group for each in units].index(True)]
    return [row for row in found if _trigger(evidence, row) == own]


def in_unit(window: Window, group: Row, match: Row) -> bool:
    """True if a match is in the reporting unit of a group; under SLIDING, in one of those that end at its time.

    Of windows that hop, only groups of these are asked: others begin between them.
    """
    if window.sliding:
        return match.time == group.time
    if window.hop is not None and not window.in_events and (group.start - window.start) % window.period:
        return False
    ends = match.time <= group.time if window.in_events else match.time < group.time
    return group.start <= match.start and ends


def _trigger(evidence: Evidence, row: Row) -> int:
    """The position of the last event of a match."""
    times = evidence.merged.times
    named = (event for _, names in row.events for name in names for event in evidence.named(name))
    return max(event for event in named if times[event] == row.time)
