"""The benchmark of latencies runs, and finds the matches that a run over the same events finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.latency_queries import TRADES

ROOT = Path(__file__).parents[2]


def test_the_benchmark_reports_matches_and_all_events_of_every_query(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "latency.py"), "--events=1200", f"--json={figures}"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    latencies = json.loads(figures.read_text(encoding="utf-8"))["latencies"]
    names = ["grid", "grid, 3 streams", *TRADES]
    assert [each["query"] for each in latencies] == [name for name in names for _ in range(2)]
    assert [each["events"] for each in latencies[1::2]] == [1080] * len(names)
    assert all(0 < each["median_us"] <= each["p99_us"] for each in latencies if each["events"])
    assert all(each["events"] > 10 and each["matches"] > 0 for each in latencies[4::2])
