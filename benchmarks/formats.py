"""Each format of streams by the same events, read into columns of ids, beside other readers in the same run.

An event is a reading of a sensor: its time and four triples. Every reader has a process of its own, which reads its
file twice; the second time counts, so compiled kernels are loaded. Processor time is that of all threads.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyoxigraph as ox
from rich.table import Table

from benchmarks.figures import report
from benchmarks.reading import TERMS_KEPT_MAX
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.terms import XSD
from spaseq.inputs.reading import StreamFormat
from spaseq.inputs.streams import open_stream
from spaseq.inputs.tables.template import parse_template
from spaseq.outputs.event_files import EventFile

QUADS_PER_EVENT = 5
SENSORS = 500
SAMPLE = 20_000
"""Events that the slow peers read."""
TEMPLATE = """@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/e/{id}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^xsd:dateTime .
<http://example.org/e/{id}> { <http://example.org/o/{id}> a <http://example.org/Observation> ;
  <http://example.org/by> <http://example.org/s/{sensor}> ; <http://example.org/value> ?value ;
  <http://example.org/quality> "{quality}" }
"""
FILES = {
    "N-Quads": "x.nq", "TriG": "x.trig", "Jelly": "x.jelly", "NDJSON-LD": "x.ndjsonld", "CSV": "x.csv",
    "Parquet": "x.parquet", "NDJSON": "x.ndjson",
}  # fmt: skip
TABLES = ("CSV", "Parquet", "NDJSON")
Counted = tuple[int, int]
"""Events and quads."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The reading of one file by one reader."""

    reader: str
    megabytes: float
    events: int
    quads: int
    processor_seconds: float
    rss_mb_max: float


def rows(count: int) -> Iterator[dict[str, object]]:
    """The readings, one a second."""
    draw, start = random.Random(1), datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(count):
        when = (start + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        value = draw.randrange(-200, 500) / 10
        yield {"id": number, "time": when, "sensor": draw.randrange(SENSORS), "value": value, "quality": "good"}


def as_nquads(row: dict[str, object]) -> str:
    """The quads of a reading."""
    ns = "http://example.org/"
    graph, node = f"<{ns}e/{row['id']}>", f"<{ns}o/{row['id']}>"
    return (
        f'{graph} <{PROV_TIME}> "{row["time"]}"^^<{XSD}dateTime> .\n'
        f"{node} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{ns}Observation> {graph} .\n"
        f"{node} <{ns}by> <{ns}s/{row['sensor']}> {graph} .\n"
        f'{node} <{ns}value> "{row["value"]}"^^<{XSD}decimal> {graph} .\n'
        f'{node} <{ns}quality> "{row["quality"]}" {graph} .\n'
    )


def write_files(folder: Path, count: int) -> None:
    """Write the events in all formats, and a sample for the slow peers."""
    import polars

    found = list(rows(count))
    events = [as_nquads(row).encode() for row in found]
    for name in ("x.nq", "x.trig", "x.jelly"):
        for suffix, some in (("", events), ("sample.", events[:SAMPLE])):
            file = EventFile(folder / f"{suffix}{name}")
            file.write(some)
            file.close()
    with open(folder / "x.ndjsonld", "wb") as lines:
        for event in events:
            text = ox.serialize(ox.parse(event, ox.RdfFormat.N_QUADS), format=ox.RdfFormat.JSON_LD)
            assert text is not None
            lines.write(text.replace(b"\n", b"") + b"\n")
    frame = polars.DataFrame(found)
    frame.write_csv(folder / "x.csv")
    frame.write_ndjson(folder / "x.ndjson")
    frame.write_parquet(folder / "x.parquet")


def read_stream(path: Path, table: bool) -> Counted:
    """Read a file as a run does, by kernels where there are some."""
    dictionary, events, quads = Dictionary(), 0, 0
    how = StreamFormat(template=parse_template(TEMPLATE, "template", (PROV_TIME,)) if table else None)
    for batch in open_stream(str(path), "S", dictionary, _refuse, ReadOptions(compiled=True), how):
        events += len(batch.events)
        quads += len(batch.events) + len(batch.events.subjects)
        if len(dictionary) > TERMS_KEPT_MAX:
            dictionary.retain([])
    return events, quads


def read_by_pyoxigraph(path: Path) -> Counted:
    """Read N-Quads into Python objects."""
    quads = sum(1 for _ in ox.parse(path=path))
    return quads // QUADS_PER_EVENT, quads


def read_by_rdflib(path: Path) -> Counted:
    """Read N-Quads into a store."""
    import rdflib

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib about itself
        quads = len(rdflib.Dataset().parse(data=path.read_bytes(), format="nquads"))
    return quads // QUADS_PER_EVENT, quads


def read_by_pyjelly(path: Path) -> Counted:
    """Read Jelly into Python objects."""
    from pyjelly.integrations.generic.parse import parse_jelly_flat  # type: ignore[import-untyped]

    with open(path, "rb") as stream:
        quads = sum(1 for _ in parse_jelly_flat(stream))
    return quads // QUADS_PER_EVENT, quads


def read_by_polars(path: Path) -> Counted:
    """Read CSV into a table; its rows count as events."""
    import polars

    events = len(polars.read_csv(path))
    return events, events * QUADS_PER_EVENT


PEERS: dict[str, tuple[str, Callable[[Path], Counted]]] = {
    "N-Quads, pyoxigraph": ("x.nq", read_by_pyoxigraph),
    "N-Quads, rdflib": ("sample.x.nq", read_by_rdflib),
    "Jelly, pyjelly": ("sample.x.jelly", read_by_pyjelly),
    "CSV, polars (no RDF)": ("x.csv", read_by_polars),
}


def measure(reader: str, folder: Path) -> None:
    """Print the figures of one reader as JSON."""
    name, read = PEERS.get(reader) or (FILES[reader], lambda path: read_stream(path, reader in TABLES))
    path = folder / name
    read(path)
    started = time.process_time()
    events, quads = read(path)
    seconds = time.process_time() - started
    print(json.dumps([reader, path.stat().st_size / 1e6, events, quads, seconds, _peak_megabytes()]))


def _peak_megabytes() -> float:
    """The peak of resident memory of this process; the system's count for children would begin at the parent's."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("Linux says it")


def _refuse(*malformed: object) -> None:
    raise AssertionError(malformed)


def _table(rates: list[Rate]) -> Table:
    table = Table(
        "reader", "MB", "k events/s", "k quads/s", "s per M quads", "peak MB", title="Reading, processor time"
    )
    for rate in rates:
        events, quads = (count / rate.processor_seconds / 1000 for count in (rate.events, rate.quads))
        cost = 1e6 * rate.processor_seconds / rate.quads
        table.add_row(
            rate.reader,
            f"{rate.megabytes:.1f}",
            f"{events:,.0f}",
            f"{quads:,.0f}",
            f"{cost:.2f}",
            f"{rate.rss_mb_max:.0f}",
        )
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.folder)
        return
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.events)
        for reader in (*FILES, *PEERS):
            command = [sys.executable, __file__, "--reader", reader, "--folder", folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            rates.append(Rate(*json.loads(done.stdout)))
    report([_table(rates)], {"formats": rates}, options.json)


if __name__ == "__main__":
    main()
