"""What threads bring: reading alone, and whole runs, over N-Quads, `--threads 1, 2, …` in turn, in processor time and
on the clock.

On a machine with other work the clock says little. So the threads' own processor times are shown too: a run cannot be
shorter than its longest thread, nor than all of them on so many processors, and little longer if nothing else runs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks.figures import report
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.predicate_filter import PredicateFilter
from sparql_gpm.terms import XSD
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.inputs.streams import open_stream
from spaseq.lang.parse import parse

QUADS_PER_EVENT = 8
_HEAD = "PREFIX : <http://ex.org/> SELECT {} FROM STREAM S <http://ex.org/s> "
_PRICE = "DEFINE GPM {0} ON S {{ ?{0} :symbol ?s ; :price ?p{0} FILTER(?p{0} {1}) }}"
QUERIES = {
    "few matches": _HEAD.format("?s ?pA ?pB WITHIN 60 SECONDS SLIDING")
    + f"{{ SEQ(A ; B) {_PRICE.format('A', '> 900')} {_PRICE.format('B', '< 100')} }}",
    "iteration": _HEAD.format("?s ?pA ?pC WITHIN 600 SECONDS SLIDING")
    + f"{{ SEQ(A ; B+ ; C) {_PRICE.format('A', '> 900')} {_PRICE.format('B', '< 500')} {_PRICE.format('C', '< 30')} }}",
    "OVER MATCHES": _HEAD.format("OVER MATCHES (COUNT(*) AS ?n) WITHIN 600 SECONDS")
    + f"{{ SEQ(A : B) {_PRICE.format('A', '> 500')} {_PRICE.format('B', '< 500')} }}",
}
"""Queries by name; they use two of the eight triples of an event."""
READING = "reading"
"""The row of a run without a query: the batches of those two triples."""
_TERMS_MAX = 500_000
"""Terms that reading alone keeps."""


@dataclass(frozen=True, slots=True)
class Run:
    """The least that a run has taken of each.

    found               the number of rows, or of events
    processor_seconds   of all threads
    longest_seconds     processor time of the thread that took most
    """

    query: str
    threads: int
    quads: int
    found: int
    seconds: float
    processor_seconds: float
    longest_seconds: float

    def possible(self, one: Run) -> float:
        """The speed-up over one thread where so many processors have nothing else to do."""
        return one.processor_seconds / max(self.longest_seconds, self.processor_seconds / self.threads)


def write_trades(path: Path, events: int) -> None:
    """Events of eight triples, one a second."""
    dice = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for number in range(events):
            day, second = divmod(number, 86_400)
            clock = f"2026-01-{day + 1:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
            graph, about = f"<http://ex.org/trade/{number}>", "<http://ex.org/{}>".format
            facts = [
                ("<http://www.w3.org/ns/prov#generatedAtTime>", f'"{clock}"^^<{XSD}dateTime>'),
                (about("symbol"), about(f"stock/{dice.randrange(500)}")),
                (about("price"), f'"{dice.randrange(1_000, 99_999) / 100}"^^<{XSD}decimal>'),
                (about("volume"), f'"{dice.randrange(100_000)}"^^<{XSD}integer>'),
                (about("exchange"), about(f"exchange/{dice.randrange(10)}")),
                *((about(name), f'"{name} {dice.randrange(10**6)}"') for name in ("seller", "buyer", "note")),
            ]
            file.writelines(f"{graph} {predicate} {value} {graph} .\n" for predicate, value in facts)


def measure(query: str, path: Path, threads: int, quads: int) -> Run:
    """One run, from file to rows, or, of READING, to batches of events."""
    with ExitStack() as stack:
        run: Callable[[], int] = partial(_read, path, threads)
        if query != READING:
            job = Job([parse(QUERIES[query], "q")], {"S": str(path)}, options=RunOptions(threads=threads))
            stack.callback(job.close)
            run = partial(_matches, job)
        before, clock, processor = _by_thread(), time.perf_counter(), time.process_time()
        found = run()
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        longest = max(used - before.get(ident, 0.0) for ident, used in _by_thread().items())
    return Run(query, threads, quads, found, clock, processor, longest)


def _matches(job: Job) -> int:
    """The number of rows of a run."""
    return sum(len(rows) for rows in job.rows())


def _read(path: Path, threads: int) -> int:
    """The number of events; their batches have what the queries use, and nothing is done with them."""
    names = (PROV_TIME, "http://ex.org/symbol", "http://ex.org/price")
    options = ReadOptions(
        bytes_expected=path.stat().st_size,
        threads=RunOptions(threads=threads).reader_threads,
        predicates=PredicateFilter(frozenset(names)),
    )
    dictionary, events = Dictionary(), 0
    for batch in open_stream(str(path), "S", dictionary, lambda _, fault: sys.exit(fault.reason), options):
        events += len(batch)
        if dictionary.has_table and len(dictionary) > _TERMS_MAX:
            dictionary.retain([])
    return events


def _by_thread() -> dict[int, float]:
    """The processor time of each thread."""
    idents = [thread.ident for thread in threading.enumerate() if thread.ident is not None]
    return {ident: time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in idents}


def best(runs: list[Run]) -> Run:
    """The least of each figure."""
    first = runs[0]
    figures = (min(getattr(run, name) for run in runs) for name in ("seconds", "processor_seconds", "longest_seconds"))
    return Run(first.query, first.threads, first.quads, first.found, *figures)


def table(found: list[Run]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="threads: best of all runs")
    headings = (
        "query",
        "threads",
        "found",
        "cpu s per M quads",
        "of one thread's",
        "longest thread",
        "possible",
        "clock",
    )
    for heading in headings:
        shown.add_column(heading, justify="left" if heading == "query" else "right")
    for run in found:
        one = next(each for each in found if each.query == run.query and each.threads == 1)
        cost = run.processor_seconds * 1e6 / run.quads
        share, speed = run.processor_seconds / one.processor_seconds, one.seconds / run.seconds
        figures = (
            f"{cost:.2f}",
            f"{share:.2f}",
            f"{run.longest_seconds:.2f} s",
            f"{run.possible(one):.2f}",
            f"{speed:.2f}",
        )
        shown.add_row(run.query, str(run.threads), f"{run.found:,}", *figures)
    return shown


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="of eight quads [100000]")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="the first is 1 [1 2]")
    parser.add_argument("--runs", type=int, default=5, metavar="K", help="of each, in turn; the best counts [5]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    return parser.parse_args()


def main() -> None:
    """Measure all queries."""
    given = arguments()
    quads, found = given.events * QUADS_PER_EVENT, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trades.nq")
        write_trades(path, given.events)
        for query in (READING, *QUERIES):
            measure(query, path, given.threads[-1], quads)  # kernels are loaded
            runs = [[measure(query, path, count, quads) for count in given.threads] for _ in range(given.runs)]
            found += [best(list(each)) for each in zip(*runs, strict=True)]
    report([table(found)], {"runs": found}, given.json)


if __name__ == "__main__":
    main()
