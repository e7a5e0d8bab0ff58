"""The benchmark of threads gives the same matches with one thread and with two, and tells each thread's time."""

from __future__ import annotations

from pathlib import Path

from benchmarks.threads import QUERIES, measure, table, write_trades


def test_matches_are_the_same_with_two_threads(tmp_path: Path) -> None:
    path = tmp_path / "trades.nq"
    write_trades(path, 3_000)
    query = next(iter(QUERIES))
    one, two = (measure(query, path, count, 24_000) for count in (1, 2))
    assert one.matches == two.matches > 0
    assert 0 < one.longest_seconds <= one.processor_seconds * 1.1
    assert table([one, two]).row_count == 2
