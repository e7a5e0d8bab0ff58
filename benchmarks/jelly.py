"""Jelly and N-Quads of the same events, read in turn in one process, whose kernels are loaded.

Two streams: events of five quads, each with a name, a time and a node of its own (those of `formats.py`), and events of
25 quads whose terms return. Least processor time of some runs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks.figures import report
from benchmarks.formats import QUADS_PER_EVENT, SENSORS, as_nquads, rows
from benchmarks.reading import read_in_columns
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import RDF, XSD
from spaseq.outputs.event_files import EventFile

READINGS = 8
"""Readings of an event of the second stream, of three triples each."""
SUFFIXES = (".nq", ".jelly")


@dataclass(frozen=True, slots=True)
class Rate:
    """The least time of a file."""

    stream: str
    format: str
    megabytes: float
    quads: int
    processor_seconds: float


def own_terms(quads: int) -> Iterator[bytes]:
    """Events of five quads."""
    return (as_nquads(row).encode() for row in rows(quads // QUADS_PER_EVENT))


def returning_terms(quads: int) -> Iterator[bytes]:
    """Events of 25 quads."""
    draw, start, ns = random.Random(2), datetime(2026, 1, 1, tzinfo=UTC), "http://example.org/"
    for number in range(quads // (3 * READINGS + 1)):
        graph, when = f"<{ns}e/{number}>", (start + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = [f'{graph} <{PROV_TIME}> "{when}"^^<{XSD}dateTime> .\n']
        for sensor in draw.sample(range(SENSORS), READINGS):
            node, value = f"<{ns}s/{sensor}>", draw.randrange(-200, 500) / 10
            lines.append(f"{node} <{RDF}type> <{ns}Observation> {graph} .\n")
            lines.append(f'{node} <{ns}value> "{value}"^^<{XSD}decimal> {graph} .\n')
            lines.append(f'{node} <{ns}quality> "good" {graph} .\n')
        yield "".join(lines).encode()


STREAMS: dict[str, Callable[[int], Iterator[bytes]]] = {"own terms": own_terms, "returning terms": returning_terms}


def measured(folder: Path, quads: int, runs: int) -> list[Rate]:
    """The streams in both formats."""
    paths = {(stream, suffix): folder / f"{stream}{suffix}" for stream, suffix in product(STREAMS, SUFFIXES)}
    for (stream, _), path in paths.items():
        file = EventFile(path)
        file.write(STREAMS[stream](quads))
        file.close()
    counted = {case: read_in_columns([path], compiled=True)[1] for case, path in paths.items()}
    least = dict.fromkeys(paths, float("inf"))
    for _ in range(runs):
        for case, path in paths.items():
            begin = time.process_time()
            read_in_columns([path], compiled=True)
            least[case] = min(least[case], time.process_time() - begin)
    return [Rate(*case, path.stat().st_size / 1e6, counted[case], least[case]) for case, path in paths.items()]


def _table(rates: list[Rate]) -> Table:
    table = Table("stream", "format", "MB", "k quads", "s", "M quads/s", title="Reading, processor time")
    for rate in rates:
        speed = rate.quads / rate.processor_seconds / 1e6
        figures = f"{rate.megabytes:.1f}", f"{rate.quads / 1000:,.0f}", f"{rate.processor_seconds:.3f}", f"{speed:.2f}"
        table.add_row(rate.stream, rate.format.removeprefix("."), *figures)
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rates = measured(Path(folder), options.quads, options.runs)
    report([_table(rates)], {"jelly": rates}, options.json)


if __name__ == "__main__":
    main()
