"""Rows in memory for those who follow a query."""

from __future__ import annotations

from pathlib import Path

from spaseq.service.core.results import FRESH_CHARACTERS_MAX, FRESH_ROWS_MAX, Results
from spaseq.service.store.database import Database
from spaseq.service.store.writes import Row

QUERY = 7


def _results(folder: Path) -> Results:
    results = Results(Database(folder / "rows.sqlite", is_new=True), lambda name: QUERY)
    results.follow("q", lambda: None)
    return results


def _rows(first: int, count: int, text: str = "row") -> list[Row]:
    return [(QUERY, n, 0, n, 0, f"{text} {n}") for n in range(first, first + count)]


def test_the_newest_rows_are_in_memory_behind_any_number(tmp_path: Path) -> None:
    results, last = _results(tmp_path), 0
    for count in (1, 3, 1, FRESH_ROWS_MAX // 2, FRESH_ROWS_MAX - 1, 1, 7, 5 * FRESH_ROWS_MAX, 1, 1):
        results.stored({"q": _rows(last + 1, count)})
        last += count
        kept = max(1, min(FRESH_ROWS_MAX // 2, last))
        for after in (last, last - 1, last - kept):
            expected = [(n, f"row {n}") for n in range(after + 1, last + 1)]
            assert results.fresh_rows("q", after) == expected
    assert results.fresh_rows("q", last - FRESH_ROWS_MAX - 1) is None
    assert results.fresh_rows("q", last + 1) is None


def test_long_rows_are_in_memory_as_far_as_there_is_room(tmp_path: Path) -> None:
    results = _results(tmp_path)
    for n in range(1, 20):
        results.stored({"q": _rows(n, 1, "x" * (FRESH_CHARACTERS_MAX // 4))})
        held = next(n - after for after in range(n) if results.fresh_rows("q", after) is not None)
        assert 1 <= held <= 4
    results.stored({"q": _rows(20, 1, "x" * (2 * FRESH_CHARACTERS_MAX))})
    assert [n for n, _ in results.fresh_rows("q", 19) or ()] == [20]
    assert results.fresh_rows("q", 18) is None


def test_rows_of_another_query_of_the_name_begin_anew(tmp_path: Path) -> None:
    database, numbers = Database(tmp_path / "rows.sqlite", is_new=True), [QUERY]
    results = Results(database, lambda name: numbers[0])
    results.follow("q", lambda: None)
    results.stored({"q": _rows(1, 3)})
    numbers[0] = 8
    assert results.fresh_rows("q", 0) is None
    results.stored({"q": [(8, 1, 0, 1, 0, "other")]})
    assert results.fresh_rows("q", 0) == [(1, "other")]
