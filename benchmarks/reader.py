"""The reader alone, from N-Quads bytes to events in columns of ids, beside pyoxigraph in the same run.

`stream` is the smart grid; in `distinct` every object is a literal that occurs once. With --growth the all-distinct
stream is read at several sizes, each in a process of its own that releases terms as a run does, for its peak memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyoxigraph
from rich.table import Table

from benchmarks.figures import report, run_process
from benchmarks.reading import read_in_columns
from examples.event_files import XSD, Event, as_nquads, timestamps
from examples.smart_grid.generate import events as grid_events

READING = Path(__file__).with_name("reading.py")
QUADS_PER_EVENT = 5
SUBJECTS = 1000


@dataclass(frozen=True, slots=True)
class Rate:
    """The median time of one reader over one file."""

    data: str
    reader: str
    quads: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Growth:
    """One size of the all-distinct stream, read in a process of its own."""

    quads: int
    seconds: float
    rss_mb_max: float


def distinct_events() -> Iterator[Event]:
    """Events of four triples, every object a literal of its own: an integer, a decimal, a time, a text."""
    number = 0
    while True:
        number += 1
        subject = f"<http://smartgrid.org/ns#H{number % SUBJECTS}>"
        values = (
            f'"{number}"^^<{XSD}integer>',
            f'"{number}.25"^^<{XSD}decimal>',
            f'"2026-03-02T06:00:00.{number:09}Z"^^<{XSD}dateTime>',
            f'"reading {number}"',
        )
        triples = tuple(f"{subject} <http://smartgrid.org/ns#p{i}> {value}" for i, value in enumerate(values))
        yield Event("distinct", 1_772_431_200_000 + number, f"urn:distinct:{number}", triples)


def write(events: Iterator[Event], quads: int, path: Path) -> None:
    """Write so many quads of a stream as N-Quads."""
    timestamp = timestamps()
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for event in islice(events, quads // QUADS_PER_EVENT):
            file.write(as_nquads(event, timestamp(event.time_ms)))


def pyoxigraph_to_ids(path: Path) -> int:
    """Parse and number the terms with a dict, the four positions of each quad in lists; no events are cut."""
    ids: dict[object, int] = {}
    number = ids.setdefault
    columns: tuple[list[int], ...] = ([], [], [], [])
    appends = [column.append for column in columns]
    for quad in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_QUADS):
        for append, term in zip(appends, quad, strict=True):
            append(number(term, len(ids)))
    return len(columns[0])


def pyoxigraph_parse(path: Path) -> int:
    """Parse only."""
    return sum(1 for _ in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_QUADS))


READERS: dict[str, Callable[[Path], object]] = {
    "columns, by kernels": lambda path: read_in_columns([path], compiled=True),
    "columns, by line": lambda path: read_in_columns([path], compiled=False),
    "pyoxigraph to ids": pyoxigraph_to_ids,
    "pyoxigraph, parse only": pyoxigraph_parse,
}


def measure(data: str, path: Path, quads: int, runs: int) -> list[Rate]:
    """Every reader so many times, in turn, after the kernels have been loaded."""
    READERS["columns, by kernels"](path)
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    for _ in range(runs):
        for name, read in READERS.items():
            started = time.process_time()
            read(path)
            seconds[name].append(time.process_time() - started)
    return [Rate(data, name, quads, statistics.median(times)) for name, times in seconds.items()]


def grow(path: Path, quads: int) -> Growth:
    """Read the file in a process of its own."""
    usage = run_process([sys.executable, str(READING), str(path)])
    return Growth(quads, usage.processor_seconds, usage.rss_mb_max)


def tables(rates: Sequence[Rate], growths: Sequence[Growth]) -> list[Table]:
    """The figures as they are shown on a terminal."""
    readers = Table(title="N-Quads to ids, one core, seconds of processor time")
    for heading in ("data", "reader", "quads", "seconds", "quads/s", "× pyoxigraph to ids"):
        readers.add_column(heading, justify="left" if heading in ("data", "reader") else "right")
    base = {rate.data: rate.seconds for rate in rates if rate.reader == "pyoxigraph to ids"}
    for rate in rates:
        figures = f"{rate.quads:,}", f"{rate.seconds:.2f}", f"{rate.quads / rate.seconds:,.0f}"
        readers.add_row(rate.data, rate.reader, *figures, f"{base[rate.data] / rate.seconds:.2f}")
    memory = Table(title="all-distinct literals, terms released as in a run")
    for heading in ("quads", "seconds", "quads/s", "peak MB"):
        memory.add_column(heading, justify="right")
    for growth in growths:
        speed = f"{growth.quads / growth.seconds:,.0f}"
        memory.add_row(f"{growth.quads:,}", f"{growth.seconds:.2f}", speed, f"{growth.rss_mb_max:.0f}")
    return [readers, memory] if growths else [readers]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quads", type=int, default=1_000_000, metavar="N", help="in each file [1000000]")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="runs of each reader; the median counts [3]")
    parser.add_argument("--growth", type=int, nargs="*", default=[], metavar="N", help="sizes to take the memory of")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    return parser.parse_args()


def main() -> None:
    """Generate, read, report."""
    options = arguments()
    rates: list[Rate] = []
    growths: list[Growth] = []
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "events.nq"
        for data, events in (("stream", grid_events(random.Random(1))), ("distinct", distinct_events())):
            write(events, options.quads, path)
            rates += measure(data, path, options.quads, options.runs)
        for quads in options.growth:
            write(distinct_events(), quads, path)
            growths.append(grow(path, quads))
    report(tables(rates, growths), {"rates": rates, "growth": growths}, options.json)


if __name__ == "__main__":
    main()
