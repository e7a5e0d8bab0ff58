"""Relations against multisets of dicts, however their columns are bound and however large their ids are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparql_gpm.relations.join
from sparql_gpm.relations.join import join, left_join, minus
from sparql_gpm.relations.keys import Index, first_rows, groups, row_keys
from sparql_gpm.relations.relation import UNIT, Relation, union

Row = tuple[int, dict[str, int]]
ids = st.sampled_from((0, 0, 1, 2, 3, 2**40, 2**40 + 1))
LEFT, RIGHT = ("a", "b", "c"), ("b", "c", "d")


def rows_over(names: Sequence[str]) -> st.SearchStrategy[list[Row]]:
    """Rows in any order, or one for each of some events in their order."""
    row = st.fixed_dictionaries(dict.fromkeys(names, ids))
    one_each = st.dictionaries(st.sampled_from((0, 1, 2, 3, 500)), row, max_size=5)
    return st.lists(st.tuples(st.integers(0, 2), row), max_size=6) | one_each.map(
        lambda rows: sorted(rows.items(), key=itemgetter(0))
    )


def relation(rows: Sequence[Row], names: Sequence[str], timed: bool = True) -> Relation:
    events = np.array([event for event, _ in rows], dtype=np.int64)
    columns = {name: np.array([row[name] for _, row in rows], dtype=np.int64) for name in names}
    return Relation(len(rows), events if timed else None, columns)


def bag(found: Relation) -> Counter[tuple[int, frozenset[tuple[str, int]]]]:
    assert found.events is not None or not len(found)
    events = [] if found.events is None else found.events.tolist()
    rows = [{v: int(c[i]) for v, c in found.columns.items() if c[i]} for i in range(len(found))]
    return Counter((event, frozenset(row.items())) for event, row in zip(events, rows, strict=True))


def bound(row: dict[str, int]) -> dict[str, int]:
    return {v: i for v, i in row.items() if i}


def compatible(left: Row, right: Row, timed: bool) -> bool:
    a, b = bound(left[1]), bound(right[1])
    return (not timed or left[0] == right[0]) and all(a[v] == b[v] for v in a.keys() & b.keys())


def merged(left: Row, right: Row) -> tuple[int, frozenset[tuple[str, int]]]:
    return left[0], frozenset((bound(left[1]) | bound(right[1])).items())


@given(rows_over(LEFT), rows_over(RIGHT), st.booleans())
def test_a_join_pairs_compatible_rows(left: list[Row], right: list[Row], timed: bool) -> None:
    found = join(relation(left, LEFT), relation(right, RIGHT, timed))
    assert bag(found) == Counter(merged(a, b) for a in left for b in right if compatible(a, b, timed))


@given(rows_over(LEFT), rows_over(RIGHT), st.booleans())
def test_a_left_join_keeps_rows_without_a_partner_that_passes(left: list[Row], right: list[Row], timed: bool) -> None:
    def passes(row: dict[str, int]) -> bool:
        return row.get("d", 0) != 1

    found = left_join(
        relation(left, LEFT), relation(right, RIGHT, timed), lambda block: block.take(block.column("d") != 1)
    )
    wanted: Counter[tuple[int, frozenset[tuple[str, int]]]] = Counter()
    for a in left:
        kept = [merged(a, b) for b in right if compatible(a, b, timed) and passes(b[1])]
        wanted.update(kept or [(a[0], frozenset(bound(a[1]).items()))])
    assert bag(found) == wanted


@given(rows_over(LEFT), rows_over(RIGHT), st.booleans())
def test_minus_drops_rows_that_share_a_bound_variable_with_a_compatible_one(
    left: list[Row], right: list[Row], timed: bool
) -> None:
    def dropped(a: Row) -> bool:
        return any(compatible(a, b, timed) and bound(a[1]).keys() & bound(b[1]).keys() for b in right)

    found = minus(relation(left, LEFT), relation(right, RIGHT, timed))
    assert bag(found) == Counter((a[0], frozenset(bound(a[1]).items())) for a in left if not dropped(a))


@given(rows_over(LEFT), rows_over(RIGHT))
def test_joining_in_small_blocks_gives_the_same_rows(left: list[Row], right: list[Row]) -> None:
    sizes = []

    def keep(block: Relation) -> Relation:
        sizes.append(len(block))
        return block

    whole = join(relation(left, LEFT), relation(right, RIGHT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparql_gpm.relations.join, "_BLOCK_ROWS_MAX", 1)
        assert bag(join(relation(left, LEFT), relation(right, RIGHT), keep)) == bag(whole)
    assert sum(sizes) == len(whole)


@given(rows_over(LEFT), rows_over(RIGHT))
def test_a_union_fills_missing_columns_with_unbound(left: list[Row], right: list[Row]) -> None:
    both = union([relation(left, LEFT), relation(right, RIGHT)], np.arange(3))
    assert bag(both) == bag(relation(left, LEFT)) + bag(relation(right, RIGHT))


@given(rows_over(LEFT))
def test_distinct_keeps_the_first_of_equal_rows_in_place(rows: list[Row]) -> None:
    wanted = list(dict.fromkeys((event, tuple(row[v] for v in LEFT)) for event, row in rows))
    found = relation(rows, LEFT).distinct()
    assert found.events is not None
    events = found.events.tolist()
    assert list(zip(events, zip(*(found.columns[v].tolist() for v in LEFT), strict=True), strict=True)) == wanted


def test_rows_that_hold_everywhere_are_spread_over_the_frames() -> None:
    everywhere = Relation(2, None, {"a": np.array([5, 6])})
    spread = everywhere.spread(np.array([1, 4]))
    assert spread.events is not None
    assert spread.events.tolist() == [1, 1, 4, 4]
    assert spread.columns["a"].tolist() == [5, 6, 5, 6]


def test_the_unit_changes_nothing_in_a_join() -> None:
    some = relation([(0, {"a": 1})], ("a",))
    assert join(UNIT, some) is some
    assert join(some, UNIT) is some


columns = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*(st.integers(0, 2**40) | st.integers(0, 2) for _ in range(width))), min_size=1)
)


@given(columns)
def test_keys_are_equal_exactly_for_equal_rows_however_large_the_ids(rows: list[tuple[int, ...]]) -> None:
    arrays = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    keys = row_keys(arrays).tolist()
    assert len(set(zip(keys, rows, strict=True))) == len(set(keys)) == len(set(rows))
    assert [rows[i] for i in first_rows(arrays)] == list(dict.fromkeys(rows))
    classes = groups(arrays)
    assert [rows[classes.first[i]] for i in classes.of_row] == rows


@given(columns, columns)
def test_an_index_finds_exactly_the_equal_rows(rows: list[tuple[int, ...]], probes: list[tuple[int, ...]]) -> None:
    width = len(rows[0])
    probes = [(*probe, 0, 0, 0)[:width] for probe in probes] + rows
    index = Index.of([np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)])
    starts, counts = index.find([np.array(column, dtype=np.int64) for column in zip(*probes, strict=True)])
    order = np.arange(len(rows)) if index.order is None else index.order
    for probe, start, count in zip(probes, starts.tolist(), counts.tolist(), strict=True):
        found = sorted(order[start : start + count].tolist()) if count else []
        assert found == [i for i, row in enumerate(rows) if row == probe]
