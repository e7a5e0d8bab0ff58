"""The benchmark of CORE's patterns: the three systems find the same matches, and it runs."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.core import ENVIRONMENT, with_cea, with_plain_runs, with_runs
from benchmarks.core_patterns import FOUR, STEPS, iteration, operators, read_trades, sequence

ROOT = Path(__file__).parents[2]
NAMED = (*STEPS[:4], *((side, name) for side, name, _ in FOUR))


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """A thousand trades, a few seconds apart, of names that the patterns ask for."""
    chance = random.Random(1)
    path, clock = tmp_path / "trades.csv.gz", 0
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        for number in range(1000):
            clock += chance.randrange(0, 2000)
            side, name = chance.choice(NAMED)
            price = chance.choice((5.0, 30.0))
            lines.write(f"{side},{number},{name},{chance.choice((100, 4000))},{price},{clock}\n")
    return path


@pytest.mark.parametrize("length", [2, 3, 4])
def test_all_systems_find_the_same_number_of_matches(stock: Path, length: int) -> None:
    trades = read_trades(stock)
    counts = {system(sequence(length, False), trades).matches for system in (with_cea, with_runs, with_plain_runs)}
    assert len(counts) == 1
    assert counts != {0}


@pytest.mark.parametrize(("length", "matches"), [(3, 346_046), (9, 337_040)])
def test_the_trades_of_core_have_as_many_matches_as_dynamic_programming_counts(length: int, matches: int) -> None:
    named = os.environ.get(ENVIRONMENT)
    if named is None:
        print(f"{ENVIRONMENT} is not set: the trades are not counted")
        return
    assert with_cea(sequence(length, False), read_trades(Path(named))).matches == matches


def test_iteration_is_counted_alike(stock: Path) -> None:
    trades = read_trades(stock)
    assert with_cea(iteration(False), trades).matches == with_runs(iteration(False), trades).matches


def test_other_operators_are_counted_alike_and_filters_and_partitions_leave_fewer(stock: Path) -> None:
    trades = read_trades(stock)
    counts = []
    for pattern in operators():
        counts.append(with_cea(pattern, trades).matches)
        assert with_runs(pattern, trades).matches == counts[-1]
    sequences, choices = counts[:3], counts[3:]
    assert min(counts) > 0
    assert all(some < most for most, *others in (sequences, choices) for some in others)
    assert all(less <= more for less, more in zip(sequences, choices, strict=True))


def test_the_benchmark_prints_a_table_of_every_pattern(stock: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "core.py"), "--lengths=3", "--runs=1", "--days=2"]
    environment = {**os.environ, ENVIRONMENT: str(stock)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for pattern in ("P3 ", "P3′", "Q1 ", "Q6 ", "Q7 ", "P6′, 64 T", "P6′, 2 days"):
        assert pattern in done.stdout


def test_the_benchmark_of_growing_windows_streams_and_outputs_prints_its_tables() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "core_scaling.py")]
    command += ["--events=2000", "--longest=100000", "--runs=1"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for title in ("window 64 T", "100,000", "12 steps, 1,000,000 an event"):
        assert title in done.stdout
