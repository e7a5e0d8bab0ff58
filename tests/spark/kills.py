"""Nothing is lost and nothing comes twice when processes of a job are killed with -9, and the job started again.

Some minutes, so `make thorough` runs it; over the ways to run, of every evaluator in turn; it prints a table:

    python -m tests.spark.kills --kills 36 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import spaseq
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from tests.spark.clusters import spark_home, standalone
from tests.spark.killed_job import JOBS, MAX_DELAY_NS, Killed
from tests.spark.killing import VICTIMS, KilledRun

ROOT = Path(__file__).resolve().parents[2]
DISORDER_S = 8
FILES, EVENTS_EACH = 6, 60
LATE = "urn:late"
KILLS_A_RUN = 6
"""Kills of one job before it is let to its end."""
_STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
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


@dataclass(frozen=True, slots=True)
class Difference:
    """What the two sinks have, beside what the embedded runtime finds."""

    matches: int
    lost: int
    twice: int
    different: int

    def __add__(self, other: Difference) -> Difference:
        return Difference(*(getattr(self, each) + getattr(other, each) for each in self.__slots__))


def difference(folder: Path, job: Killed) -> Difference:
    """The rows of the files of micro-batches and of Spark's own table beside those of the embedded runtime."""
    expected = embedded(folder, job)
    lines = Counter(line for path in (folder / "files").glob("batch-*.ndjson") for line in _lines(path))
    table = [json.loads(line) for path in _committed(folder / "table") for line in _lines(path)]
    found = _compared(expected, lines)
    found += _compared(Counter(map(_provenance_of_line, expected.elements())), Counter(map(_provenance, table)))
    assert len({row["id"] for row in table}) == len(table)
    assert len(expected) > 300
    (letter,) = [json.loads(line) for path in (folder / "letters").glob("batch-*.ndjson") for line in _lines(path)]
    assert letter["reason"] == "late" and f"<{LATE}>" in letter["raw"]
    return replace(found, matches=expected.total())


def _compared(expected: Counter[Any], found: Counter[Any]) -> Difference:
    more = found - expected
    twice = sum(count for row, count in more.items() if row in expected)
    return Difference(0, (expected - found).total(), twice, more.total() - twice)


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


def killed_job(folder: Path, way: str, name: str, victims: list[str], seed: int) -> tuple[list[str], Difference]:
    """Run a job of which these are killed in turn; those that were, before it ended, and what its sinks then have."""
    write_streams(folder, seed, JOBS[name])
    with ExitStack() as stack:
        cluster = None
        if way == "standalone":
            cluster = stack.enter_context(standalone(folder / "cluster", PYTHONPATH=str(ROOT)))
        home = cluster.home if cluster is not None else spark_home(folder)
        killed = KilledRun(folder, name, way, home, cluster, random.Random(seed)).until_its_end(victims)
    return killed, difference(folder, JOBS[name])


def main() -> None:
    """Kill as often as asked, over the ways to run and all victims, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=18)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", nargs="+", choices=list(VICTIMS), default=list(VICTIMS))
    arguments = parser.parse_args()
    done: dict[tuple[str, str], int] = Counter()
    found: dict[str, Difference] = {way: Difference(0, 0, 0, 0) for way in arguments.ways}
    runs: Counter[str] = Counter()
    left = {
        way: list(islice(cycle(VICTIMS[way]), -(-arguments.kills // len(arguments.ways)))) for way in arguments.ways
    }
    while any(left.values()):
        for way in filter(left.get, arguments.ways):
            name = list(JOBS)[sum(runs.values()) % len(JOBS)]
            with tempfile.TemporaryDirectory() as temporary:
                killed, rows = killed_job(
                    Path(temporary), way, name, left[way][:KILLS_A_RUN], arguments.seed + runs.total()
                )
            for victim in killed:
                left[way].remove(victim)
                done[way, victim] += 1
            runs[way] += 1
            found[way] += rows
            print(f"{way}, {name}: {', '.join(killed)} killed; {rows}", file=sys.stderr, flush=True)
    print(table(done, found, runs))
    if any(each.lost or each.twice or each.different for each in found.values()):
        sys.exit(1)


def table(done: Mapping[tuple[str, str], int], found: Mapping[str, Difference], runs: Mapping[str, int]) -> str:
    """The kills and what came of them, in Markdown; each row is in two sinks, and compared in both."""
    lines = [
        "| way to run | kills | jobs | rows in both sinks | lost | twice | different |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, each in found.items():
        kills = ", ".join(f"{victim} {done[way, victim]}" for victim in VICTIMS[way] if done.get((way, victim)))
        total = sum(count for (other, _), count in done.items() if other == way)
        cells = f"{total}: {kills}", runs[way], each.matches, each.lost, each.twice, each.different
        lines.append(f"| `{way}` | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
