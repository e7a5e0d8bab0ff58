"""FlinkCEP as a peer: a small Java program over the jars of the wheel `apache-flink-libraries`, where both are there.

PyFlink has no API for CEP, but its wheel brings the jars. Install it beside the project, not into it:
`pip install --no-deps --target DIR apache-flink-libraries`, and set SPASEQ_FLINK to DIR; a JDK 17 is needed too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lazy_patterns import Stream

ENVIRONMENT = "SPASEQ_FLINK"
SOURCE = Path(__file__).with_name("CepPeer.java")
_OPENED = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "time")]


@dataclass(frozen=True, slots=True)
class FlinkMeasured:
    """matches and processor seconds, those of the machine's start left out; None: it was stopped."""

    matches: int | None
    seconds: float | None


def why_no_flink() -> str | None:
    """What is missing, in words; None if FlinkCEP can be measured."""
    if ENVIRONMENT not in os.environ:
        return f"{ENVIRONMENT} is not set"
    if not list(_libraries().glob("flink-cep-*.jar")):
        return f"there is no flink-cep jar in {_libraries()}"
    if shutil.which("javac") is None or shutil.which("java") is None:
        return "there is no JDK: no javac on the PATH"
    return None


def measure_flink(
    events: Stream, steps: Sequence[int], window: int, margin: int | None, timeout_s: float
) -> FlinkMeasured:
    """One run of a sequence under skip-till-any.

    window      as `benchmarks.lazy_patterns`: the largest distance of two events of a match
    margin      by how much the last step's value must be greater than every other's; None: no condition
    """
    with tempfile.TemporaryDirectory() as folder:
        classes, lines = Path(folder, "classes"), Path(folder, "events.csv")
        path = f"{_libraries()}/*"
        subprocess.run(
            ["javac", "-nowarn", "-cp", path, "-d", str(classes), str(SOURCE)], check=True, capture_output=True
        )
        rows = zip(events.types.tolist(), events.values.tolist(), strict=True)
        lines.write_text(
            "".join(f"{kind},{value},{time}\n" for time, (kind, value) in enumerate(rows)), encoding="utf-8"
        )
        wanted = [",".join(map(str, steps)), str(window), "-" if margin is None else str(margin)]
        command = ["java", *_OPENED, "-cp", f"{classes}:{path}", "CepPeer", str(lines), *wanted]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return FlinkMeasured(None, None)
    matches, seconds = done.stdout.split()[-2:]
    return FlinkMeasured(int(matches), float(seconds))


def _libraries() -> Path:
    return Path(os.environ[ENVIRONMENT], "pyflink", "lib")
