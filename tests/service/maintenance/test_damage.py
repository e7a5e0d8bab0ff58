"""A damaged folder gives the same rows, or a refusal, or says what is damaged: draws over every file and region."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.service.store.damage import DATABASE
from spaseq.service.store.reading import sound_entries
from spaseq.service.store.tables import checked
from spaseq.service.store.writes import LETTERS
from tests.drawn import drawn as examples
from tests.service.damage import Base, drawn, outcome, prepared


def test_no_damage_gives_another_row_or_loses_an_event_in_silence() -> None:
    outcomes = Counter[str]()
    with prepared(1) as (some, scratch):
        for number in range(examples(60)):
            _, outcome = drawn(2, number, some, scratch)
            outcomes[outcome] += 1
    assert outcomes["refused"] > outcomes.total() / 2 and outcomes["not noticed"] < outcomes.total() / 10


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("letters", "n", -(2**63)),
        ("rows", "n", 2**62),
        ("rows", "n", "x"),
        ("rows", "query", ""),
        ("rows", "link", None),
    ],
)
def test_another_value_in_an_entry_is_no_row_and_ends_no_check(
    some: Sequence[Base], tmp_path: Path, table: str, column: str, value: int | str | None
) -> None:
    for base in some:
        folder = tmp_path / base.folder.name
        shutil.copytree(base.folder, folder)
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
            database.execute(f"update {table} set {column} = ? where n = (select max(n) from {table})", (value,))
        assert outcome(folder, base, repaired=True) in ("refused", "said in its place")


@pytest.fixture(scope="module")
def some() -> Iterator[Sequence[Base]]:
    with prepared(1) as (found, _):
        yield found


class _Swapped:
    """A connection to a database whose pages stand in other places: SQLite gives entries that were not asked for."""

    def __init__(self, entries: Sequence[tuple[object, ...]]) -> None:
        self._entries = entries

    def execute(self, sql: str, values: Sequence[object] = ()) -> _Swapped:
        return self

    def fetchall(self) -> list[tuple[object, ...]]:
        return list(self._entries)


_VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3) | st.binary(max_size=3)


@given(st.data(), st.sampled_from((LETTERS, 7)))
def test_of_entries_that_were_not_asked_for_only_those_as_they_were_written_are_given(
    data: st.DataObject, query: int
) -> None:
    table, key = ("letters", ()) if query == LETTERS else ("rows", (query,))
    good = [checked(table, *key, n, 0, 1, 2, "text") for n in range(3)]
    width = len(good[0])
    others = data.draw(st.lists(st.lists(_VALUES, min_size=width, max_size=width).map(tuple), max_size=5))
    read = _Swapped(data.draw(st.permutations([*others, *good])))
    assert sorted(sound_entries(read, query, 1, 2)) == good[1:]  # type: ignore[arg-type]
