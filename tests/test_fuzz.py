"""The fuzzer from a fixed seed, and the inputs that it found something with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import BY_NAME, TARGETS, Finding, Target
from tests.fuzz.worker import fed, input_of

ROOT = Path(__file__).parent.parent
CORPUS = sorted(path for path in (Path(__file__).parent / "fuzz" / "corpus").rglob("*") if path.is_file())
SEED = 20_261_122


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once_is_used_or_refused(path: Path) -> None:
    BY_NAME[path.parent.name].take(path.read_bytes())


def test_some_hundreds_of_inputs_are_used_or_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--inputs=1500", f"--seed={SEED}", "--workers=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_an_input_is_the_same_each_time(target: Target) -> None:
    assert input_of(target, SEED, 3) == input_of(target, SEED, 3)


def test_a_wrong_use_is_a_finding() -> None:
    def wrong(data: bytes) -> None:
        raise Finding("wrong")

    assert "wrong" in (fed(Target("wrong", 1, lambda random: b"", wrong), b"") or "")
