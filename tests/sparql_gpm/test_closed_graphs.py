"""What is remembered of closed graphs, key by key and many at once; names that stand in a text."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.columns import Ids
from sparql_gpm.graph_names import GraphNames, joined, take
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.reading.closed_graph_table import ClosedGraphTable
from sparql_gpm.reading.closed_graphs import ClosedGraphs

keys = st.sampled_from([b"<urn:%d>" % number for number in range(12)] + [b"<urn:%b>" % (b"long" * 9), b"<>"])
names = st.lists(st.text("abc:/", max_size=4), max_size=5)


def in_text(found: list[bytes]) -> tuple[Ids, Ids, bytes]:
    lengths = np.array([len(key) for key in found], dtype=np.int64)
    stops = np.cumsum(lengths + 1) - 1
    return stops - lengths, stops, b"|".join(found)


@given(st.integers(1, 6), st.lists(st.one_of(keys, st.lists(keys, max_size=8)), max_size=12))
def test_a_table_remembers_what_is_remembered_key_by_key(size: int, steps: list[bytes | list[bytes]]) -> None:
    expected = ClosedGraphs(size)
    expected.add(b"<urn:3>")
    table = ClosedGraphTable(size, expected)
    for step in steps:
        if isinstance(step, bytes):
            expected.add(step)
            table.add(step)
        else:
            fresh = []
            for key in step:
                if key in expected:
                    break
                expected.add(key)
                fresh.append(key[1:-1].decode())
            starts, stops, text = in_text(step)
            assert list(table.admit(as_bytes(text), starts, stops)) == fresh
        for number in range(12):
            assert (b"<urn:%d>" % number in table) == (b"<urn:%d>" % number in expected)


def test_a_table_forgets_the_oldest_and_stays_small() -> None:
    table = ClosedGraphTable(1000, [])
    for block in range(60):
        starts, stops, text = in_text([b"<urn:%d:%d>" % (block, number) for number in range(500)])
        assert len(table.admit(as_bytes(text), starts, stops)) == 500
    assert b"<urn:57:499>" not in table
    assert b"<urn:58:0>" in table
    assert len(table._arena) < 100_000


def names_in_text(found: list[str], unused: int) -> GraphNames:
    starts, stops, text = in_text([name.encode() for name in found])
    return GraphNames(b"#" * unused + text, starts + unused, stops + unused)


@given(
    st.lists(st.tuples(names, st.sampled_from((0, 1, 500))), min_size=1, max_size=4),
    st.data(),
    st.lists(st.sampled_from(([], ["one", "more"], ["één"])), max_size=2),
)
def test_names_in_a_text_are_those_of_a_list(
    parts: list[tuple[list[str], int]], data: st.DataObject, lists: list[list[str]]
) -> None:
    expected = [name for part in [*(part for part, _ in parts), *lists] for name in part]
    found = joined([*(names_in_text(part, unused) for part, unused in parts), *lists])
    assert isinstance(found, GraphNames) == (["één"] not in lists)
    assert list(found) == [found[place] for place in range(len(found))] == expected
    places = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=6)) if expected else []
    assert list(take(found, np.array(places, dtype=np.int64))) == [expected[place] for place in places]
    begin, end = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    assert list(found[begin:end]) == expected[begin:end]


def test_putting_together_what_is_left_of_names_does_not_pile_up_text() -> None:
    left = GraphNames(b"", np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for number in range(50):
        batch = names_in_text([f"urn:{number}:{i}" for i in range(1000)], 0)
        together = joined([left, batch])
        assert isinstance(together, GraphNames)
        left = together[len(together) - 10 :]
    assert list(left)[-1] == "urn:49:999"
    assert len(left._text) < 30_000
