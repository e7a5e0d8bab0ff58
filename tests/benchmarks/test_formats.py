"""Every reader of the benchmark of formats reads the same events."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks import jelly, stock_tables
from benchmarks.core_patterns import STEPS
from benchmarks.formats import FILES, PEERS, QUADS_PER_EVENT, TABLES, read_stream, write_files


def test_every_reader_reads_the_same_events(tmp_path: Path) -> None:
    write_files(tmp_path, 40)
    found = {name: read_stream(tmp_path / file, name in TABLES) for name, file in FILES.items()}
    found |= {name: read(tmp_path / file) for name, (file, read) in PEERS.items()}
    assert found == dict.fromkeys(found, (40, 40 * QUADS_PER_EVENT))


def test_jelly_and_nquads_of_both_streams_have_the_same_quads(tmp_path: Path) -> None:
    found = {(rate.stream, rate.quads) for rate in jelly.measured(tmp_path, 200, 1)}
    assert found == {("own terms", 200), ("returning terms", 200)}


def test_the_stock_patterns_find_as_many_rows_in_both_tables(tmp_path: Path) -> None:
    trades = "".join(f"{side},{n},{name},100,2.5,{1000 * n}\n" for n, (side, name) in enumerate(STEPS[:3] * 4))
    (tmp_path / "stock.csv.gz").write_bytes(gzip.compress(trades.encode()))
    stock_tables.write_files(tmp_path / "stock.csv.gz", tmp_path)
    found = stock_tables.measured(tmp_path, [2, 3], ["auto"], 1)
    assert [each.rows for each in found] == [6, 6, 10, 10]  # of three trades of each kind in the first ten seconds
