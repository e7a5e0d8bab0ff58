"""The fuzzer from a fixed seed, and the inputs that it found something with."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import corpora, streams
from tests.fuzz.__main__ import chunks
from tests.fuzz.messages import messages_mutated
from tests.fuzz.target import Finding, Target
from tests.fuzz.targets import BY_NAME, TARGETS
from tests.fuzz.worker import PLACE_BYTES, READY, fed, input_of, too_long
from tests.fuzz.workers import Patience, Worker

ROOT = Path(__file__).parents[2]
CORPUS = sorted(path for path in (Path(__file__).parent / "corpus").rglob("*") if path.is_file())
SEED = 20_261_122
FEW = ("query", "csv", "tsv", "quads", "calls")
"""The ways in whose inputs cost most."""
BEGUN = "print(flush=True); "
BUSY, ASLEEP = BEGUN + "\nwhile True: pass", BEGUN + "import time; time.sleep(600)"


@pytest.fixture
def limited() -> Iterator[None]:
    """The limit of an input's processor time."""
    before = signal.signal(signal.SIGPROF, too_long)
    yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once_is_used_or_refused(path: Path) -> None:
    BY_NAME[path.parent.name].take(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.usefixtures("limited")
def test_inputs_of_each_way_in_are_used_or_refused(target: Target) -> None:
    target.ready()
    for number in range(30 if target.name in FEW else 120):
        error = fed(target, input_of(target, SEED, number))
        assert error is None, f"{target.name} {number}: {error}"


def test_the_fuzzer_feeds_by_workers() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "turtle", "answer", "--inputs=300", f"--seed={SEED}", "--workers=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[-3:]] == [
        ["turtle", "300"], ["answer", "300"], ["all", "600"],
    ]  # fmt: skip


def test_each_way_in_gets_all_its_inputs_before_the_next() -> None:
    found = list(chunks(TARGETS[:3], 450))
    assert [chunk.target for chunk in found] == [target.name for target in TARGETS[:3] for _ in range(3)]
    assert [(chunk.first, chunk.size) for chunk in found[:3]] == [(0, 200), (200, 200), (400, 50)]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_an_input_is_the_same_each_time(target: Target) -> None:
    assert input_of(target, SEED, 3) == input_of(target, SEED, 3)


def test_a_wrong_use_is_a_finding() -> None:
    def wrong(data: bytes) -> None:
        raise Finding("wrong")

    assert "wrong" in (fed(Target("wrong", lambda random: b"", wrong), b"") or "")


@pytest.mark.parametrize(
    ("code", "number", "patience", "killed"),
    [
        (BUSY, 5, Patience(cpu=0.1), True),
        (BUSY, 5, Patience(asleep=0.1), False),
        (BUSY, READY, Patience(cpu=0.1, asleep=0.1), False),
        (BUSY, READY, Patience(ready_cpu=0.1), True),
        (ASLEEP, 5, Patience(asleep=0.5), True),
        (ASLEEP, READY, Patience(asleep=0.5), True),
        (ASLEEP, 5, Patience(cpu=0.1), False),
    ],
)
def test_a_worker_is_killed_for_its_own_time_not_for_that_of_others(
    code: str, number: int, patience: Patience, killed: bool, tmp_path: Path
) -> None:
    place, errors = tmp_path / "place", tmp_path / "errors"
    place.write_bytes(number.to_bytes(PLACE_BYTES, "big"))
    errors.touch()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "\n"
        worker = Worker(process, place, errors)
        until = time.monotonic() + (30 if killed else 0.6)
        while time.monotonic() < until and process.poll() is None:
            worker.end_if_hung(patience)
            time.sleep(0.02)
        assert (process.poll() is not None) == killed
        process.kill()
    assert (worker.hung is not None) == killed
    assert not killed or f"{-signal.SIGABRT}: it " in worker.ended()


def test_mutated_jelly_is_read_further_than_its_header() -> None:
    random, reached = Random(SEED), Counter[str]()
    for _ in range(300):
        seed = random.choice(corpora.EVENTS["jelly"])
        events, reports = streams.read(messages_mutated(random, seed), "jelly")
        reached["events"] += bool(events)
        reached["both"] += bool(events and reports)
    assert reached["events"] > 150
    assert reached["both"] > 50
