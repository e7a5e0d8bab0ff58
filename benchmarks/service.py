"""What the service costs beside a bare server, and beside the disk.

python benchmarks/service.py [--events 100000]

* batched pushes, each answered when its events are on disk, beside a handler of the same server that reads the body and
  answers 202
* one event a request: the time to the acknowledgement, and from the push to the row at a reader of server-sent events,
  beside the time of a bare fdatasync of as many bytes
* the time from the start of the process to /readyz with so many events in an open window
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import httpx2
from rich.table import Table

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import report
from sparql_gpm.times import SECOND_NS, format_time

BATCH_EVENTS, SINGLE, CLIENTS = 500, 300, 4
START_NS = 1_767_225_600 * SECOND_NS
NQUADS = {"Content-Type": "application/n-quads"}
QUERY = """SELECT ?k ?b WITHIN 30 DAYS FROM STREAM S <urn:s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?x <urn:rare> ?a ; <urn:k> ?k }
DEFINE GPM B ON S { ?y <urn:alarm> ?b ; <urn:k> ?k } }"""
EACH = "SELECT ?v WITHIN 1 MINUTE FROM STREAM T <urn:t> WHERE { SEQ(A) DEFINE GPM A ON T { ?x <urn:v> ?v } }"
BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def accept(request):
    await request.body()
    return JSONResponse({"accepted": 1}, status_code=202)

app = Starlette(routes=[Route("/{path:path}", accept, methods=["POST", "GET", "PUT"])])
uvicorn.run(app, port=int(sys.argv[1]), http="httptools", loop="asyncio", log_level="error", access_log=False)
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """Batched pushes."""

    what: str
    events_a_second: int
    processor_seconds: float


@dataclass(frozen=True, slots=True)
class Latency:
    """One event a request, in milliseconds."""

    what: str
    median_ms: float
    p99_ms: float


def event(number: int, predicate: str, stream: str = "s") -> str:
    """An event of three quads, one a second."""
    name = f"<urn:{stream}:{number}>"
    stamp = f'"{format_time(START_NS + number * SECOND_NS)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return (
        f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .\n"
        f'_:x <urn:{predicate}> "{number}" {name} .\n_:x <urn:k> "{number % 100}" {name} .\n'
    )


@contextmanager
def serving(command: list[str], address: str, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server, once it answers."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(f"{address}{ready}")
            yield process
        finally:
            process.terminate()
            process.wait()


def wait_for(url: str) -> None:
    """Wait until a server answers 200 or 202."""
    with httpx2.Client(trust_env=False, timeout=60) as client:
        while True:
            try:
                if client.get(url).status_code in (200, 202):
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.01)


def push_all(address: str, bodies: list[bytes]) -> float:
    """The seconds that some clients take to push all bodies."""
    waiting = iter(bodies)
    lock = threading.Lock()

    def push() -> None:
        with httpx2.Client(base_url=address, trust_env=False, timeout=60) as client:
            while True:
                with lock:
                    body = next(waiting, None)
                if body is None:
                    return
                while (status := client.post("/v1/streams/s", content=body, headers=NQUADS).status_code) == 429:
                    time.sleep(0.05)
                assert status == 202, status

    threads = [threading.Thread(target=push) for _ in range(CLIENTS)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def processor_seconds(process: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(what: str, address: str, process: int, bodies: list[bytes], events: int) -> Rate:
    """The rate of batched pushes."""
    before = processor_seconds(process)
    seconds = push_all(address, bodies)
    return Rate(what, round(events / seconds), round(processor_seconds(process) - before, 2))


def acknowledged(what: str, address: str) -> Latency:
    """The time to the answer, one event a request."""
    taken = []
    with httpx2.Client(base_url=address, trust_env=False, timeout=60) as client:
        for number in range(SINGLE):
            body = event(number, "v", "t").encode()
            begin = time.perf_counter()
            assert client.post("/v1/streams/t", content=body, headers=NQUADS).status_code == 202
            taken.append(time.perf_counter() - begin)
    return latency(what, taken)


def delivered(address: str) -> Latency:
    """The time from the push of an event to its row at a reader."""
    pushed: dict[int, float] = {}
    taken: list[float] = []
    following = threading.Event()

    def follow() -> None:
        rows = f"{address}/v1/queries/each/matches"
        headers = {"Accept": "text/event-stream"}
        with httpx2.Client(trust_env=False, timeout=60) as client, client.stream("GET", rows, headers=headers) as live:
            following.set()
            for line in live.iter_lines():
                if line.startswith("data: "):
                    number = int(json.loads(line[6:])["bindings"]["v"]["value"])
                    if number in pushed:
                        taken.append(time.perf_counter() - pushed[number])
                    if len(taken) == SINGLE:
                        return

    reader = threading.Thread(target=follow)
    reader.start()
    following.wait(60)
    time.sleep(0.2)
    with httpx2.Client(base_url=address, trust_env=False, timeout=60) as client:
        for number in range(SINGLE, 2 * SINGLE):
            pushed[number] = time.perf_counter()
            client.post("/v1/streams/t", content=event(number, "v", "t").encode(), headers=NQUADS)
            time.sleep(0.005)
    reader.join(60)
    return latency("push → row at a reader of server-sent events", taken)


def synced(folder: Path, size: int) -> Latency:
    """The time of an append and a bare fdatasync."""
    taken = []
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(SINGLE):
        begin = time.perf_counter()
        os.write(file, bytes(size))
        os.fdatasync(file)
        taken.append(time.perf_counter() - begin)
    os.close(file)
    return latency(f"bare fdatasync of {size} bytes", taken)


def latency(what: str, taken: list[float]) -> Latency:
    """Median and 99th percentile."""
    ordered = sorted(taken)
    median, p99 = statistics.median(ordered), ordered[int(0.99 * len(ordered))]
    return Latency(what, round(1000 * median, 2), round(1000 * p99, 2))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="pushed in batches [100000]")
    parser.add_argument("--port", type=int, default=7471, metavar="N", help="and the next one [7471]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there")
    asked = parser.parse_args()
    numbers = range(asked.events)
    texts = [event(number, "seen" if number % 1000 else "rare") for number in numbers]
    bodies = ["".join(texts[at : at + BATCH_EVENTS]).encode() for at in range(0, len(texts), BATCH_EVENTS)]
    ours, bare = f"http://127.0.0.1:{asked.port}", f"http://127.0.0.1:{asked.port + 1}"
    rates: list[Rate] = []
    latencies: list[Latency] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving([sys.executable, "-c", BARE, str(asked.port + 1)], bare, "/readyz") as process:
            rates.append(rate("bare 202 handler", bare, process.pid, bodies, asked.events))
            latencies.append(acknowledged("bare 202 handler", bare))
        command = [sys.executable, "-m", "spaseq.cli", "serve", "--data", str(folder / "data")]
        command += ["--port", str(asked.port)]
        with serving(command, ours, "/readyz") as process:
            with httpx2.Client(base_url=ours, trust_env=False, timeout=60) as client:
                for stream in "st":
                    client.put(f"/v1/streams/{stream}", json={"iri": f"urn:{stream}"}).raise_for_status()
                for query, text in (("pairs", QUERY), ("each", EACH)):
                    client.put(f"/v1/queries/{query}", json={"text": text}).raise_for_status()
            rates.append(rate("spaseq serve, on disk before the answer", ours, process.pid, bodies, asked.events))
            latencies += [synced(folder, 400), acknowledged("acknowledgement, on disk", ours), delivered(ours)]
        begin = time.perf_counter()
        with serving(command, ours, "/readyz"):
            restart = time.perf_counter() - begin
    tables = (_table("batched pushes", rates), _table("one event a request", latencies))
    report(tables, {"rates": rates, "latencies": latencies}, asked.json)
    print(f"start to /readyz after {asked.events:,} events: {restart:.2f} s")


def _table(title: str, rows: Sequence[Rate] | Sequence[Latency]) -> Table:
    names = [field.name for field in fields(rows[0])]
    table = Table(*(name.replace("_", " ") for name in names), title=title)
    for row in rows:
        table.add_row(*(f"{getattr(row, name):,}" if name != "what" else row.what for name in names))
    return table


if __name__ == "__main__":
    main()
