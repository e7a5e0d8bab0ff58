"""Rows written to a file: matches and megabytes per second of processor time, and the largest memory.

Each row is a process of its own, over events of one key in which every bid goes with every later ask:

- `pairs`: SEQ(A : B), a match ends at every ask
- `one event`: SEQ(A : B : C), all matches end at the last event
- `long`: SEQ(A ; B;{20} : C), 22 graph names a match
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

import spaseq
from benchmarks.figures import report
from sparql_gpm.times import format_time
from spaseq.outputs import open_sink

BEGIN, SECOND = 1_767_225_600, 1_000_000_000
HEAD = "PREFIX : <http://example.org/> SELECT ?s ?p ?q WITHIN 30 DAYS FROM STREAM S <http://example.org/trades>"
STEPS = """DEFINE GPM A ON S { ?s :bid ?p } DEFINE GPM B ON S { ?s :ask ?q } DEFINE GPM C ON S { ?s :close ?r }"""
SEQUENCES = {"pairs": "A : B", "one event": "A : B : C", "long": "A ; B;{20} : C"}
FORMATS = ("ndjson", "csv", "arrow", "parquet", "trig")


@dataclass(frozen=True, slots=True)
class Written:
    """What writing took, in seconds of processor time; `whole_seconds` includes reading and matching."""

    case: str
    format: str
    evaluator: str
    matches: int
    megabytes: float
    seconds: float
    whole_seconds: float
    rss_mb_max: float


def write_events(path: Path, case: str, events: int) -> None:
    """One triple an event: bids and asks in turn, or one bid in 25 events for `long`, and a close at the end."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(events):
            bid = number % 25 == 0 if case == "long" else number % 2 == 0
            close = number == events - 1 or (case == "long" and number % 25 == 24)
            predicate = "close" if close else "bid" if bid else "ask"
            graph = f"<http://example.org/trades/event-{number:07d}>"
            stamp = f'"{format_time((BEGIN + number) * SECOND)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
            value = f'"{number * 7919 % 1000 / 100:.2f}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
            file.write(f"{graph} <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .\n")
            file.write(f"<http://example.org/stock/S1> <http://example.org/{predicate}> {value} {graph} .\n")


def measure(case: str, format: str, evaluator: str, events: Path, output: Path) -> Written:
    """Run the case in this process."""
    query = spaseq.parse(f"{HEAD} {{ SEQ({SEQUENCES[case]}) {STEPS} }}", "q")
    begin, spent, matches = time.process_time(), 0.0, 0
    job = spaseq.Job([query], {"S": events}, options=spaseq.RunOptions(evaluator=evaluator))
    sink = open_sink(format, output, [query])
    for rows in job.rows():
        started = time.process_time()
        matches += len(rows)
        sink.write(rows)
        spent += time.process_time() - started
    sink.close()
    job.close()
    whole, size = time.process_time() - begin, output.stat().st_size / 1e6
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Written(case, format, evaluator, matches, size, spent, whole, kilobytes / 1024)


def measured(case: str, format: str, evaluator: str, folder: Path) -> Written:
    """The same in a process of its own."""
    names = [case, format, evaluator, str(folder / "events.nq"), str(folder / "rows")]
    script = (
        "import sys, json; from dataclasses import asdict; from pathlib import Path\n"
        "from benchmarks.writing import measure\n"
        "print(json.dumps(asdict(measure(*sys.argv[1:4], *map(Path, sys.argv[4:])))))"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", script, *names], check=True, capture_output=True, text=True, cwd=root)
    return Written(**json.loads(done.stdout))


def table(found: list[Written]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="rows written, processor time")
    for heading in ("case", "format", "evaluator", "matches", "MB", "matches/s", "MB/s", "whole s", "peak MB"):
        shown.add_column(heading, justify="left" if heading in ("case", "format", "evaluator") else "right")
    for each in found:
        rates = f"{each.matches / each.seconds:,.0f}", f"{each.megabytes / each.seconds:,.0f}"
        sizes = f"{each.matches:,}", f"{each.megabytes:.1f}"
        shown.add_row(
            each.case,
            each.format,
            each.evaluator,
            *sizes,
            *rates,
            f"{each.whole_seconds:.2f}",
            f"{each.rss_mb_max:.0f}",
        )
    return shown


def main() -> None:
    """Measure all formats over pairs, and memory where matches are few and four times as many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1200, metavar="N", help="of pairs; the matches are N²/8 [1200]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_events(folder / "events.nq", "pairs", options.events)
        found += [measured("pairs", format, "cea", folder) for format in FORMATS]
        write_events(folder / "events.nq", "long", 5 * options.events)
        found.append(measured("long", "ndjson", "nfa", folder))
        for events in (options.events, 2 * options.events):
            write_events(folder / "events.nq", "one event", events)
            found += [measured("one event", "ndjson", evaluator, folder) for evaluator in ("cea", "nfa")]
    report([table(found)], {"writing": found}, options.json)


if __name__ == "__main__":
    main()
