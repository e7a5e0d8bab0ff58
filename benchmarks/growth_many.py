"""Ten thousand queries in one live engine, and a hundred thousand events pushed one by one: processor time and memory.

    python benchmarks/growth_many.py --queries 10000 --events 100000

Each query is about one house, each event about one of at least 10,000: with as many queries each event touches one, and
the first that does so wakes it. It is also a row of `growth.py`.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

import spaseq
from benchmarks.figures import report
from benchmarks.growth_queries import HOUSES, events, push_all, two_steps
from benchmarks.growth_rows import row
from spaseq.lang.parse import parse

EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Many:
    """What many queries took: milliseconds and microseconds of processor time, and kilobytes of greatest memory.

    first_register_ms, last_register_ms     one of the first tenth of the queries, and of the last
    first_event_us, last_event_us           one of the first tenth of the events, and of the last
    registered_kb, touched_kb               a query before the first event, and after the last
    """

    queries: int
    events: int
    parse_ms: float
    first_register_ms: float
    last_register_ms: float
    registered_kb: float
    event_us: float
    first_event_us: float
    last_event_us: float
    touched_kb: float
    matches: int


def many(queries: int, count: int) -> Many:
    """So many queries and events in one engine."""
    engine, houses = spaseq.Engine(), max(HOUSES, queries)
    for other in range(10):
        engine.register(parse(two_steps(houses + other), f"other{other}"))
    gc.collect()
    before, begin = _kilobytes(), time.process_time()
    ready = [parse(two_steps(house), f"q{house}") for house in range(queries)]
    parsed = (time.process_time() - begin) * 1e3 / queries
    register = [_seconds(lambda query=query: engine.register(query)) * 1e3 for query in ready]  # type: ignore[misc]
    registered, pushed, tenth = _kilobytes(), events(count, houses), count // 10
    drawn = _kilobytes()
    push = [
        _seconds(lambda begin=begin: push_all(engine, pushed[begin : begin + tenth], begin)) * 1e6 / tenth  # type: ignore[misc]
        for begin in range(0, tenth * 10, tenth)
    ]
    touched = registered - before + _kilobytes() - drawn
    return Many(
        queries, tenth * 10, parsed, *_ends(register), (registered - before) / queries,
        statistics.mean(push), push[0], push[-1], touched / queries, engine.statistics.matches,
    )  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _ends(figures: Sequence[float]) -> tuple[float, float]:
    """The means of the first tenth and of the last."""
    tenth = max(1, len(figures) // 10)
    return statistics.mean(figures[:tenth]), statistics.mean(figures[-tenth:])


def _kilobytes() -> float:
    """The greatest memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1000 if sys.platform == "darwin" else peak * 1.024


@row(
    "one of the last 10,000 of 100,000 events, each query touched",
    "queries",
    "µs",
    sizes=(10_000,),
    exponent=0,
    bound=200,
)
def of_many(queries: int, quick: bool) -> Iterator[float]:
    """Each event touches one query, of 10,000 that are awake."""
    yield many(queries, EVENTS).last_event_us


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    measured = many(options.queries, options.events)
    table = Table(*("what", "figure"), title="Many queries")
    for each in fields(measured):
        table.add_row(each.name, f"{getattr(measured, each.name):,.4g}")
    report([table], {"many": [measured]}, options.json)


if __name__ == "__main__":
    main()
