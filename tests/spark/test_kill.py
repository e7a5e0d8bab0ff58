"""Nothing is lost and nothing comes twice when the driver is killed with -9 and started again.

By hand, with more kills, of every evaluator in turn:  python -m tests.spark.test_kill --kills 20 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import spaseq
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from tests.spark.killed_job import JOBS, MAX_DELAY_NS, Killed

ROOT = Path(__file__).resolve().parents[2]
DISORDER_S = 8
FILES, EVENTS_EACH = 6, 60
LATE = "urn:late"
_STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
_BUSY = "Python worker failed to connect back"
"""Spark gives a worker ten seconds to start, which a busy machine may not have: as good as a kill."""
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def event(name: str, second: int, triple: str) -> str:
    time = f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
    return f'<{name}> <{_STAMP}> "{time}"^^<{_DATE_TIME}> .\n{triple} <{name}> .\n'


def write_streams(folder: Path, seed: int, job: Killed) -> None:
    """Streams with disorder within the delay, and one event that is an hour late."""
    rng = random.Random(seed)
    alone = len(job.streams) == 1
    for name, predicates in zip(job.streams, ("ab",) if alone else "ab", strict=True):
        (folder / name).mkdir(parents=True)
        count, step = FILES * EVENTS_EACH, 2 if alone else 5
        order = sorted(range(count), key=lambda n: step * n + rng.uniform(0, DISORDER_S))
        texts = [
            event(f"urn:{name}:{n}", 7200 + step * n, f'<urn:s{rng.randrange(4)}> <urn:{rng.choice(predicates)}> "{n}"')
            for n in order
        ]
        if name == "S1":
            texts[-1] += event(LATE, 3600, '<urn:s1> <urn:a> "late"')
        for number in range(FILES):
            part = texts[number * EVENTS_EACH : (number + 1) * EVENTS_EACH]
            (folder / name / f"{number:04d}.nq").write_text("".join(part), encoding="utf-8")


def embedded(folder: Path, job: Killed) -> Counter[str]:
    streams = {name: folder / name for name in job.streams}
    return Counter(map(str, spaseq.run(spaseq.parse(job.text, "killed"), streams, max_delay_ns=MAX_DELAY_NS)))


def run_once(folder: Path, name: str, kill: tuple[int, float] | None) -> bool:
    """Whether the job came to its end; else it was killed: (micro-batches begun, seconds after that)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(ROOT / "tests" / "spark" / "killed_job.py"), str(folder), name]
    begun = _begun(folder)
    with open(folder / "log", "ab") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    while kill is not None and job.poll() is None:
        if _begun(folder) - begun >= kill[0]:
            time.sleep(kill[1])
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)  # the JVM and its workers, too
            break
        time.sleep(0.02)
    code = job.wait()
    told = (folder / "log").read_text(errors="replace")
    assert code in (0, -signal.SIGKILL) or _BUSY in told[-3000:], told[-3000:]
    return code == 0


def _begun(folder: Path) -> int:
    """The micro-batches that both queries have begun, by their logs of offsets."""
    return sum(1 for name in ("files", "table") for _ in (folder / f"checkpoint-{name}" / "offsets").glob("[0-9]*"))


def check(folder: Path, job: Killed) -> int:
    """Both sinks have what the embedded runtime finds, once each; the number of matches."""
    expected = embedded(folder, job)
    lines = [line for path in (folder / "files").glob("batch-*.ndjson") for line in _lines(path)]
    assert Counter(lines) == expected
    assert len(expected) > 300
    table = [json.loads(line) for path in _committed(folder / "table") for line in _lines(path)]
    assert len({row["id"] for row in table}) == len(table) == expected.total()
    assert Counter(_provenance(row) for row in table) == Counter(_provenance_of_line(line) for line in lines)
    (letter,) = [json.loads(line) for path in (folder / "letters").glob("batch-*.ndjson") for line in _lines(path)]
    assert letter["reason"] == "late" and f"<{LATE}>" in letter["raw"]
    return expected.total()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _committed(table: Path) -> list[Path]:
    """The files that Spark's log of the sink names: what a reader of the table sees."""
    names: set[str] = set()
    for log in (table / "_spark_metadata").glob("[0-9]*"):
        names |= {Path(json.loads(line)["path"]).name for line in _lines(log)[1:]}
    return [table / name for name in sorted(names)]


def _provenance(row: dict[str, Any]) -> tuple[int, str]:
    return row["time_ns"], json.dumps({event["step"]: event["graphs"] for event in row["events"]})


def _provenance_of_line(line: str) -> tuple[int, str]:
    row = json.loads(line)
    time = parse_time(Literal(row["time"], XSD + "dateTime"))
    assert time is not None
    return time, json.dumps(row["events"])


def killed_and_restarted(folder: Path, name: str, kills: int, rng: random.Random) -> int:
    """Kill up to so many times, then let it end; how often it was killed before that."""
    for done in range(kills):
        if run_once(folder, name, (rng.randint(1, 4), rng.uniform(0, 3))):
            return done
    assert run_once(folder, name, None)
    return kills


def test_a_killed_driver_loses_nothing_and_repeats_nothing(java: None, tmp_path: Path) -> None:
    write_streams(tmp_path, 5, JOBS["adaptive"])
    killed_and_restarted(tmp_path, "adaptive", 2, random.Random(5))
    check(tmp_path, JOBS["adaptive"])


def main() -> None:
    """Kill as often as asked, over as many runs as that takes, at least one of each evaluator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, done, runs = random.Random(arguments.seed), 0, 0
    while done < arguments.kills or runs < len(JOBS):
        name = list(JOBS)[runs % len(JOBS)]
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_streams(folder, arguments.seed + runs, JOBS[name])
            killed = killed_and_restarted(folder, name, -(-arguments.kills // len(JOBS)), rng)
            done, runs, matches = done + killed, runs + 1, check(folder, JOBS[name])
            print(f"{name}: killed {killed} times, {matches} matches in both sinks, once each", flush=True)
    print(f"{done} kills in {runs} runs: nothing lost, nothing twice")


if __name__ == "__main__":
    main()
