"""The benchmarks after the papers' experiments run, and their systems find the same matches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import lazy
from benchmarks.cel_stress import measure, partial_matches, stress_stream
from benchmarks.flink_peer import ENVIRONMENT, why_no_flink
from benchmarks.lazy import SYSTEMS, Measured, shifting, skewed, tree_beside_best
from benchmarks.paper_streams import Data, load, query_text
from benchmarks.sase import PlainRuns
from benchmarks.spaseq_paper import EXPERIMENTS, STEPS_MAX, with_operator, with_window, zigzag
from spaseq.lang.parse import parse

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("steps", [3, 4])
def test_all_systems_find_the_same_matches_at_the_last_event_and_none_before(steps: int) -> None:
    found = measure(steps, [30], None)
    assert [m.system for m in found] == ["CEA + tECS", "run-based", "lazy chain", "plain Python"]
    assert len({m.matches for m in found}) == 1
    assert found[0].matches > 0


def test_partial_matches_are_counted_without_making_them() -> None:
    events = stress_stream(3, 40, seed=2)
    runs = PlainRuns(range(3), 40)
    for position, kind in enumerate(events.types[:-1].tolist()):
        assert list(runs.take(position, kind)) == []
    assert runs.held == partial_matches(3, events)


def test_plain_runs_leave_out_what_is_outside_the_window() -> None:
    runs = PlainRuns((0, 1), 2)
    assert [match for position, kind in enumerate((0, 0, 1, 1)) for match in runs.take(position, kind)] == [
        (0, 2),
        (1, 2),
        (1, 3),
    ]


def test_lazy_and_eager_systems_find_the_same_over_skewed_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "SHARES", {})
    found = skewed(10, 900, 30, 50)
    assert {m.system for m in found} == {*SYSTEMS, "plain Python"}
    assert {m.pattern for m in found if m.matches} == {"SEQ", "AND", "NEG", "ITER", "OR"}


def test_the_tree_is_set_against_the_best_fixed_order_after_every_shift() -> None:
    found = [
        Measured(f"part {part}", system, 100, 0, 1, seconds)
        for part, tree in ((1, 3.0), (2, 1.0))
        for system, seconds in (("chain ABC", 2.0), ("chain BCA", 4.0), ("run-based", 0.1), ("lazy tree", tree))
    ]
    told = tree_beside_best(found)
    assert "part 1: 1.50 × the time of chain ABC; part 2: 0.50 × the time of chain ABC" in told
    assert {m.pattern for m in shifting(600, 20, 50)} == {"SEQ, part 1", "SEQ, part 2", "SEQ, part 3"}


def test_what_keeps_flink_from_being_measured_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert why_no_flink() == f"{ENVIRONMENT} is not set"
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    assert "no flink-cep jar" in (why_no_flink() or "")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Data]:
    cases = ("smart_grid", "credit_card", "stock", "traffic", "vessels")
    return {case: load(case, 60, tmp_path_factory.mktemp(case)) for case in cases}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(name: str, loaded: dict[str, Data]) -> None:
    measured = EXPERIMENTS[name](loaded.__getitem__)
    assert {m.events for m in measured} == {60}
    assert len({m.what for m in measured}) == len(measured)


def test_what_is_switched_off_changes_no_match(loaded: dict[str, Data]) -> None:
    for name in ("index", "conjunction"):
        matches = [m.matches for m in EXPERIMENTS[name](loaded.__getitem__)]
        assert matches[::2] == matches[1::2]


def test_queries_are_varied_as_the_experiments_say() -> None:
    text = with_window(with_operator(query_text("smart_grid"), ";"), 20)
    assert "SEQ(A; B;+; C)" in text
    assert "WITHIN 20 MINUTES" in text
    assert "SEQ(A, B, C)" in with_operator(query_text("stock"), ",")
    assert len(parse(zigzag(STEPS_MAX, ";"), "q").defines) == STEPS_MAX


@pytest.mark.parametrize("script", ["cel_stress.py --sizes 20", "spaseq_paper.py kleene --events 60"])
def test_the_benchmarks_print_tables(script: str) -> None:
    name, *arguments = script.split()
    command = [sys.executable, str(ROOT / "benchmarks" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "matches" in done.stdout
