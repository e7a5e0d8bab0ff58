"""The benchmark runs, and reports what it measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.matcher import WORKLOADS, Samples, Workload
from benchmarks.matcher import measure as measure_matchers
from benchmarks.peers import measure_peers
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE

ROOT = Path(__file__).parents[2]


def test_every_peer_reads_the_same_events(tmp_path: Path) -> None:
    write_example(EXAMPLE, 60, 1, tmp_path)
    peers = measure_peers(sorted(tmp_path.glob("*.nq")))
    assert [(peer.events, peer.quads) for peer in peers] == [(60, 300)] * len(peers)
    assert len(peers) >= 4


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_all_systems_find_the_same_solutions_in_the_same_events(workload: Workload) -> None:
    rates = measure_matchers(workload, 60, 1, Samples(60, 60, 60))
    assert len(rates) == 4
    assert len({(rate.events, rate.triples, rate.solutions) for rate in rates}) == 1
    assert rates[0].solutions > 0


def test_the_benchmark_reports_three_sizes_and_the_matches_of_each(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    script = str(ROOT / "benchmarks" / "whole_way.py")
    command = [sys.executable, script, "--quads=10000", "--runs=1", f"--json={figures}"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    runs = json.loads(figures.read_text(encoding="utf-8"))["runs"]
    assert [(run["quads"], run["events"]) for run in runs] == [(10000, 2000), (20000, 4000), (40000, 8000)]
    assert all(run["seconds"] > 0 and run["rss_mb_max"] > 0 for run in runs)
    matches = [run["matches"] for run in runs]
    assert matches == sorted(matches)
    assert matches[0] > 0
