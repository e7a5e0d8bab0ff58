"""The whole way gives the same matches from every format, and CORE's program is given what it takes."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import stock_tables, whole_way
from benchmarks.core import ENVIRONMENT
from benchmarks.core_patterns import STEPS
from benchmarks.figures import Usage, run_process
from benchmarks.reading import read_tables
from spaseq.cli import main

STAND_IN = f"""#!{sys.executable}
import re, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
query, declaration = (open(options[each]).read() for each in ("-q", "-d"))
assert declaration.count("EVENT ") == 2 and "WITHIN 10000 [stock_time]" in query, (query, declaration)
sides, names = re.findall(r"(\\w+) as", query), re.findall(r"name = '(\\w+)'", query)
trades = [line.split(",") for line in open(options["-c"]).read().splitlines()[1:]]
print("Query: " + query)
runs = [(), *([] for _ in sides)]
runs[0] = [()]
for place, (side, _, name, _, _, time) in enumerate(trades):
    for step in reversed(range(len(sides))):
        if (side, name) == (sides[step], names[step]):
            taken = [(*run, (place, int(time))) for run in runs[step] if not run or int(time) - run[0][1] < 10000]
            runs[step + 1] += taken
for run in runs[-1]:
    print(f"[{{run[0][0]}},{{run[-1][0]}}], (…)")
"""
"""A program with the options and the output of CORE's, which takes events one by one."""


def in_this_process(arguments: Sequence[str], output: Path | None = None) -> Usage:
    """As `run_process`, without the start of another interpreter; CORE's program has a process."""
    if arguments[0] != sys.executable:
        return run_process(arguments, output)
    done = CliRunner().invoke(main, list(arguments[3:]))
    assert done.exit_code == 0, done.output
    return Usage(1.0, 1.0, 1.0)


def test_the_matches_of_parquet_are_those_of_nquads(tmp_path: Path) -> None:
    query = whole_way.ROOT / "examples" / "smart_grid" / "query.rq"
    found = []
    for suffix in ("nq", "parquet"):
        whole_way.write_streams(2_000, 1, tmp_path, suffix)
        output = tmp_path / f"{suffix}.ndjson"
        in_this_process([sys.executable, "-c", "", *whole_way.command(query, tmp_path, output, suffix)])
        found.append(output.read_text(encoding="utf-8").splitlines())
    assert found[0] == found[1] != []
    read_tables([tmp_path / f"{stream}.parquet" for stream in whole_way.STREAM_NAMES.values()])


def test_core_runs_beside_where_a_checkout_has_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "build" / "offline"
    program.parent.mkdir()
    program.write_text(STAND_IN, encoding="utf-8")
    program.chmod(0o755)
    trades = "".join(f"{side},{n},{name},100,2.5,{1000 * n}\n" for n, (side, name) in enumerate(STEPS[:3] * 6))
    stock = tmp_path / "stock.csv.gz"
    stock.write_bytes(gzip.compress(trades.encode()))
    monkeypatch.setitem(os.environ, ENVIRONMENT, str(stock))
    monkeypatch.setattr(whole_way, "run_process", in_this_process)
    runs = whole_way.measure_stock(tmp_path, [3], 1)
    assert [run.system for run in runs] == ["CORE, CSV", "spaseq, trades.csv", "spaseq, trades.parquet"]
    assert len({run.rows for run in runs}) == 1, runs
    assert runs[0].rows > 0
    assert whole_way.stock_table(runs).row_count == 3
    stock_tables.write_files(stock, tmp_path)
    beside = stock_tables.measured(tmp_path, [3], ["auto"], 1, tmp_path)
    assert [each.rows for each in beside] == [runs[0].rows] * 3


def test_a_checkout_without_a_build_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"build/offline .*: build CORE there"):
        whole_way.measure_stock(tmp_path, [3], 1)
