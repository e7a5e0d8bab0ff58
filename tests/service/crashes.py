"""Kills of a service with signal 9 while clients push, replace queries and take snapshots.

python -m tests.service.crashes --kills 1000 --seed 7

All events are accepted once, however often they were pushed, and each query has the rows, under the same numbers, that
a service finds which reads the same log at once.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from sparql_gpm.times import SECOND_NS, format_time
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.service import Service
from spaseq.service.settings.configuration import Limits
from tests.service.listening import address_said
from tests.waiting import PATIENCE_S

CLIENTS, BATCH, ROUND_KILLS = 3, 5, 50
AT_ONCE = 1_000
START_NS = 1_767_225_600 * SECOND_NS
QUERIES = {
    "pairs": "SELECT ?k ?b WITHIN 1 MINUTE FROM STREAM S0 <urn:s0> WHERE { SEQ(A ; B) %s %s }",
    "runs": "SELECT ?k WITHIN 20 SECONDS FROM STREAM S1 <urn:s1> WHERE { SEQ(A : B:{1,3}) %s %s }",
    "last": "SELECT LAST ?k WITHIN 1 MINUTE FROM STREAM S2 <urn:s2> WHERE { SEQ(A, B) %s %s }",
    "absent": "SELECT ?k WITHIN 1 MINUTE FROM STREAM S0 <urn:s0> WHERE { SEQ(A ; B! WITHIN 10 SECONDS) %s %s }",
    "counts": "SELECT OVER MATCHES ?k (COUNT(*) AS ?n) WITHIN 1 MINUTE FROM STREAM S1 <urn:s1> "
    "WHERE { SEQ(A ; B) %s %s } GROUP BY ?k",
    "both": "SELECT ?k WITHIN 30 SECONDS FROM STREAM S1 <urn:s1> FROM STREAM S2 <urn:s2> WHERE { SEQ(A ; B) "
    "DEFINE GPM A ON S1 { ?x <urn:a> ?a ; <urn:k> ?k } DEFINE GPM B ON S2 { ?y <urn:b> ?b ; <urn:k> ?k } }",
}


def query(name: str) -> str:
    """The text of a query."""
    stream = QUERIES[name].split("STREAM ")[1].split()[0]
    steps = [f"DEFINE GPM {step.upper()} ON {stream} {{ ?{step}s <urn:{step}> ?{step} ; <urn:k> ?k }}" for step in "ab"]
    return QUERIES[name] % tuple(steps) if "%s" in QUERIES[name] else QUERIES[name]


def events(stream: int, batch: int) -> str:
    """Some events of a stream: one a second, a or b, with one of five keys."""
    lines = []
    for number in range(batch * BATCH, batch * BATCH + BATCH):
        dice = Random(f"{stream} {number}")
        name, time_text = f"<urn:s{stream}:{number}>", format_time(START_NS + number * SECOND_NS)
        stamp = f'"{time_text}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines.append(f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .")
        lines.append(f'_:x <urn:{dice.choice("ab")}> "{number}" {name} .')
        lines.append(f'_:x <urn:k> "{dice.randrange(5)}" {name} .')
    return "\n".join(lines) + "\n"


class Process:
    """A service that is killed and started again."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.address = ""
        self._process: subprocess.Popen[str] | None = None
        self._drain: threading.Thread

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "spaseq.cli", "serve", "--data", str(self._data), "--port", "0"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.address, said = address_said(self._process)
        if not self.address:
            raise AssertionError(f"the service did not start: exit code {self._process.wait()}: {said}")
        assert self._process.stderr is not None
        self._drain = threading.Thread(target=self._process.stderr.read)
        self._drain.start()

    def end(self, number: int) -> int:
        """End it by a signal; returns its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        with self._process:
            code = self._process.wait(PATIENCE_S)
            self._drain.join()
        return code


class Clients:
    """Threads that ask until they are answered, of whatever process serves now."""

    def __init__(self, process: Process, seed: int) -> None:
        self._process, self._seed = process, seed
        self._ended, self._connections = threading.Event(), threading.local()
        self.batches = [0] * CLIENTS
        self.faults: list[BaseException] = []
        self._threads = [threading.Thread(target=self._safely, args=(self._push, n)) for n in range(CLIENTS)]
        self._threads.append(threading.Thread(target=self._safely, args=(self._change, CLIENTS)))

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each finish what it asks now."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Close the connections of this thread."""
        self._client().close()

    def ask(self, method: str, path: str, **how: Any) -> httpx2.Response:
        """The answer to a request, however often it takes; AssertionError for a refusal that will not pass."""
        while True:
            try:
                answer = self._client().request(method, f"{self._process.address}{path}", **how)
            except httpx2.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code not in (429, 503):
                assert answer.status_code < 300, (path, answer.status_code, answer.text)
                return answer
            time.sleep(0.02)

    def _client(self) -> httpx2.Client:
        """The connections of this thread."""
        if not hasattr(self._connections, "client"):
            self._connections.client = httpx2.Client(timeout=PATIENCE_S, trust_env=False)
        client: httpx2.Client = self._connections.client
        return client

    def _safely(self, work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except BaseException as fault:
            self.faults.append(fault)
        finally:
            self.close()

    def _push(self, stream: int) -> None:
        dice = Random(f"{self._seed} {stream}")
        nquads = {"Content-Type": "application/n-quads"}
        while not self._ended.is_set():
            batch = self.batches[stream]
            if batch and dice.random() < 0.1:  # once more: without effect
                batch -= 1
            self.ask("POST", f"/v1/streams/s{stream}", content=events(stream, batch).encode(), headers=nquads)
            self.batches[stream] = max(self.batches[stream], batch + 1)

    def _change(self, _: int) -> None:
        dice = Random(f"{self._seed} changes")
        while not self._ended.is_set():
            name, number = dice.choice(list(QUERIES)), dice.randrange(1000)
            match dice.randrange(4):
                case 0:
                    self.ask("POST", "/v1/snapshot")
                case 1:
                    text, since = f"{query(name)} # {number}", dice.choice(("now", "window"))
                    self.ask("PUT", f"/v1/queries/{name}", json={"text": text, "since": since})
                case 2:
                    self.ask("POST", f"/v1/queries/{name}/pause")
                case _:
                    self.ask("POST", f"/v1/queries/{name}/resume")
            time.sleep(dice.random() * 0.2)


def crash(folder: Path, kills: int, seed: int) -> str:
    """Kill a service so many times; returns figures. AssertionError if anything is lost, twice or different."""
    dice, process = Random(seed), Process(folder / "data")
    process.start()
    clients = Clients(process, seed)
    for stream in range(CLIENTS):
        clients.ask("PUT", f"/v1/streams/s{stream}", json={"iri": f"urn:s{stream}"})
    for name in QUERIES:
        clients.ask("PUT", f"/v1/queries/{name}", json={"text": query(name)})
    clients.start()
    try:
        for _ in range(kills):
            time.sleep(dice.random() * 0.6)
            process.end(signal.SIGKILL)
            process.start()
    finally:
        clients.end()
    assert not clients.faults, clients.faults
    for name in QUERIES:
        clients.ask("POST", f"/v1/queries/{name}/resume")
    accepted = {each["name"]: each["events"] for each in clients.ask("GET", "/v1/streams").json()}
    assert accepted == {f"s{stream}": clients.batches[stream] * BATCH for stream in range(CLIENTS)}
    clients.close()
    assert process.end(signal.SIGTERM) == 0
    accept_again(folder / "data", folder / "scratch")
    found, expected = rows(folder / "data"), rows(folder / "scratch")
    assert found == expected, {name: (len(found[name]), len(expected[name])) for name in found}
    rows_found = sum(map(len, found.values()))
    return f"{kills} kills, {sum(accepted.values())} events, {rows_found} rows: none lost, twice or different"


def accept_again(data: Path, scratch: Path) -> None:
    """Make a data folder that has accepted what another one has, and has read nothing of it."""
    with closing(DataFolder(data)) as old, closing(DataFolder(scratch)) as new:
        records = (record for _, record in old.log.read(1))
        while group := list(islice(records, AT_ONCE)):
            new.log.append(group)


def rows(data: Path) -> dict[str, list[tuple[int, str]]]:
    """The numbers and texts of the rows of each query, when all has been read."""
    service = Service.open(data, Limits())
    try:
        service.settled()
        return {each["name"]: service.rows(each["name"], 0, 10_000_000) for each in service.queries()}
    finally:
        service.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, metavar="N", help="[1000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="[1]")
    asked = parser.parse_args()
    for round_number, first in enumerate(range(0, asked.kills, ROUND_KILLS)):
        with tempfile.TemporaryDirectory() as folder:
            kills = min(ROUND_KILLS, asked.kills - first)
            print(crash(Path(folder), kills, asked.seed + round_number), flush=True)


if __name__ == "__main__":
    main()
