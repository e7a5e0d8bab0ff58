"""CORE's patterns from a table of trades to rows, beside polars reading the same table.

Set SPASEQ_STOCK to the gzipped trades of CORE's experiments. A run begins with the path of a file and the text of a
query and ends with the rows as an Arrow table; polars reads the CSV into a frame and does nothing else. Both run in
turn in one process that has loaded both, and the compiled kernels of evaluators. Seconds are those of the processor,
of all threads; a figure is the least of its runs. With `--core`, a checkout of CORE (C++) in which it is built, windows
are those of CORE, which slide, and its program runs beside, as a process that is measured from its start.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars
from rich.table import Table

import spaseq
from benchmarks.core import ENVIRONMENT
from benchmarks.core_patterns import STEPS
from benchmarks.core_peer import WITHIN, program_of, run_core
from benchmarks.figures import report

HEADER = b"type,id,name,volume,price,time\n"
DAY_MS = 86_400_000
TEMPLATE = """@prefix : <http://example.org/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/event/{id}> prov:generatedAtTime "{time}"^^xsd:integer .
<http://example.org/event/{id}> {
  <http://example.org/trade/{id}> a :Trade ; :type "{type}" ; :name "{name}" ; :volume ?volume ; :price ?price }
"""
TUMBLING = "10 SECONDS"
"""The window of queries, if CORE does not run beside."""
Measured = tuple[int, float]
"""Rows, and processor seconds."""


@dataclass(frozen=True, slots=True)
class Whole:
    """One query over one file; `times_polars` is its time by that of polars reading the CSV."""

    query: str
    file: str
    evaluator: str
    rows: int
    processor_seconds: float
    polars_seconds: float
    times_polars: float


def query(length: int, within: str = TUMBLING) -> str:
    """Pn: n trades of given types and names within a window, whatever is between them."""
    names = [f"A{number}" for number in range(length)]
    steps = zip(names, islice(cycle(STEPS), length), strict=True)
    defined = (
        f'DEFINE GPM {name} ON S1 {{ [] :type "{side}" ; :name "{stock}" ; :volume ?v{name} }}'
        for name, (side, stock) in steps
    )
    return (
        f"PREFIX : <http://example.org/> SELECT {' '.join(f'?v{name}' for name in names)} WITHIN {within} "
        f"FROM STREAM S1 <http://example.org/trades> WHERE {{ SEQ({' : '.join(names)}) {' '.join(defined)} }}"
    )


def write_files(source: Path, folder: Path, times: int = 1) -> None:
    """The trades, so many times one after the other, as CSV with a header, as Parquet, and the template of both."""
    (folder / "trades.csv").write_bytes(HEADER + gzip.decompress(source.read_bytes()))
    trades = polars.read_csv(folder / "trades.csv")
    if times > 1:
        later = {name: trades[name].max() - trades[name].min() + DAY_MS for name in ("id", "time")}  # type: ignore[operator]
        parts = [trades.with_columns(polars.col(name) + n * by for name, by in later.items()) for n in range(times)]
        trades = polars.concat(parts)
        trades.write_csv(folder / "trades.csv")
    trades.write_parquet(folder / "trades.parquet")
    (folder / "rows.trig").write_text(TEMPLATE, encoding="utf-8")


def run(text: str, path: Path, evaluator: str) -> Measured:
    """The rows of a query over a file, to the last one."""
    started = time.process_time()
    template = {"S1": str(path.parent / "rows.trig")}
    how = {"template": template, "time_unit": "ms", "evaluator": evaluator}
    found = spaseq.run(spaseq.parse(text), {"S1": str(path)}, **how).to_arrow()
    return len(found), time.process_time() - started


def read(path: Path) -> Measured:
    """The rows of the CSV in a frame of polars."""
    started = time.process_time()
    found = len(polars.read_csv(path))
    return found, time.process_time() - started


def least(measure: Callable[[], Measured], beside: Callable[[], Measured], runs: int) -> tuple[int, float, float]:
    """Rows of the first measure, and the least time of each of two that run in turn; the first round does not count."""
    pairs = [(measure(), beside()) for _ in range(runs + 1)][1:]
    return pairs[0][0][0], min(one[1] for one, _ in pairs), min(other[1] for _, other in pairs)


def measured(
    folder: Path, lengths: list[int], evaluators: list[str], runs: int, core: Path | None = None
) -> list[Whole]:
    """Every query over both files by every evaluator, and by CORE's program in a checkout."""
    found = []
    for length in lengths:
        if core is not None:
            found.append(by_core(core, folder / "trades.csv", length, runs))
        for name in ("trades.csv", "trades.parquet"):
            for evaluator in evaluators:
                path, text = folder / name, query(length, TUMBLING if core is None else WITHIN)
                rows, seconds, polars_seconds = least(
                    lambda path=path, text=text, by=evaluator: run(text, path, by),  # type: ignore[misc]
                    lambda: read(folder / "trades.csv"),
                    runs,
                )
                times = seconds / polars_seconds
                found.append(Whole(f"P{length}", path.suffix[1:], evaluator, rows, seconds, polars_seconds, times))
    return found


def by_core(checkout: Path, trades: Path, length: int, runs: int) -> Whole:
    """A query by CORE's program."""
    program = program_of(checkout)

    def process() -> Measured:
        done = run_core(program, trades, length)
        return done.matches, done.processor_seconds

    rows, seconds, polars_seconds = least(process, lambda: read(trades), runs)
    return Whole(f"P{length}", "csv", "CORE (C++)", rows, seconds, polars_seconds, seconds / polars_seconds)


def _table(found: list[Whole]) -> Table:
    table = Table("query", "file", "evaluator", "rows", "s", "polars s", "times polars", title="From tables to rows")
    for each in found:
        figures = f"{each.processor_seconds:.3f}", f"{each.polars_seconds:.3f}", f"{each.times_polars:.1f}"
        table.add_row(each.query, each.file, each.evaluator, f"{each.rows:,}", *figures)
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[3, 6, 9, 12], metavar="N", help="of Pn")
    parser.add_argument("--evaluators", nargs="+", default=["auto", "cea"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=1, metavar="N", help="the trades N times, one after the other")
    parser.add_argument("--core", type=Path, metavar="DIR", help="a checkout of CORE (C++) in which it is built")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if ENVIRONMENT not in os.environ:
        sys.exit(f"error: set {ENVIRONMENT} to the gzipped stock trades of CORE's experiments")
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(os.environ[ENVIRONMENT]), Path(folder), options.times)
        run(query(options.lengths[0]), Path(folder) / "trades.csv", "cea")  # loads kernels, which `auto` takes then
        found = measured(Path(folder), options.lengths, options.evaluators, options.runs, options.core)
    report([_table(found)], {"stock_tables": found}, options.json)


if __name__ == "__main__":
    main()
