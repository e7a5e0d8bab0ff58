"""Background knowledge measured: endpoint joins, growth, an outage.

    python benchmarks/kb_scale.py endpoint     distinct keys a second, joined over loopback with an Oxigraph server
    python benchmarks/kb_scale.py growth       event throughput while the knowledge base grows from 10 k to 10 M triples
    python benchmarks/kb_scale.py load         10 M triples: from an RDF file, preparing them, opening what is prepared
    python benchmarks/kb_scale.py enrich       what joining with matches instead of with events saves
    python benchmarks/kb_scale.py outage       an endpoint that is down for 20 s and back, under `wait`

Each prints its own figures (memory as Linux tells it); nothing is downloaded, everything is made up here.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

import spaseq
from kb.base import KnowledgeBases
from kb.prepared_build import build
from kb.source import Source
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.pattern import BGP, Triple, Variable
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.terms import IRI
from spaseq.algebra.build import build as meaning_of
from spaseq.engine.setup import Setup
from spaseq.runtime.embedded.network import Network

DB = "http://kb.example/db"
XSD_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
PROV_TIME = "http://www.w3.org/ns/prov#generatedAtTime"
SIZES = (10_000, 1_000_000, 10_000_000)
EVENTS = 100_000
ENRICHED = 20_000


def main() -> None:
    """Run the measurement that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["endpoint", "growth", "load", "enrich", "outage"])
    parser.add_argument("--triples-max", type=int, default=SIZES[-1])
    parser.add_argument("--seconds", type=float, default=20.0, help="of the outage")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        match arguments.what:
            case "endpoint":
                measure_endpoint()
            case "growth":
                measure_growth(Path(folder), arguments.triples_max)
            case "load":
                measure_load(Path(folder), arguments.triples_max)
            case "enrich":
                measure_enrichment(Path(folder))
            case "outage":
                measure_outage(Path(folder), arguments.seconds)


def measure_endpoint(keys: int = 200_000) -> None:
    """Distinct keys a second for several shapes of requests; the cache knows none of them."""
    lines = "".join(f"<http://x/s{n}> <http://x/in> <http://x/room{n % 997}> .\n" for n in range(keys))
    pattern = BGP((Triple(Variable("s"), IRI("http://x/in"), Variable("room")),))
    with oxigraph(lines) as (url, _):
        for batch_keys, batch_keys_max, in_flight in ((100, 100, 1), (100, 100, 4), (100, 500, 4), (1000, 1000, 4)):
            dictionary = Dictionary()
            source = Source(
                url, batch_keys=batch_keys, batch_keys_max=batch_keys_max, in_flight=in_flight, whole_rows_max=0
            )
            kbs = KnowledgeBases.load({DB: source}, dictionary, ExpressionEvaluator(dictionary))
            ids = np.array([dictionary.intern(IRI(f"http://x/s{n}")) for n in range(keys)], dtype=np.int64)
            begin, before = time.perf_counter(), time.process_time()
            found = sum(len(kbs.bind_join(DB, pattern, {"s": part})) for part in np.array_split(ids, keys // 10_000))
            seconds, spent = time.perf_counter() - begin, time.process_time() - before
            kbs.close()
            assert found == keys, found
            print(
                f"{batch_keys:5} to {batch_keys_max:4} keys a request, {in_flight} in flight: "
                f"{keys / seconds:8,.0f} distinct keys/s, {keys / spent:8,.0f} a cpu-second of this side"
            )


def measure_growth(folder: Path, triples_max: int) -> None:
    """Events a second against a knowledge base of each size, from an RDF file and from a prepared one."""
    write_events(folder / "events.nq", EVENTS)
    for size in (size for size in SIZES if size <= triples_max):
        begin = time.perf_counter()
        write_knowledge(folder / "kb.nt", size)
        written = time.perf_counter()
        build([str(folder / "kb.nt")], folder / "kb.kb")
        built = time.perf_counter()
        print(
            f"{size:10,} triples: written in {written - begin:.1f} s, prepared in {built - written:.1f} s", flush=True
        )
        for name in ("kb.kb", "kb.nt"):
            command = [sys.executable, __file__, "growth-run", str(folder), name]
            subprocess.run(command, check=True)


def measure_load(folder: Path, triples: int) -> None:
    """Time and memory of each way to a knowledge base, each in a process of its own, with bars on a terminal."""
    write_knowledge(folder / "kb.nt", triples)
    (folder / "q.rq").write_text(query().text)
    (folder / "none.nq").write_text("")
    command = [sys.executable, "-m", "spaseq.cli"]
    run = [*command, "run", str(folder / "q.rq"), "--stream", f"S={folder / 'none.nq'}", "--format", "ndjson"]
    steps = {
        "read": [*run, "--kb", f"{DB}={folder / 'kb.nt'}"],
        "prepared": [*command, "kb", "build", str(folder / "kb.nt"), "-o", str(folder / "kb.kb")],
        "opened": [*run, "--kb", f"{DB}={folder / 'kb.kb'}"],
    }
    for name, arguments in steps.items():
        begin = time.perf_counter()
        process = subprocess.Popen(arguments)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, status
        seconds = time.perf_counter() - begin
        print(f"{triples:10,} triples {name:8} in {seconds:6.1f} s, {usage.ru_maxrss / 1024:6,.0f} MB", flush=True)


def measure_enrichment(folder: Path, repeat: int = 3) -> None:
    """Events a cpu-second, reading aside, of a query that wants more of each match, with and without the rule."""
    write_events(folder / "events.nq", ENRICHED, sensors=ENRICHED)
    write_knowledge(folder / "kb.nt", 100_000)
    build([str(folder / "kb.nt")], folder / "kb.kb")
    for name in ("kb.nt", "kb.kb"):
        for size in (10_000, 10):
            best: dict[bool, float] = {}
            for optimise in (True, False) * repeat:
                spent = matching_s(folder / "events.nq", folder / name, size, optimise)
                best[optimise] = min(best.get(optimise, spent), spent)
            rates = {optimise: ENRICHED / spent for optimise, spent in best.items()}
            print(
                f"{name}, {size:6,} events a batch: with each event {rates[False]:9,.0f} events a cpu-second, "
                f"with each match {rates[True]:9,.0f}: {rates[True] / rates[False]:.1f} times",
                flush=True,
            )


def matching_s(events: Path, knowledge: Path, size: int, optimise: bool) -> float:
    """Seconds of the processor for events that have been read already, in batches."""
    dictionary, rows = Dictionary(), 0
    options = spaseq.RunOptions(batch_events=size, optimise=optimise)
    setup = Setup({DB: str(knowledge)}, options, dictionary, [meaning_of(enriching())])
    network = Network(dictionary, 0)

    def count(found: list[spaseq.Row]) -> None:
        nonlocal rows
        rows += len(found)

    network.add(setup.operator(meaning_of(enriching())), count)
    with events.open("rb") as stream:
        batches = list(read_events(stream, "nquads", dictionary, ReadOptions((PROV_TIME,), None, size, "S"), print))
    before = time.process_time()
    for batch in batches:
        network.push("http://x/stream", batch)
    network.finish()
    spent = time.process_time() - before
    setup.bases.close()
    assert rows == ENRICHED // 50, rows
    return spent


def enriching() -> spaseq.Query:
    """Few events end a match, and each match is told a room and three numbers of things in it."""
    more = " ".join(f"OPTIONAL {{ GRAPH <{DB}> {{ ?s :{name} ?{name} }} }}" for name in ("in", "serial", "x", "y"))
    return spaseq.parse(
        f"PREFIX : <http://x/> SELECT ?s ?in ?serial ?x ?y WITHIN 1 MINUTE FROM STREAM S <http://x/stream> WHERE {{ "
        f"SEQ(A, B) DEFINE GPM A ON S {{ ?s :reads ?v {more} }} DEFINE GPM B ON S {{ ?t :reads '49' }} }}"
    )


def growth_run(folder: Path, name: str) -> None:
    """One form of one size, in a process of its own so that its memory is its own; kernels are compiled before."""
    (folder / "one.nt").write_text("<http://x/s0> <http://x/in> <http://x/room0> .\n")
    for location in ("one.nt", name):
        begin = time.perf_counter()
        options = spaseq.RunOptions(batch_events=10_000)
        job = spaseq.Job([query()], {"S": str(folder / "events.nq")}, {DB: str(folder / location)}, options)
        ready, before = time.perf_counter(), time.process_time()
        rows = sum(len(found) for found in job.rows())
        seconds, spent = time.perf_counter() - ready, time.process_time() - before
        job.close()
    assert rows == EVENTS // 2, rows
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    memory = int(status["VmHWM"].split()[0]) / 1024
    print(
        f"{'':12}{name}: ready in {ready - begin:6.2f} s, {EVENTS / seconds:8,.0f} events/s, "
        f"{EVENTS / spent:8,.0f} events a cpu-second, {memory:6,.0f} MB",
        flush=True,
    )


def measure_outage(folder: Path, seconds: float) -> None:
    """The rows with an endpoint that goes away in the middle of the run, and without."""
    write_events(folder / "events.nq", 40_000, sensors=40_000)
    lines = "".join(f"<http://x/s{n}> <http://x/in> <http://x/room{n % 997}> .\n" for n in range(0, 40_000, 2))

    def rows(url: str, interrupt: subprocess.Popen[bytes] | None) -> tuple[list[str], float]:
        source = Source(url, whole_rows_max=0, timeout_s=2.0)
        job = spaseq.Job(
            [query()], {"S": str(folder / "events.nq")}, {DB: source}, spaseq.RunOptions(batch_events=5000)
        )
        begin, found = time.perf_counter(), []
        for batch in job.rows():
            found += [repr(row) for row in batch]
            if interrupt is not None and found:
                interrupt.terminate()
                interrupt.wait()
                stack.enter_context(later(lines, url, seconds))
                interrupt = None
        job.close()
        return sorted(found), time.perf_counter() - begin

    with contextlib.ExitStack() as stack:
        url, server = stack.enter_context(oxigraph(lines))
        undisturbed, quick = rows(url, None)
        disturbed, slow = rows(url, server)
    print(f"{len(undisturbed):,} rows in {quick:.1f} s undisturbed; {slow:.1f} s with {seconds:.0f} s of outage")
    print("the rows are equal" if disturbed == undisturbed else "THE ROWS DIFFER")


@contextlib.contextmanager
def later(lines: str, url: str, seconds: float) -> Iterator[None]:
    """A server at the URL that comes up after some seconds."""
    import threading

    port = int(url.split(":")[2].split("/")[0])
    stack = contextlib.ExitStack()
    timer = threading.Timer(seconds, lambda: stack.enter_context(oxigraph(lines, port)))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        stack.close()


def query() -> spaseq.Query:
    """Every event is joined with the knowledge base; every second one is known there."""
    return spaseq.parse(
        f"PREFIX : <http://x/> SELECT ?s ?room WITHIN 1 MINUTE FROM STREAM S <http://x/stream> "
        f"WHERE {{ SEQ(A) DEFINE GPM A ON S {{ ?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }} }} }}"
    )


def write_events(path: Path, count: int, sensors: int = SIZES[0]) -> None:
    """Events, one a second, about the same sensors again and again; half of them are in every knowledge base."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    with path.open("w") as file:
        for n in range(count):
            when = (begin + timedelta(seconds=n)).isoformat()
            file.write(f'<urn:e{n}> <{PROV_TIME}> "{when}"^^<{XSD_TIME}> .\n')
            file.write(f'<http://x/s{n % sensors}> <http://x/reads> "{n % 50}" <urn:e{n}> .\n')


def write_knowledge(path: Path, triples: int) -> None:
    """Half of the triples are of the predicate that the query asks for."""
    with path.open("w") as file:
        for n in range(0, triples, 2):
            file.write(f"<http://x/s{n}> <http://x/in> <http://x/room{n % 997}> .\n")
            file.write(f'<http://x/s{n}> <http://x/serial> "{n * 7919 % 1_000_003}" .\n')


@contextlib.contextmanager
def oxigraph(lines: str, port: int | None = None) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The URL of an Oxigraph server with these triples, and its process."""
    if port is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    script = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or "oxigraph"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([script, "serve", "--bind", f"127.0.0.1:{port}"], **quiet)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/store?default", lines.encode(), {"Content-Type": "application/n-triples"})
        assert connection.getresponse().status < 300
        connection.close()
        yield f"http://127.0.0.1:{port}/query", process
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["growth-run"]:
        growth_run(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
