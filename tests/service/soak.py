"""A service for an hour among poisonous events, hostile bodies and vanishing clients: no row is lost, nothing grows.

    python -m tests.service.soak                 an hour
    python -m tests.service.soak --minutes 2     less

It prints by quarter: events, the latency of the acknowledgement of good bodies, memory, open files and the size of
the data folder. Exit code 1 if a good row is missing or comes twice.
"""

from __future__ import annotations

import argparse
import gzip
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx2

from tests.service.listening import address_said
from tests.waiting import PATIENCE_S, waited

PROV = "http://www.w3.org/ns/prov#generatedAtTime"
STAMPED = "http://www.w3.org/2001/XMLSchema#dateTime"
GOOD_EVENTS = 40
"""Events of a good body, half as many rows."""
PAUSE_S = 0.02
"""Seconds between two good bodies: more than a thousand events a second, so that in a quarter of an hour every bound is
met (a segment of the log, the rows that are kept for followers), and the quarters after it can be compared.
"""
NASTY_S = 2.0
"""Seconds between two of what is not good."""
POISON = 200
"""Triples of a poisonous event, whose product is their third power."""
CONFIGURATION = """
[streams.s]
iri = "urn:s"
retention = { age = "1m", size = "4MB" }
dedup = { age = "1m", events = 10_000 }
[queries.pairs]
file = "pairs.rq"
retention = { rows = 2_000, age = "1m" }
[queries.victim]
file = "victim.rq"
[limits]
event_seconds = 0.2
body_seconds = 1
request = "1s"
"""
PAIRS = """SELECT ?k ?v WITHIN 10 SECONDS FROM STREAM S <urn:s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?k <urn:a> ?v } DEFINE GPM B ON S { ?k <urn:b> ?v } }"""
VICTIM = """SELECT ?a WITHIN 10 SECONDS FROM STREAM S <urn:s>
WHERE { SEQ(A) DEFINE GPM A ON S { ?a <urn:p> ?x . ?b <urn:p> ?y . ?c <urn:p> ?z
  FILTER(STRLEN(CONCAT(?x, ?y, ?z)) = 0) } }"""
"""A poisonous event has no solution, and this is found out too late."""
NQUADS = {"Content-Type": "application/n-quads"}


@dataclass(slots=True)
class Quarter:
    """The figures of a quarter of the time."""

    pushed: int = 0
    nasty: int = 0
    acknowledged_ms: list[float] = field(default_factory=list)
    resident_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    folder_mb: list[float] = field(default_factory=list)

    def line(self) -> str:
        """The figures in words."""
        ordered = sorted(self.acknowledged_ms)
        late = ordered[int(0.99 * (len(ordered) - 1))]
        return (
            f"{self.pushed:>9,} events {self.nasty:>6,} nasty   "
            f"acknowledged {median(ordered):6.2f} ms, 99 % {late:7.2f} ms   "
            f"memory {median(self.resident_mb):6.1f} MB, most {max(self.resident_mb):6.1f}   "
            f"files {median(self.files):4.0f}   folder {median(self.folder_mb):6.2f} MB"
        )


class Soaked:
    """The service under test, and what it is told."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], address: str) -> None:
        self._folder, self._process = folder, process
        self._place = urlsplit(address)
        self._client = httpx2.Client(base_url=address, timeout=PATIENCE_S, trust_env=False)
        self.rows = self._number = 0

    def push(self) -> float:
        """Push a good body; the milliseconds until it is acknowledged."""
        body = "".join(self._event(number) for number in range(self._number, self._number + GOOD_EVENTS))
        self._number += GOOD_EVENTS
        begun = time.perf_counter()
        answer = self._client.post("/v1/streams/s", content=body, headers=NQUADS)
        taken = 1000 * (time.perf_counter() - begun)
        assert (answer.status_code, answer.json()["accepted"]) == (202, GOOD_EVENTS), answer.text
        self.rows += GOOD_EVENTS // 2
        return taken

    def _event(self, number: int) -> str:
        predicate = "ab"[number % 2]
        return _stamped(f"g{number}") + f'<urn:k{number // 2}> <urn:{predicate}> "{number // 2}" <urn:g{number}> .\n'

    def look(self, quarter: Quarter) -> None:
        """Measure."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        quarter.resident_mb.append(int(resident.split()[1]) / 1024)
        quarter.files.append(len(list(Path(f"/proc/{self._process.pid}/fd").iterdir())))
        found = [path for path in self._folder.rglob("*") if path.is_file()]
        quarter.folder_mb.append(sum(path.stat().st_size for path in found if path.exists()) / 1e6)

    @property
    def found(self) -> int:
        """The rows of the good query so far."""
        return int(self._client.get("/v1/queries/pairs").json()["rows"])

    def set_aside(self) -> int:
        """The events that were set aside."""
        return int(self._client.get("/v1/queries/victim").json()["set_aside"])

    # --- what is not good -------------------------------------------------------------------------

    def nasty(self) -> Iterator[Callable[[], object]]:
        """One way after the other, for ever."""
        ways = [
            self._poison, self._deep, self._packed, self._malformed, self._hostile_text, self._vanish_while_pushing,
            self._vanish_while_asking, self._vanish_while_following,
        ]  # fmt: skip
        while True:
            yield from ways

    def _poison(self) -> None:
        name = f"poison{self._number}"
        body = _stamped(name) + "".join(f'<urn:s{n}> <urn:p> "{n}" <urn:{name}> .\n' for n in range(POISON))
        assert self._client.post("/v1/streams/s", content=body, headers=NQUADS).status_code == 202

    def _deep(self) -> None:
        body = b"[] <urn:p> " + b"(" * 1_000_000
        self._refused(body, {"Content-Type": "text/turtle"})

    def _packed(self) -> None:
        body = gzip.compress(b"[] <urn:p> " + b"(" * 4_000_000)
        self._refused(body, {"Content-Type": "text/turtle", "Content-Encoding": "gzip"})

    def _malformed(self) -> None:
        self._refused(b"no quad\n" * 10, NQUADS)

    def _refused(self, body: bytes, headers: dict[str, str]) -> None:
        answer = self._client.post("/v1/streams/s", content=body, headers=headers)
        assert answer.status_code in (400, 413), answer.text

    def _hostile_text(self) -> None:
        text = "SELECT * WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(" + "(" * 300 + "X" + ")+" * 300 + ")"
        answer = self._client.post("/v1/validate", content=text, headers={"Content-Type": "text/plain"})
        assert answer.status_code == 200, answer.text

    def _vanish_while_pushing(self) -> None:
        self._send("/v1/streams/s", "application/n-quads", b"<urn:x> ", 100_000)

    def _vanish_while_asking(self) -> None:
        body = json.dumps({"bindings": {"k": {"type": "uri", "value": "urn:nowhere"}}}).encode()
        self._send("/v1/queries/pairs/why-not", "application/json", body, len(body))

    def _vanish_while_following(self) -> None:
        self._gone(b"GET /v1/queries/pairs/matches HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")

    def _send(self, path: str, media: str, body: bytes, length: int) -> None:
        """Post the beginning of a body, and go away."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
        self._gone(head.encode() + body)

    def _gone(self, data: bytes) -> None:
        assert self._place.hostname is not None
        with socket.create_connection((self._place.hostname, self._place.port or 80), timeout=PATIENCE_S) as connection:
            connection.sendall(data)


def _stamped(name: str) -> str:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f'<urn:{name}> <{PROV}> "{now}"^^<{STAMPED}> .\n'


def soak(minutes: float) -> bool:
    """Run; False if rows are missing, or too many."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "c.toml").write_text(CONFIGURATION)
        (folder / "pairs.rq").write_text(PAIRS)
        (folder / "victim.rq").write_text(VICTIM)
        arguments = ["--data", str(folder / "data"), "--port", "0", "--config", str(folder / "c.toml")]
        command = [sys.executable, "-m", "spaseq.cli", "serve", *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            address, said = address_said(process)
            assert address, said
            threading.Thread(target=process.stderr.read, daemon=True).start()
            try:
                return _soaked(Soaked(folder / "data", process, address), minutes)
            finally:
                process.terminate()
                print("exit code", process.wait(PATIENCE_S))


def _soaked(soaked: Soaked, minutes: float) -> bool:
    begun, nasty, next_nasty = time.monotonic(), soaked.nasty(), 0.0
    for number in range(4):
        quarter = Quarter()
        until = begun + (number + 1) * 15 * minutes
        while time.monotonic() < until:
            quarter.acknowledged_ms.append(soaked.push())
            quarter.pushed += GOOD_EVENTS
            if time.monotonic() >= next_nasty:
                next(nasty)()
                quarter.nasty += 1
                next_nasty = time.monotonic() + NASTY_S
                soaked.look(quarter)
            time.sleep(PAUSE_S)
        print(f"quarter {number + 1}: {quarter.line()}", flush=True)
    waited(lambda: soaked.found >= soaked.rows)
    print(f"{soaked.rows:,} good rows expected, {soaked.found:,} found; {soaked.set_aside():,} events set aside")
    return soaked.found == soaked.rows


def main() -> int:
    """Soak as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    return 0 if soak(parser.parse_args().minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
