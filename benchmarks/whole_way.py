"""The whole way, from files to matches in a file: quads per second, and whether memory grows with the stream.

Runs `spaseq run` as a process of its own over smart-grid streams of N, 2N and 4N quads, beside each a process that only
reads the files, and its peers over the first. With `--core`, a checkout of CORE (C++) in which it is built, also CORE's
patterns over its trades, which SPASEQ_STOCK names, from CSV and Parquet to rows in a file, beside CORE's own program.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks import stock_tables
from benchmarks.core import ENVIRONMENT
from benchmarks.core_peer import WITHIN, program_of, run_core
from benchmarks.figures import report, run_process
from benchmarks.grid_tables import template_of, write_tables
from benchmarks.peers import Measurement, measure_peers
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE

ROOT = Path(__file__).resolve().parents[1]
READING = Path(__file__).with_name("reading.py")
KB_IRI = "http://smartgrid.org/db"
STREAM_NAMES = {"S1": "power", "S2": "weather", "S3": "storage"}
TABLE_SUFFIX = "parquet"
SUFFIXES = ("nq", "trig", "jelly", TABLE_SUFFIX)
QUADS_PER_EVENT = 5
SPASEQ = "from spaseq.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Run:
    """One size: the median times of its runs, and the largest resident set of them.

    processor_seconds   start-up included
    reader_seconds      the same for a process that only reads the files
    """

    query: str
    quads: int
    events: int
    matches: int
    seconds: float
    processor_seconds: float
    reader_seconds: float
    rss_mb_max: float


@dataclass(frozen=True, slots=True)
class StockRun:
    """One of CORE's patterns over its trades by one program, whole processes: the least of its runs."""

    query: str
    system: str
    rows: int
    processor_seconds: float
    rss_mb_max: float


def write_streams(events: int, seed: int, folder: Path, suffix: str) -> None:
    """The streams of the example in files with this suffix, and as N-Quads."""
    write_example(EXAMPLE, events, seed, folder)
    if suffix == TABLE_SUFFIX:
        write_tables(folder)
        return
    for stream in STREAM_NAMES.values() if suffix != "nq" else ():
        convert = ["convert", str(folder / f"{stream}.nq"), "-o", str(folder / f"{stream}.{suffix}")]
        subprocess.run([sys.executable, "-c", SPASEQ, *convert], check=True)


def command(query: Path, folder: Path, output: Path, suffix: str) -> list[str]:
    """The arguments of `spaseq` after the interpreter's own."""
    paths = {name: folder / f"{stream}.{suffix}" for name, stream in STREAM_NAMES.items()}
    streams = [f"--stream={name}={path}" for name, path in paths.items()]
    if suffix == TABLE_SUFFIX:
        streams += [f"--template={name}={template_of(path)}" for name, path in paths.items()]
    kb = f"--kb={KB_IRI}={folder / 'kb.ttl'}"
    return ["run", str(query), *streams, kb, "--format=ndjson", f"--output={output}"]


def measure(query: Path, folder: Path, events: int, runs: int, suffix: str = "nq") -> Run:
    """Run the query `runs` times over the streams in the folder."""
    output = folder / "matches.ndjson"
    files = [str(folder / f"{stream}.{suffix}") for stream in STREAM_NAMES.values()]
    whole, reading = [], []
    for _ in range(runs):
        whole.append(run_process([sys.executable, "-c", SPASEQ, *command(query, folder, output, suffix)]))
        reading.append(run_process([sys.executable, str(READING), *files]))
    with open(output, encoding="utf-8") as rows:
        matches = sum(1 for _ in rows)
    return Run(
        query.stem,
        events * QUADS_PER_EVENT,
        events,
        matches,
        statistics.median(usage.seconds for usage in whole),
        statistics.median(usage.processor_seconds for usage in whole),
        statistics.median(usage.processor_seconds for usage in reading),
        max(usage.rss_mb_max for usage in whole),
    )


def measure_stock(checkout: Path, lengths: Sequence[int], runs: int) -> list[StockRun]:
    """CORE's patterns by its program and by `spaseq run` from CSV and from Parquet, in turn."""
    program, best = program_of(checkout), dict[tuple[str, str], StockRun]()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        stock_tables.write_files(Path(os.environ[ENVIRONMENT]), folder)
        for length in lengths:
            (folder / "query.rq").write_text(stock_tables.query(length, WITHIN), encoding="utf-8")
            for _ in range(runs):
                core = run_core(program, folder / "trades.csv", length)
                figures = core.matches, core.processor_seconds, core.rss_mb_max
                found = [StockRun(f"P{length}", "CORE, CSV", *figures)]
                found += [_stock_run(folder, length, f"trades.{suffix}") for suffix in ("csv", TABLE_SUFFIX)]
                for run in found:
                    key = run.query, run.system
                    best[key] = min(run, best.get(key, run), key=lambda each: each.processor_seconds)
    return list(best.values())


def _stock_run(folder: Path, length: int, trades: str) -> StockRun:
    """A pattern by `spaseq run`, rows as CSV."""
    rows = folder / "rows.csv"
    inputs = [f"--stream=S1={folder / trades}", f"--template={folder / 'rows.trig'}", "--time-unit=ms"]
    arguments = ["run", str(folder / "query.rq"), *inputs, "--format=csv", f"--output={rows}"]
    usage = run_process([sys.executable, "-c", SPASEQ, *arguments])
    lines = rows.read_bytes().count(b"\n") - 1
    return StockRun(f"P{length}", f"spaseq, {trades}", lines, usage.processor_seconds, usage.rss_mb_max)


def stock_table(runs: Sequence[StockRun]) -> Table:
    """The figures of CORE's patterns as they are shown on a terminal."""
    shown = Table("query", "system", "rows", "cpu s", "times CORE's", "peak MB", title="CORE's patterns, files to rows")
    for run in runs:
        core = next(each for each in runs if each.query == run.query)
        seconds = f"{run.processor_seconds:.2f}", f"{run.processor_seconds / core.processor_seconds:.1f}"
        shown.add_row(run.query, run.system, f"{run.rows:,}", *seconds, f"{run.rss_mb_max:.0f}")
    return shown


def profile(query: Path, folder: Path, suffix: str) -> None:
    """Print the 25 functions with the most time of their own."""
    stats = folder / "profile.out"
    arguments = command(query, folder, folder / "matches.ndjson", suffix)
    script = f"import cProfile, sys; sys.argv[1:] = {arguments!r}\ncProfile.run({SPASEQ!r}, {str(stats)!r})"
    subprocess.run([sys.executable, "-c", script], check=True)
    show = f"import pstats; pstats.Stats({str(stats)!r}).sort_stats('tottime').print_stats(25)"
    subprocess.run([sys.executable, "-c", show], check=True)


def tables(runs: Sequence[Run], peers: Sequence[Measurement]) -> list[Table]:
    """The figures as they are shown on a terminal."""
    own = Table(title="spaseq run, files to matches")
    times = "seconds", "quads/s", "cpu s", "reader cpu s", "of reader's speed"
    for heading in ("query", "quads", "matches", *times, "peak MB"):
        own.add_column(heading, justify="left" if heading == "query" else "right")
    for run in runs:
        whole = f"{run.seconds:.2f}", f"{run.quads / run.seconds:,.0f}", f"{run.processor_seconds:.2f}"
        reader = f"{run.reader_seconds:.2f}", f"{run.reader_seconds / run.processor_seconds:.2f}"
        own.add_row(run.query, f"{run.quads:,}", f"{run.matches:,}", *whole, *reader, f"{run.rss_mb_max:.0f}")
    others = Table(title="peers on the same files: no order, no windows, no sequences")
    for heading in ("peer", "events", "seconds", "quads/s", "events/s"):
        others.add_column(heading, justify="left" if heading == "peer" else "right")
    for peer in peers:
        rates = f"{peer.quads / peer.seconds:,.0f}", f"{peer.events / peer.seconds:,.0f}"
        others.add_row(peer.name, f"{peer.events:,}", f"{peer.seconds:.2f}", *rates)
    return [own, others]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quads", type=int, default=200_000, metavar="N", help="the smallest stream [200000]")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="runs of each size; their median counts [3]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the generator [1]")
    parser.add_argument("--query", default="query.rq", metavar="FILE", help="in examples/smart_grid [query.rq]")
    parser.add_argument("--suffix", default="nq", choices=SUFFIXES, help="of the streams' files [nq]")
    parser.add_argument("--core", type=Path, metavar="DIR", help="a checkout of CORE (C++) in which it is built")
    parser.add_argument("--lengths", type=int, nargs="+", default=[3, 6, 9, 12], metavar="N", help="of CORE's Pn")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    parser.add_argument("--profile", action="store_true", help="profile one run of N quads instead")
    return parser.parse_args()


def main() -> None:
    """Generate, run, report."""
    options = arguments()
    if options.core and ENVIRONMENT not in os.environ:
        sys.exit(f"error: set {ENVIRONMENT} to the gzipped stock trades of CORE's experiments")
    stock = measure_stock(options.core, options.lengths, options.runs) if options.core else []
    query = ROOT / "examples" / "smart_grid" / options.query
    events = options.quads // QUADS_PER_EVENT
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_streams(events, options.seed, folder, options.suffix)
        if options.profile:
            profile(query, folder, options.suffix)
            return
        peers = measure_peers([folder / f"{stream}.nq" for stream in STREAM_NAMES.values()])
        for count in (events, 2 * events, 4 * events):
            write_streams(count, options.seed, folder, options.suffix)
            runs.append(measure(query, folder, count, options.runs, options.suffix))
    shown = [*tables(runs, peers), *([stock_table(stock)] if stock else [])]
    report(shown, {"runs": runs, "peers": peers, "stock": stock}, options.json)


if __name__ == "__main__":
    main()
