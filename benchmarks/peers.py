"""What else can be done with the same files: parsing alone, and a SPARQL engine called for every event.

The peers do less than SPAseq does: none of them orders streams, keeps windows or finds sequences. Each takes the whole
files or, where it is slow, the first events of each.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

import pyoxigraph
import rdflib
from rdflib.plugins.sparql import prepareQuery

from benchmarks.reading import read_in_columns

STORE_EVENTS_MAX = 20_000
RDFLIB_EVENTS_MAX = 500

POWER = """
PREFIX : <http://smartgrid.org/ns#>
SELECT ?house ?l ?fr1 WHERE { ?house :loc ?l ; :pow :Pw . :Pw :source "fuel" ; :fare ?fr1 . FILTER (?fr1 > 20) }
"""


TOOLS = {
    "serdi": ("serdi", "-i", "nquads", "-o", "nquads"),
    "rapper": ("rapper", "-q", "-i", "nquads", "-o", "nquads"),
}
"""Parsers of Debian (serdi, raptor2-utils), used where they are installed: the floor for reading and writing back."""
STAMP = b"generatedAtTime"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one peer did in `seconds` of wall-clock time."""

    name: str
    events: int
    quads: int
    seconds: float


def measure_peers(files: Sequence[Path]) -> list[Measurement]:
    """Every peer once, over the same N-Quads files."""
    return [
        _measure("the reader of spaseq alone", read_in_columns, files),
        _measure("pyoxigraph: parse only", _parse_only, files),
        *(_measure(f"{tool}: parse only", _tool(TOOLS[tool]), files) for tool in TOOLS if shutil.which(tool)),
        _measure(f"pyoxigraph Store, SPARQL per event, first {STORE_EVENTS_MAX}", _store_per_event, files),
        _measure(f"rdflib, SPARQL per event, first {RDFLIB_EVENTS_MAX}", _rdflib_per_event, files),
    ]


def _measure(name: str, peer: Callable[[Sequence[Path]], tuple[int, int]], files: Sequence[Path]) -> Measurement:
    started = time.perf_counter()
    events, quads = peer(files)
    return Measurement(name, events, quads, time.perf_counter() - started)


def _tool(command: Sequence[str]) -> Callable[[Sequence[Path]], tuple[int, int]]:
    """A parser that is a program: it writes the quads back, which are counted."""

    def run(files: Sequence[Path]) -> tuple[int, int]:
        events = quads = 0
        for path in files:
            with subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    quads += 1
                    events += STAMP in line
        return events, quads

    return run


def _parse_only(files: Sequence[Path]) -> tuple[int, int]:
    events = quads = 0
    stamp_graph = pyoxigraph.DefaultGraph()
    for path in files:
        for quad in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_QUADS):
            quads += 1
            events += quad.graph_name == stamp_graph
    return events, quads


def _graphs(files: Sequence[Path]) -> Iterator[list[pyoxigraph.Quad]]:
    """The quads of one event after the other, without its timestamp."""
    for path in files:
        quads = pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_QUADS)
        for name, group in groupby(quads, key=lambda quad: quad.graph_name):
            if not isinstance(name, pyoxigraph.DefaultGraph):
                yield list(group)


def _store_per_event(files: Sequence[Path]) -> tuple[int, int]:
    events = quads = 0
    for event in islice(_graphs(files), STORE_EVENTS_MAX):
        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(*quad.triple) for quad in event)
        solutions = store.query(POWER)
        assert isinstance(solutions, pyoxigraph.QuerySolutions)
        list(solutions)
        events, quads = events + 1, quads + 1 + len(event)
    return events, quads


def _rdflib_per_event(files: Sequence[Path]) -> tuple[int, int]:

    prepared = prepareQuery(POWER)
    events = quads = 0
    for event in islice(_graphs(files), RDFLIB_EVENTS_MAX):
        graph = rdflib.Graph()
        graph.parse(data="\n".join(f"{quad.triple} ." for quad in event), format="nt")
        list(graph.query(prepared).bindings)
        events, quads = events + 1, quads + 1 + len(event)
    return events, quads
