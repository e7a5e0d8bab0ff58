"""The tests keep rules of their own: about time, and about their speeds."""

from __future__ import annotations

import re
from pathlib import Path

from tests.costs import SPEEDS
from tests.project.sources import ROOT, source_files, text_of
from tests.waiting import PATIENCE_S

LIMIT = re.compile(r"\b(?:timeout=|timeout\(|wait\(|join\()(\d+(?:\.\d*)?)\b")
"""A time after which a call gives up, written as a number."""
PAUSE_S_MAX = 1.0
"""A shorter time is a pause in a loop."""
FEEDER = ROOT / "tests" / "fuzz" / "__main__.py"
"""It looks after its workers every five seconds."""


def _limits(text: str) -> list[float]:
    return [s for s in map(float, LIMIT.findall(text)) if PAUSE_S_MAX < s < PATIENCE_S]


def test_a_limit_is_known_wherever_it_is_written() -> None:
    assert _limits("p.wait(30)\nrun(c, timeout=20)\nwith asyncio.timeout(5.5): t.join(2)") == [30, 20, 5.5, 2]
    assert _limits("stop.wait(0.05)\nrun(c, timeout=PATIENCE_S)\nEngine(idle_timeout=2)") == []


def test_a_test_waits_for_an_event_and_not_for_a_time_that_a_busy_machine_may_exceed() -> None:
    files = [path for path in source_files("tests") if path not in (Path(__file__), FEEDER)]
    found = {str(path.relative_to(ROOT)): limits for path in files if (limits := _limits(text_of(path)))}
    assert found == {}, "tests.waiting has PATIENCE_S, waited and until"


def test_every_test_with_a_speed_is_there() -> None:
    for line in SPEEDS.read_text(encoding="utf-8").splitlines():
        mark, name = line.split()
        path, _, function = name.partition("::")
        assert mark in ("fast", "slow") and f"def {function}(" in text_of(ROOT / path), f"{line}: run make test-costs"
