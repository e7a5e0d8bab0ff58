"""`spaseq serve` as users run it: one process, real sockets, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.service.listening import address_said
from tests.waiting import PATIENCE_S

STAMP = (
    '<http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:{:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
)
QUERY = """SELECT ?s ?a WITHIN 1 HOUR FROM STREAM S <urn:s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?s <urn:a> ?a } DEFINE GPM B ON S { ?s <urn:b> ?b } }"""
CONFIGURATION = """
[streams.s]
iri = "urn:s"
[queries.q]
file = "q.rq"
"""


def events(first: int, predicates: str) -> str:
    """One event a second, with one triple."""
    return "".join(
        f'<urn:e{number}> {STAMP.format(number)} .\n<urn:x> <urn:{predicate}> "{number}" <urn:e{number}> .\n'
        for number, predicate in enumerate(predicates, first)
    )


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "spaseq.cli", "serve", "--data", str(folder / "data"), *arguments]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """A service that listens, and a client; it is killed at the end unless it has ended."""
    with subprocess.Popen(command(folder, "--port", "0", *arguments), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address, said = address_said(process)
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            assert address, said
            with httpx2.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
                yield process, client
        finally:
            process.kill()
            reader.join()


def test_rows_survive_an_end_by_signal_and_a_kill(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    config = tmp_path / "spaseq.toml"
    config.write_text(CONFIGURATION)
    nquads = {"Content-Type": "application/n-quads"}
    ends = iter([signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
    taken: list[int] = []
    for first in (0, 10, 20):
        with serving(tmp_path, "--config", str(config)) as (process, client):
            assert client.get("/readyz").status_code == 200
            answer = client.post("/v1/streams/s", content=events(first, "ab"), headers=nquads)
            assert (answer.status_code, answer.json()["accepted"]) == (202, 2), answer.text
            again = client.post("/v1/streams/s", content=events(first, "ab"), headers=nquads)
            assert again.json()["duplicates"] == 2
            with client.stream("GET", "/v1/queries/q/matches?after=0", headers={"Accept": "text/event-stream"}) as live:
                taken = []
                for line in live.iter_lines():
                    if line.startswith("data: "):
                        taken.append(json.loads(line[6:])["n"])
                        if len(taken) == (first // 10) + 1:
                            break
            end = next(ends)
            process.send_signal(end)
            assert process.wait(PATIENCE_S) == (-9 if end == signal.SIGKILL else 0)
    assert taken == [1, 2, 3]


def test_a_second_service_on_the_folder_or_the_port_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, client):
        port = str(client.base_url.port)
        same_folder = subprocess.run(command(tmp_path, "--port", "0"), capture_output=True, text=True)
        assert same_folder.returncode == 2, same_folder.stderr
        assert "error: " in same_folder.stderr and "Traceback" not in same_folder.stderr
        same_port = subprocess.run(command(tmp_path / "other", "--port", port), capture_output=True, text=True)
        assert same_port.returncode == 1, same_port.stderr
        assert f"cannot listen at http://127.0.0.1:{port}" in same_port.stderr


def test_what_others_reach_needs_tokens(tmp_path: Path) -> None:
    def ended(*arguments: str) -> str:
        done = subprocess.run(
            command(tmp_path, "--port", "0", *arguments),
            capture_output=True,
            text=True,
            env=os.environ | {"T": ""},
        )
        assert done.returncode == 2, done.stderr
        return done.stderr

    assert "the configuration has no tokens" in ended("--host", "0.0.0.0")
    (tmp_path / "c.toml").write_text('[auth]\nadmin = "T"')
    assert "auth.admin: the environment variable T is not set" in ended("--config", str(tmp_path / "c.toml"))
    (tmp_path / "c.toml").write_text('[queries.q]\ntext = "nothing"')
    assert "queries.q" in ended("--config", str(tmp_path / "c.toml"))


def test_ctrl_c_is_an_ordinary_end(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(command(tmp_path, "--port", str(port)), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert next(iter(process.stderr)) == f"listening on http://127.0.0.1:{port}\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
