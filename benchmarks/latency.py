"""One event at a time: microseconds from `Engine.push` to the match, or to knowing that there is none.

Each event is pushed by itself, as triples of pyoxigraph, into a live engine that runs one query. `grid` is Query 1 of
the smart grid with its three patterns over one stream; `grid, 3 streams` is the query as it is printed, where an event
waits until every stream has gone past it, so that the time is that of the push and of the heartbeat that lets it go;
the others are over trades (`latency_queries`): `stock` is a fall of two steps, which every other event ends.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyoxigraph
from rich.console import Console
from rich.table import Table

import spaseq
from benchmarks.latency_queries import TRADES
from examples.event_files import Event
from examples.smart_grid.generate import EXAMPLE as GRID
from examples.stock.generate import EXAMPLE as STOCK

ROOT = Path(__file__).resolve().parents[1]
KB_IRI = "http://smartgrid.org/db"
STREAMS = {
    "power": "http://smartgrid.org/mainSource",
    "weather": "http://smartgrid.org/weather",
    "storage": "http://smartgrid.org/storageSource",
}


@dataclass(frozen=True, slots=True)
class Pushed:
    """One event as a program has it."""

    stream: str
    triples: Sequence[Any]
    time: float


_Took = tuple[float, int]
"""Microseconds of one event, and how many matches it completed."""
_RARER = 4
"""Of the grid so many times more events are pushed than of trades, of which nearly each completes a match."""
_TRADES_MIN = 2000


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds over some events: all, or those that complete a match.

    matches     that the median event completes
    """

    query: str
    over: str
    events: int
    matches: int
    p10_us: float
    median_us: float
    p99_us: float


def one_stream(query: str) -> str:
    """The same query with all its patterns on the first stream."""
    without = re.sub(r"FROM STREAM S[23] .*\n", "", query)
    return re.sub(r"ON S[23]", "ON S1", without)


def pushed(events: Iterator[Event], count: int) -> list[Pushed]:
    """The first events of a stream, ready to be pushed."""
    ready = []
    for event in islice(events, count):
        text = "".join(f"{triple} .\n" for triple in event.triples)
        quads = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)
        ready.append(Pushed(event.stream, [quad.triple for quad in quads], event.time_ms / 1000))
    return ready


def measure(name: str, query: str, kb: dict[str, str], events: Sequence[Pushed], several: bool) -> list[Latency]:
    """Push the events one by one; the first tenth warms caches up and is not counted."""
    rows: list[spaseq.Row] = []
    engine = spaseq.Engine(kb=kb)
    engine.register(spaseq.parse(query), on_match=rows.append)
    every: list[_Took] = []
    stream = spaseq.parse(query).streams[0].iri
    gc.collect()
    gc.disable()
    for event in events:
        target, before = STREAMS[event.stream] if several else stream, len(rows)
        if several:
            for other in STREAMS.values():
                if other != target:
                    engine.advance(other, event.time + 0.001)
        started = time.perf_counter_ns()
        engine.push(target, event.triples, event.time)
        if several:
            engine.advance(target, event.time + 0.001)
        took = (time.perf_counter_ns() - started) / 1000
        every.append((took, len(rows) - before))
    gc.enable()
    engine.close()
    completing = [(took, matches) for took, matches in every if matches]
    return [
        _summary(name, "events that complete a match", completing[len(completing) // 10 :]),
        _summary(name, "all events", every[len(every) // 10 :]),
    ]


def _summary(query: str, over: str, events: Sequence[_Took]) -> Latency:
    if not events:
        return Latency(query, over, 0, 0, 0.0, 0.0, 0.0)
    ordered, matches = sorted(took for took, _ in events), sorted(matches for _, matches in events)
    tenth, median, highest = (ordered[len(ordered) * percent // 100] for percent in (10, 50, 99))
    return Latency(query, over, len(ordered), matches[len(matches) // 2], tenth, median, highest)


def run(events: int, seed: int) -> list[Latency]:
    """All queries."""
    query = (ROOT / "examples" / "smart_grid" / "query.rq").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kb.ttl"
        path.write_text(GRID.knowledge["kb.ttl"], encoding="utf-8")
        kb = {KB_IRI: str(path)}
        grid = pushed(GRID.events(random.Random(seed)), events)
        stock = pushed(STOCK.events(random.Random(seed)), max(events // _RARER, min(events, _TRADES_MIN)))
        return [
            *measure("grid", one_stream(query), kb, grid, several=False),
            *measure("grid, 3 streams", query, kb, grid, several=True),
            *(each for name, trades in TRADES.items() for each in measure(name, trades, {}, stock, several=False)),
        ]


def table(latencies: Sequence[Latency]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="one event at a time, microseconds from push to match")
    for heading in ("query", "over", "events", "matches", "10 %", "median", "99 %"):
        shown.add_column(heading, justify="left" if heading in ("query", "over") else "right")
    for latency in latencies:
        counts = f"{latency.events:,}", str(latency.matches)
        figures = *counts, f"{latency.p10_us:.0f}", f"{latency.median_us:.0f}", f"{latency.p99_us:.0f}"
        shown.add_row(latency.query, latency.over, *figures)
    return shown


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events",
        type=int,
        default=40_000,
        metavar="N",
        help="pushed into the queries of the grid; of trades a quarter [40000]",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the generators [1]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    return parser.parse_args()


def main() -> None:
    """Generate, push, report."""
    options = arguments()
    latencies = run(options.events, options.seed)
    Console(width=shutil.get_terminal_size((120, 24)).columns).print(table(latencies))
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        figures = {"machine": machine, "latencies": [asdict(latency) for latency in latencies]}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
