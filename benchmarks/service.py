"""What the service costs beside a bare server, beside the disk, and beside Bytewax.

python benchmarks/service.py [--events 100000] [--only batches,latency,queries,readers,restart,memory,bytewax]

batches     batched pushes, each answered when its events are on disk, beside a handler of the same server that reads
            the body and answers 202
latency     one event a request: the time to the acknowledgement, and from the push to the row at a reader of
            server-sent events, beside the time of a bare fdatasync of as many bytes
queries     putting 1,000 queries, and pushing while they read
readers     the time from a push until 1,000 readers of server-sent events have its row
restart     from the start of the process to /readyz with all events in an open window
memory      of the process while events come whose windows pass
bytewax     the same events and pairs in Bytewax with recovery, as far as it has that: no requests, no acknowledgements,
            rows without numbers; skipped where the package is not installed
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import report, run_process
from benchmarks.served import BATCH_EVENTS, EACH, PAIRS, Latency, Readers, Server, bare, bodies, event, service

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SINGLE = 300
"""Requests of which each is measured by itself."""
WARM_EVENTS = 10_000
"""Events after which a service has loaded its kernels."""
QUERIES, READERS, SAMPLES = 1_000, 1_000, 20
PASSING = PAIRS.replace("30 DAYS", "1 HOUR")
"""PAIRS whose windows pass while events come."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Batched pushes, or what stands for them."""

    what: str
    events: int
    events_a_second: int
    processor_us_an_event: float


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of the service after so many events."""

    events: int
    resident_mb: float


@dataclass(frozen=True, slots=True)
class Restart:
    """A start of the service over data."""

    what: str
    seconds: float


Figures = Sequence["DataclassInstance"]


@dataclass(frozen=True, slots=True)
class Place:
    """What parts need: a folder of their own, a port, and the number of events."""

    folder: Path
    port: int
    events: int

    def data(self) -> Path:
        """A folder for a service that is not there yet."""
        return Path(tempfile.mkdtemp(dir=self.folder))


def batches(place: Place) -> Figures:
    """Batched pushes."""
    with bare(place.port) as server:
        found = [_rate("bare 202 handler", server, place.events)]
    with service(place.port, place.data()) as server:
        server.declare({"pairs": PAIRS})
        _rate("", server, WARM_EVENTS, first=place.events)
        server.wait_until_idle()
        found.append(
            _rate("spaseq serve, on disk before the answer", server, place.events, 2 * place.events + WARM_EVENTS)
        )
    return found


def _rate(what: str, server: Server, events: int, first: int = 0) -> Rate:
    some = list(bodies(events, first)) if events <= 1_000_000 else bodies(events, first)
    before = server.processor_seconds
    seconds = server.push_all(some)
    used = server.processor_seconds - before
    return Rate(what, events, round(events / seconds), round(1e6 * used / events, 1))


def latency(place: Place) -> Figures:
    """One event a request."""
    found = [_synced(place.folder, 400)]
    with bare(place.port) as server:
        found.append(Latency.of("bare 202 handler", _acknowledged(server, SINGLE)))
    with service(place.port, place.data()) as server:
        server.declare({"each": EACH})
        _acknowledged(server, 50)
        found.append(Latency.of("acknowledgement, on disk", _acknowledged(server, SINGLE, 50)))
        taken = asyncio.run(_followed(server, 1, SINGLE, SINGLE + 50))
        found.append(Latency.of("push → row at a reader of server-sent events", [each[0] for each in taken]))
    return found


def _acknowledged(server: Server, count: int, first: int = 0) -> list[float]:
    taken = []
    with server.client() as client:
        for number in range(first, first + count):
            body = event(number, "v", "t").encode()
            begin = time.perf_counter()
            answer = client.post("/v1/streams/t", content=body, headers={"Content-Type": "application/n-quads"})
            assert answer.status_code == 202
            taken.append(time.perf_counter() - begin)
    return taken


async def _followed(server: Server, readers: int, pushes: int, first: int) -> list[list[float]]:
    """Of each push the seconds until each reader has its row."""
    following, taken = Readers(server.address, "each"), []
    await following.begin(readers)
    with server.client() as client:
        for number in range(first, first + pushes):
            rows = asyncio.create_task(following.rows_of(f"urn:t:{number}"))
            await asyncio.sleep(0.005)
            body, begin = event(number, "v", "t").encode(), time.perf_counter()
            headers = {"Content-Type": "application/n-quads"}
            await asyncio.to_thread(client.post, "/v1/streams/t", content=body, headers=headers)
            taken.append([at - begin for at in await rows])
    following.close()
    return taken


def _synced(folder: Path, size: int) -> Latency:
    """The time of an append and a bare fdatasync."""
    taken = []
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(SINGLE):
        begin = time.perf_counter()
        os.write(file, bytes(size))
        os.fdatasync(file)
        taken.append(time.perf_counter() - begin)
    os.close(file)
    return Latency.of(f"bare fdatasync of {size} bytes", taken)


def queries(place: Place) -> Figures:
    """Many queries."""
    taken = []
    with service(place.port, place.data()) as server:
        server.declare({})
        before = server.processor_seconds
        with server.client() as client:
            for number in range(QUERIES):
                text = PAIRS.replace("urn:rare", f"urn:rare{number}")
                begin = time.perf_counter()
                client.put(f"/v1/queries/q{number}", json={"text": text}).raise_for_status()
                taken.append(time.perf_counter() - begin)
        used = server.processor_seconds - before
        put = Latency.of(f"put of a query, of {QUERIES:,}; {1e3 * used / QUERIES:.1f} ms of processor time each", taken)
        return [put, Latency.of("acknowledgement beside them", _acknowledged(server, SINGLE))]


def readers(place: Place) -> Figures:
    """Many readers of server-sent events."""
    with service(place.port, place.data()) as server:
        server.declare({"each": EACH})
        _acknowledged(server, 50)
        taken = asyncio.run(_followed(server, READERS, SAMPLES, 50))
    return [
        Latency.of(f"push → row at each of {READERS:,} readers", [each for some in taken for each in some]),
        Latency.of(f"push → row at the last of {READERS:,} readers", [max(some) for some in taken]),
    ]


def restart(place: Place) -> Figures:
    """Starts with all events in an open window."""
    data, found = place.data(), []
    with service(place.port, data) as server:
        server.declare({"pairs": PAIRS})
        server.push_all(bodies(place.events))
        server.process.kill()
    for what in ("killed", "ended by a signal"):
        begin = time.perf_counter()
        with service(place.port, data):
            found.append(Restart(f"to /readyz with {place.events:,} events, {what} before", _since(begin)))
    return found


def _since(begin: float) -> float:
    return round(time.perf_counter() - begin, 2)


def memory(place: Place) -> Figures:
    """Memory while windows pass."""
    found = []
    with service(place.port, place.data()) as server:
        server.declare({"pairs": PASSING})
        step = max(BATCH_EVENTS, place.events // SAMPLES)
        for first in range(0, place.events, step):
            server.push_all(bodies(step, first))
            found.append(Memory(first + step, round(server.resident_mb)))
    return found


def bytewax(place: Place) -> Figures:
    """The peer."""
    if importlib.util.find_spec("bytewax") is None:
        print("bytewax is not installed: pip install bytewax")
        return []
    folder = place.data()
    for number, body in enumerate(bodies(place.events)):
        (folder / f"{number:09}.nq").write_bytes(body)
    peer = Path(__file__).with_name("bytewax_peer.py")
    nothing = run_process([sys.executable, str(peer), str(folder), "0"])
    usage = run_process([sys.executable, str(peer), str(folder), str(place.events)])
    seconds, used = usage.seconds - nothing.seconds, usage.processor_seconds - nothing.processor_seconds
    what = "bytewax, from files, a snapshot a second"
    return [Rate(what, place.events, round(place.events / seconds), round(1e6 * used / place.events, 1))]


PARTS: dict[str, Callable[[Place], Figures]] = {
    "batches": batches, "latency": latency, "queries": queries, "readers": readers, "restart": restart,
    "memory": memory, "bytewax": bytewax,
}  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="in each part [100000]")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,…", help="the parts [all]")
    parser.add_argument("--port", type=int, default=7471, metavar="N", help="of the servers [7471]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there")
    asked = parser.parse_args()
    wanted = asked.only.split(",")
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"--only: there is no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as name:
        for part in wanted:
            if figures := PARTS[part](Place(Path(name), asked.port, asked.events)):
                found[part] = figures
    report([_table(part, figures) for part, figures in found.items()], found, asked.json)


def _table(title: str, rows: Figures) -> Table:
    names = [field.name for field in fields(rows[0])]
    table = Table(*(name.replace("_", " ") for name in names), title=title)
    for row in rows:
        table.add_row(*map(_shown, asdict(row).values()))
    return table


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}"


if __name__ == "__main__":
    main()
