"""The matcher alone, from events in columns of ids to solutions, beside pyoxigraph and rdflib in the same run.

For each generated stream the graph patterns of its example query, each over the events of its own stream. The peers
are asked the same patterns: a pyoxigraph Store filled and asked for every event, one filled with a batch of named
graphs and asked once, and an rdflib graph for every event, on samples. pyoxigraph's `Dataset` answers no queries.
"""

from __future__ import annotations

import argparse
import io
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyoxigraph
import rdflib
from rdflib.plugins.sparql import prepareQuery
from rich.table import Table

from benchmarks.figures import report
from examples.event_files import Example, as_nquads, timestamps
from examples.smart_grid.generate import EXAMPLE as GRID
from examples.stock.generate import EXAMPLE as STOCK
from examples.traffic.generate import EXAMPLE as TRAFFIC
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.parse import parse_group
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.shared import PatternPool, Slice, StreamPattern


class Samples(NamedTuple):
    """How many events of each stream a peer is given: they are slow."""

    batch: int
    store: int
    rdflib: int


@dataclass(frozen=True, slots=True)
class Workload:
    """A generated stream and its graph patterns: (name of the stream, variables, pattern)."""

    name: str
    example: Example
    prefixes: dict[str, str]
    patterns: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """One system over one stream: the median processor time of its runs."""

    stream: str
    system: str
    events: int
    triples: int
    solutions: int
    seconds: float


WORKLOADS = (
    Workload(
        "smart grid",
        GRID,
        {"": "http://smartgrid.org/ns#"},
        (
            (
                "power",
                "?house ?l ?fr1",
                '?house :loc ?l ; :pow :Pw . :Pw :source "fuel" ; :fare ?fr1 . FILTER (?fr1 > 20)',
            ),
            (
                "weather",
                "?w ?l ?lt ?sp",
                "?w :loc ?l ; :value :Vl . :Vl :light ?lt ; :windsp ?sp . FILTER (?sp > 3 && ?lt > 40)",
            ),
            ("storage", "?s ?l ?fr2", '?s :loc ?l ; :pow :Pw . :Pw :source "solar" ; :fare ?fr2'),
        ),
    ),
    Workload(
        "stock",
        STOCK,
        {"": "http://example/"},
        (("trades", "?company ?p1 ?vol1", "?company :price ?p1 ; :volume ?vol1 . FILTER (?p1 > 100)"),),
    ),
    Workload(
        "traffic",
        TRAFFIC,
        {"ssn": "http://purl.oclc.org/NET/ssnx/ssn#", "sao": "http://purl.oclc.org/NET/sao/ssn#"},
        tuple(
            (stream, "?t ?p1 ?v1", "?t ssn:observedProperty ?p1 ; sao:hasValue ?v1 . FILTER (?v1 > 3)")
            for stream in TRAFFIC.streams
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one stream as each system takes them."""

    text: bytes
    variables: str
    pattern: str
    prefixes: dict[str, str]

    @property
    def query(self) -> str:
        """The pattern as a query over one graph."""
        return f"{self._prologue()} SELECT {self.variables} WHERE {{ {self.pattern} }}"

    @property
    def query_of_graphs(self) -> str:
        """The same over named graphs."""
        return f"{self._prologue()} SELECT {self.variables} WHERE {{ GRAPH ?g {{ {self.pattern} }} }}"

    def graphs(self) -> list[list[pyoxigraph.Quad]]:
        """The quads of each event without its timestamp."""
        quads = pyoxigraph.parse(self.text, format=pyoxigraph.RdfFormat.N_QUADS)
        groups = groupby(quads, key=lambda quad: quad.graph_name)
        return [list(group) for name, group in groups if not isinstance(name, pyoxigraph.DefaultGraph)]

    def _prologue(self) -> str:
        return " ".join(f"PREFIX {prefix}: <{iri}>" for prefix, iri in self.prefixes.items())


def streams_of(workload: Workload, events: int) -> list[Stream]:
    """The first events of a workload's streams, taken together."""
    timestamp, texts = timestamps(), {stream: io.StringIO() for stream, _, _ in workload.patterns}
    for event in islice(workload.example.events(random.Random(1)), events):
        texts[event.stream].write(as_nquads(event, timestamp(event.time_ms)))
    return [
        Stream(texts[stream].getvalue().encode(), variables, pattern, workload.prefixes)
        for stream, variables, pattern in workload.patterns
    ]


def in_columns(streams: Sequence[Stream], runs: int) -> tuple[int, int, int, float]:
    """Our matcher, as a run uses it: (events, triples, solutions, seconds); the clock starts when all ids are there."""
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    work, events, triples = [], 0, 0
    for stream in streams:
        named = pool.add(parse_group(f"{{ {stream.pattern} }}", stream.prefixes, "").pattern, None)
        batches = list(read_events(io.BytesIO(stream.text), "nquads", dictionary, ReadOptions(), _refuse))
        work.append((StreamPattern(named.shared, (0,)), batches))
        events += sum(len(batch) for batch in batches)
        triples += sum(len(batch.subjects) for batch in batches)
    seconds, solutions = [], 0
    for _ in range(runs):
        started, solutions = time.process_time(), 0
        for asked, batches in work:
            solutions += sum(len(Slice(batch).solutions(asked)) for batch in batches)
        seconds.append(time.process_time() - started)
    return events, triples, solutions, statistics.median(seconds)


def _refuse(malformed: object) -> None:
    raise AssertionError(malformed)


Peer = Callable[[Stream, list[list[pyoxigraph.Quad]]], int]
"""Finds the solutions of a stream's pattern in the graphs of its events; says how many."""


def store_per_event(stream: Stream, graphs: list[list[pyoxigraph.Quad]]) -> int:
    """A pyoxigraph Store filled and asked for every event."""
    found = 0
    for graph in graphs:
        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(*quad.triple) for quad in graph)
        found += _count(store.query(stream.query))
    return found


def store_of_graphs(stream: Stream, graphs: list[list[pyoxigraph.Quad]]) -> int:
    """A pyoxigraph Store filled with all events as named graphs and asked once."""
    store = pyoxigraph.Store()
    store.extend(quad for graph in graphs for quad in graph)
    return _count(store.query(stream.query_of_graphs))


def rdflib_per_event(stream: Stream, graphs: list[list[pyoxigraph.Quad]]) -> int:
    """An rdflib Graph filled and asked for every event; the query is parsed once."""
    prepared = prepareQuery(stream.query)
    found = 0
    for quads in graphs:
        graph = rdflib.Graph()
        graph.parse(data="\n".join(f"{quad.triple} ." for quad in quads), format="nt")
        found += len(list(graph.query(prepared).bindings))
    return found


def _count(solutions: object) -> int:
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    return sum(1 for _ in solutions)


def _asked(name: str, system: str, peer: Peer, streams: Sequence[Stream], events: int, runs: int) -> Rate:
    """A peer over the first events of each stream; its terms are made before the clock starts."""
    work = [(stream, stream.graphs()[:events]) for stream in streams]
    count, triples = sum(len(graphs) for _, graphs in work), sum(len(g) for _, graphs in work for g in graphs)
    seconds, solutions = [], 0
    for _ in range(runs):
        started = time.process_time()
        solutions = sum(peer(stream, graphs) for stream, graphs in work)
        seconds.append(time.process_time() - started)
    return Rate(name, system, count, triples, solutions, statistics.median(seconds))


def measure(workload: Workload, events: int, runs: int, samples: Samples) -> list[Rate]:
    """Every system over a workload."""
    streams = streams_of(workload, events)
    name = workload.name
    return [
        Rate(name, "columns", *in_columns(streams, runs)),
        _asked(name, "pyoxigraph Store of a batch, asked once", store_of_graphs, streams, samples.batch, 1),
        _asked(name, "pyoxigraph Store per event", store_per_event, streams, samples.store, 1),
        _asked(name, "rdflib per event", rdflib_per_event, streams, samples.rdflib, 1),
    ]


def table(rates: Sequence[Rate]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="from ids (terms, for the peers) to solutions, one core, seconds of processor time")
    for heading in ("stream", "system", "triples", "solutions", "triples/s", "events/s", "columns are faster by"):
        shown.add_column(heading, justify="left" if heading in ("stream", "system") else "right")
    best = {rate.stream: rate.events / rate.seconds for rate in rates if rate.system == "columns"}
    for rate in rates:
        speed = rate.events / rate.seconds
        figures = f"{rate.triples:,}", f"{rate.solutions:,}", f"{rate.triples / rate.seconds:,.0f}", f"{speed:,.0f}"
        shown.add_row(rate.stream, rate.system, *figures, f"{best[rate.stream] / speed:,.1f}×")
    return shown


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="of each workload [100000]")
    parser.add_argument("--runs", type=int, default=5, metavar="K", help="of our matcher; the median counts [5]")
    parser.add_argument("--sample", type=int, default=1000, metavar="N", help="events of a stream for a Store [1000]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    return parser.parse_args()


def main() -> None:
    """Generate, match, report."""
    options = arguments()
    samples = Samples(20 * options.sample, options.sample, max(10, options.sample // 10))
    rates = [rate for workload in WORKLOADS for rate in measure(workload, options.events, options.runs, samples)]
    report([table(rates)], {"rates": rates}, options.json)


if __name__ == "__main__":
    main()
