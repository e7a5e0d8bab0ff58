"""The benchmark of threads finds the same with one thread and with two, and tells each thread's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.threads import QUERIES, READING, measure, table, write_trades


@pytest.mark.parametrize("query", [READING, next(iter(QUERIES))])
def test_the_same_is_found_with_two_threads(tmp_path: Path, query: str) -> None:
    path = tmp_path / "trades.nq"
    write_trades(path, 3_000)
    one, two = (measure(query, path, count, 24_000) for count in (1, 2))
    assert one.found == two.found > 0
    assert 0 < one.longest_seconds <= one.processor_seconds * 1.1
    assert table([one, two]).row_count == 2
