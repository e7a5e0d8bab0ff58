"""Joins of relations: compatible mappings, whatever they leave unbound (SPARQL 1.1, Section 18.3 and 18.5).

Two mappings are compatible iff they agree on the variables that both bind. Rows are therefore split by the shared
variables that they bind; between two of these parts the join is an equality join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from arrays.columns import NONE
from sparql_gpm.bounds import RowCount, check_time
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.relations.relation import UNIT, BoundRows, Relation, nothing, union

_BLOCK_ROWS_MAX = 1 << 18
"""A join makes its rows, and passes them to the filter above it, in blocks of this size."""

_ROW = "\0row"
_NO_FRAMES = np.zeros(0, dtype=np.int64)

Keep = Callable[[Relation], Relation]
"""A filter on a block of joined rows, applied at once so that dropped rows take no memory."""


class _Span(NamedTuple):
    """The compatible pairs between two parts: row i of `left` with the rows at starts[i]:starts[i]+counts[i]."""

    left: BoundRows
    right: BoundRows
    keys: tuple[str, ...]
    starts: Ids
    counts: Ids
    order: Ids | None


def join(left: Relation, right: Relation, keep: Keep | None = None) -> Relation:
    """Compatible pairs of the same frame, merged; multiplicities multiply. Raises TooManyRows."""
    if left is UNIT or right is UNIT:
        other = right if left is UNIT else left
        return keep(other) if keep else other
    if not len(left) or not len(right):
        return nothing()
    blocks, count = [], RowCount()
    for span in _spans(left, right):
        for left_rows, right_rows in _pairs(span):
            check_time()
            block = _merge(span, left_rows, right_rows)
            blocks.append(keep(block) if keep else block)
            count.add(blocks[-1].events, len(blocks[-1]))
    return union(blocks, _NO_FRAMES)


def left_join(left: Relation, right: Relation, keep: Keep | None = None) -> Relation:
    """Pairs that `keep` keeps, and the left rows in none of them; `left` in frames unless `right` is not.

    `keep` may only drop rows.
    """
    if not len(left) or not len(right):
        return left
    numbered = left.extend(_ROW, np.arange(len(left), dtype=np.int64))
    pairs = join(numbered, right, keep)
    alone = np.ones(len(left), dtype=np.bool_)
    alone[pairs.column(_ROW)] = False
    return union([pairs.without((_ROW,)), left.take(alone)], _NO_FRAMES)


def minus(left: Relation, right: Relation) -> Relation:
    """Left rows without a compatible right row of the same frame that binds one of their variables."""
    if not len(left) or not len(right):
        return left
    stays = np.ones(len(left), dtype=np.bool_)
    for span in _spans(left, right):
        if span.keys:
            rows = np.flatnonzero(span.counts)
            stays[rows if span.left.rows is None else span.left.rows[rows]] = False
    return left.take(stays)


def _spans(left: Relation, right: Relation) -> Iterator[_Span]:
    shared = tuple(v for v in left.columns if v in right.columns)
    loose = tuple(v for v in shared if not (left.binds(v) and right.binds(v)))
    firm = [v for v in shared if v not in loose]
    for left_part in left.parts(loose) if loose else [BoundRows(frozenset(), None, left)]:
        for right_part in right.parts(loose) if loose else [BoundRows(frozenset(), None, right)]:
            keys = (*firm, *(v for v in loose if v in left_part.bound & right_part.bound))
            yield _span(left_part, right_part, keys)


def _span(left: BoundRows, right: BoundRows, keys: tuple[str, ...]) -> _Span:
    timed = left.relation.events is not None and right.relation.events is not None
    if not keys and not timed:
        starts = np.zeros(len(left.relation), dtype=np.int64)
        return _Span(left, right, keys, starts, np.full(len(starts), len(right.relation)), None)
    row_of_frame = right.relation.row_of_frame() if timed else None
    if row_of_frame is not None:
        return _span_of_frames(left, right, keys, row_of_frame)
    index = right.relation.index(keys, timed)
    starts, counts = index.find(left.relation.key_columns(keys, timed))
    return _Span(left, right, keys, starts, counts, index.order)


def _span_of_frames(left: BoundRows, right: BoundRows, keys: tuple[str, ...], row_of_frame: Ids) -> _Span:
    """The same where each frame has one row at the most: nothing need be sorted or searched."""
    frames = left.relation.events
    assert frames is not None
    rows = row_of_frame[np.minimum(frames, len(row_of_frame) - 1)]
    found: Mask = rows != NONE
    for key in keys:
        found &= right.relation.columns[key][rows] == left.relation.columns[key]
    return _Span(left, right, keys, rows, found.astype(np.int64), None)


def _pairs(span: _Span) -> Iterator[tuple[Ids | None, Ids]]:
    """Row numbers of the pairs, left (None: every row, in order) and right, in blocks."""
    counts = span.counts
    if not len(counts) or counts.max() <= 1:
        found: Mask = counts != 0
        if found.all():
            yield None, _placed(span, span.starts)
        elif found.any():
            rows = np.flatnonzero(found)
            yield rows, _placed(span, span.starts[rows])
        return
    ends = np.cumsum(counts)
    shifts = span.starts - ends + counts
    for begin in range(0, int(ends[-1]), _BLOCK_ROWS_MAX):
        pairs = np.arange(begin, min(begin + _BLOCK_ROWS_MAX, int(ends[-1])), dtype=np.int64)
        first, last = np.searchsorted(ends, pairs[[0, -1]], side="right").tolist()
        borders = np.concatenate((pairs[:1], ends[first:last], pairs[-1:] + 1))
        rows = np.repeat(np.arange(first, last + 1, dtype=np.int64), np.diff(borders))
        yield rows, _placed(span, pairs + shifts[rows])


def _placed(span: _Span, places: Ids) -> Ids:
    return places if span.order is None else span.order[places]


def _merge(span: _Span, left_rows: Ids | None, right_rows: Ids) -> Relation:
    left = span.left.relation if left_rows is None else span.left.relation.take(left_rows)
    right = span.right.relation
    columns = dict(left.columns)
    for name, column in right.columns.items():
        if name not in columns:
            columns[name] = column[right_rows]
        elif name not in span.keys:
            columns[name] = np.where(columns[name] == UNBOUND, column[right_rows], columns[name])
    events = left.events
    if events is None and right.events is not None:
        events = right.events[right_rows]
    return Relation(len(right_rows), events, columns, left.bound | right.bound)
