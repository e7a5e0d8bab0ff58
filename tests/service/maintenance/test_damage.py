"""A damaged folder gives the same rows, or a refusal, or says what is damaged: draws over every file and region."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from spaseq.service.store.damage import DATABASE
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
