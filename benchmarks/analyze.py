"""The cost of `--analyze`: queries of the README's table and of the examples, with and without counting, in turn.

    python benchmarks/analyze.py --events 50000 --runs 5

Each run is `spaseq run` as a process of its own, from files to rows in a file. Figures are medians of processor
seconds, start-up included, and their ratio; the seconds of a process that only starts are taken off for a second ratio.
The stock query is that of `spark.py`, partitioned by company. P3 of CORE runs over its trades as CSV, if SPASEQ_STOCK
names them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks import stock_tables
from benchmarks.core import ENVIRONMENT
from benchmarks.figures import report, run_process
from benchmarks.spark import partitioned_query
from benchmarks.whole_way import SPASEQ
from examples.credit_card.generate import EXAMPLE as CREDIT_CARD
from examples.event_files import Example, write_example
from examples.logins.generate import EXAMPLE as LOGINS
from examples.smart_grid.generate import EXAMPLE as SMART_GRID
from examples.stock.generate import EXAMPLE as STOCK
from examples.traffic.generate import EXAMPLE as TRAFFIC
from examples.vessels.generate import EXAMPLE as VESSELS

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
QUERIES: tuple[tuple[str, str, Example, str | None], ...] = (
    ("smart grid, Query 1", "smart_grid/query.rq", SMART_GRID, "http://smartgrid.org/db"),
    ("smart grid by location", "smart_grid/query_partitioned.rq", SMART_GRID, "http://smartgrid.org/db"),
    ("stock by company", "", STOCK, None),
    ("credit card", "credit_card/query.rq", CREDIT_CARD, "http://creditcard.org/db"),
    ("traffic", "traffic/query.rq", TRAFFIC, None),
    ("logins", "logins/query.rq", LOGINS, None),
    ("vessels", "vessels/query.rq", VESSELS, "http://harbour.org/db"),
)
"""Name, path of the query ("": the stock query by company), generator, IRI of the knowledge base."""
Command = tuple[str, list[str]]
"""The name of a query, and the arguments of `spaseq`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Median processor seconds of one query; `beyond_start` is the ratio of what comes after the start-up."""

    query: str
    rows: int
    plain_seconds: float
    analyzed_seconds: float
    ratio: float
    beyond_start: float


def commands(events: int, folder: Path) -> Iterator[Command]:
    """Every query over files of so many events."""
    for number, (name, path, example, kb) in enumerate(QUERIES):
        own = folder / str(number)
        own.mkdir()
        write_example(example, events, 1, own)
        query = EXAMPLES / path
        if not path:
            query = own / "query.rq"
            query.write_text(partitioned_query().text, encoding="utf-8")
        streams = [f"--stream=S{n}={own / name}.nq" for n, name in enumerate(example.streams, start=1)]
        yield name, ["run", str(query), *streams, *([] if kb is None else [f"--kb={kb}={own / 'kb.ttl'}"])]
    trades = os.environ.get(ENVIRONMENT)
    if trades is not None:
        stock_tables.write_files(Path(trades), folder)
        (folder / "p3.rq").write_text(stock_tables.query(3), encoding="utf-8")
        table = [f"--stream=S1={folder / 'trades.csv'}", f"--template=S1={folder / 'rows.trig'}", "--time-unit=ms"]
        yield "P3 of CORE", ["run", str(folder / "p3.rq"), *table]


def measure(command: Command, runs: int, start: float, folder: Path) -> Cost:
    """Run a query with and without counting, in turn."""
    name, arguments = command
    rows, funnel = folder / "rows.ndjson", folder / "funnel.json"
    whole = [sys.executable, "-c", SPASEQ, *arguments, "--format=ndjson", f"--output={rows}"]
    plain, analyzed = [], []
    for _ in range(runs):
        plain.append(run_process(whole).processor_seconds)
        analyzed.append(run_process([*whole, f"--analyze-output={funnel}"]).processor_seconds)
    count = sum(1 for _ in rows.open(encoding="utf-8"))
    one, other = statistics.median(plain), statistics.median(analyzed)
    return Cost(name, count, one, other, other / one, (other - start) / (one - start))


def start_up(runs: int) -> float:
    """Median processor seconds of a process that only starts."""
    only = [sys.executable, "-c", "import spaseq.cli.run, spaseq.engine.job"]
    return statistics.median(run_process(only).processor_seconds for _ in range(runs))


def table(costs: list[Cost], events: int) -> Table:
    """The costs side by side."""
    shown = Table(title=f"--analyze over {events:,} events, processor seconds")
    for heading in ("query", "rows", "without", "with", "ratio", "beyond start-up"):
        shown.add_column(heading, justify="left" if heading == "query" else "right")
    for cost in costs:
        seconds = f"{cost.plain_seconds:.2f}", f"{cost.analyzed_seconds:.2f}"
        shown.add_row(cost.query, f"{cost.rows:,}", *seconds, f"{cost.ratio:.2f}", f"{cost.beyond_start:.2f}")
    return shown


def main() -> None:
    """Measure every query, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        start, folder = start_up(options.runs), Path(name)
        costs = [measure(command, options.runs, start, folder) for command in commands(options.events, folder)]
    report([table(costs, options.events)], {"analyze": costs}, options.json)


if __name__ == "__main__":
    main()
