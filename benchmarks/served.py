"""Servers as processes of their own, events for them, and clients that push, for the benchmark of the service."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from sparql_gpm.times import SECOND_NS, format_time

BATCH_EVENTS, CLIENTS = 500, 4
START_NS = 1_767_225_600 * SECOND_NS
NQUADS = {"Content-Type": "application/n-quads"}
SEVERAL_CLIENTS = "2h"
"""The lateness that lets batches of several clients pass each other."""
IDLE_SECONDS = 0.05
"""Processor time in a second that counts as none."""
RARE = 1000
"""One event of so many begins a match of PAIRS."""
PAIRS = """SELECT ?k ?b WITHIN 30 DAYS FROM STREAM S <urn:s>
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
class Latency:
    """The times of one thing, in milliseconds."""

    what: str
    median_ms: float
    p99_ms: float

    @staticmethod
    def of(what: str, seconds: list[float]) -> Latency:
        """Median and 99th percentile."""
        ordered = sorted(seconds)
        median, p99 = statistics.median(ordered), ordered[int(0.99 * len(ordered))]
        return Latency(what, round(1000 * median, 2), round(1000 * p99, 2))


def event(number: int, predicate: str, stream: str = "s") -> str:
    """An event of three quads, one a second."""
    name = f"<urn:{stream}:{number}>"
    stamp = f'"{format_time(START_NS + number * SECOND_NS)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return (
        f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .\n"
        f'_:x <urn:{predicate}> "{number}" {name} .\n_:x <urn:k> "{number % 100}" {name} .\n'
    )


def bodies(events: int, first: int = 0) -> Iterator[bytes]:
    """Bodies of batches with so many events in all."""
    for begin in range(first, first + events, BATCH_EVENTS):
        numbers = range(begin, min(begin + BATCH_EVENTS, first + events))
        yield "".join([event(number, "seen" if number % RARE else "rare") for number in numbers]).encode()


class Server:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self.process, self.address = process, address

    @property
    def processor_seconds(self) -> float:
        """Its processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_mb(self) -> float:
        """Its memory now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def wait_until_idle(self) -> None:
        """Return when it uses no processor: it loads kernels beside its work, for instance."""
        before = -1.0
        while self.processor_seconds - before > IDLE_SECONDS:
            before = self.processor_seconds
            time.sleep(1)

    def client(self) -> httpx2.Client:
        """A client of it."""
        return httpx2.Client(base_url=self.address, trust_env=False, timeout=60)

    def declare(self, queries: dict[str, str]) -> None:
        """Declare the streams and some queries."""
        with self.client() as client:
            for stream, delay in (("s", SEVERAL_CLIENTS), ("t", "0s")):
                settings = {"iri": f"urn:{stream}", "max_delay": delay}
                client.put(f"/v1/streams/{stream}", json=settings).raise_for_status()
            for query, text in queries.items():
                client.put(f"/v1/queries/{query}", json={"text": text}).raise_for_status()

    def push(self, stream: str, body: bytes) -> float:
        """The seconds until a body is acknowledged; alone, with a client of its own."""
        with self.client() as client:
            return _pushed(client, stream, body)

    def push_all(self, some: Iterable[bytes]) -> float:
        """The seconds that several clients take to push bodies to the first stream."""
        waiting, lock = iter(some), threading.Lock()

        def push() -> None:
            with self.client() as client:
                while True:
                    with lock:
                        body = next(waiting, None)
                    if body is None:
                        return
                    _pushed(client, "s", body)

        threads = [threading.Thread(target=push) for _ in range(CLIENTS)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begin


def _pushed(client: httpx2.Client, stream: str, body: bytes) -> float:
    begin = time.perf_counter()
    while (status := client.post(f"/v1/streams/{stream}", content=body, headers=NQUADS).status_code) == 429:
        time.sleep(0.05)
    assert status == 202, status
    return time.perf_counter() - begin


@contextmanager
def bare(port: int) -> Iterator[Server]:
    """A handler of the same server that reads the body and answers 202."""
    with _serving([sys.executable, "-c", BARE, str(port)], port) as server:
        yield server


@contextmanager
def service(port: int, data: Path) -> Iterator[Server]:
    """A service over a data folder."""
    with _serving([sys.executable, "-m", "spaseq.cli", "serve", "--data", str(data), "--port", str(port)], port) as it:
        yield it


@contextmanager
def _serving(command: list[str], port: int) -> Iterator[Server]:
    """A server, once it is ready."""
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(f"{address}/readyz")
            yield Server(process, address)
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str) -> None:
    with httpx2.Client(trust_env=False, timeout=60) as client:
        while True:
            try:
                if client.get(url).status_code in (200, 202):
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.01)


class Readers:
    """Connections that follow the rows of a query as server-sent events, each in turn read to the row of an event."""

    def __init__(self, address: str, query: str) -> None:
        self._host = urlsplit(address).netloc
        self._query = query
        self._open: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def begin(self, count: int) -> None:
        """Open so many; returns when all have the head of their answer."""
        host, port = self._host.split(":")
        head = (
            f"GET /v1/queries/{self._query}/matches HTTP/1.1\r\nHost: {self._host}\r\nAccept: text/event-stream\r\n\r\n"
        )
        for _ in range(count):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head.encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            self._open.append((reader, writer))

    async def rows_of(self, event: str) -> list[float]:
        """The times (of `time.perf_counter`) at which each has the row of an event; those before it are passed over."""
        return await asyncio.gather(*(self._row_of(event.encode(), reader) for reader, _ in self._open))

    def close(self) -> None:
        """Close all."""
        for _, writer in self._open:
            writer.close()

    @staticmethod
    async def _row_of(event: bytes, reader: asyncio.StreamReader) -> float:
        while not ((line := await reader.readuntil(b"\n")).startswith(b"data: ") and b'"%b"' % event in line):
            pass
        return time.perf_counter()
