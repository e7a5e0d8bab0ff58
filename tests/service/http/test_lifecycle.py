"""The life of a server: it answers while it recovers, ends by what its core says, and closes what goes on for ever."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from spaseq.cli import main
from spaseq.errors import InputError, RunError
from spaseq.service.http.hosts import HostPolicy
from spaseq.service.http.server import Server, listening
from spaseq.service.http.state import AppState
from spaseq.service.http.tokens import Tokens
from spaseq.service.settings.configuration import Limits, Web
from tests.service.http.servers import LOCAL, QUERY, STREAM, served
from tests.waiting import PATIENCE_S, waited


def test_the_port_answers_503_until_the_core_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    may_open = threading.Event()
    with served(opened=lambda core: may_open.wait(PATIENCE_S)) as server:
        for method, path in (
            ("GET", "/readyz"),
            ("GET", "/v1/streams"),
            ("POST", "/v1/streams/s"),
            ("GET", "/metrics"),
        ):
            answer = server.client.request(method, path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.headers["content-type"] == "application/problem+json"
        assert server.client.get("/healthz").status_code == 200
        assert "listening" not in capsys.readouterr().err
        may_open.set()
        waited(lambda: server.client.get("/readyz").status_code == 200)
        assert server.client.put("/v1/streams/s", json=STREAM).status_code == 201
        assert f"listening on http://127.0.0.1:{server.port}\n" in capsys.readouterr().err


def test_a_service_whose_matching_has_ended_is_not_ready_and_says_why() -> None:
    with served() as server:
        assert server.client.get("/readyz").status_code == 200
        server.core.defect = "no such luck"
        answer = server.client.get("/readyz")
        assert (answer.status_code, answer.json()["detail"]) == (503, "no such luck")
        assert server.client.get("/healthz").status_code == 200


def test_a_core_that_does_not_open_ends_the_server_with_what_it_said() -> None:
    def opened() -> None:
        raise InputError("another service has the folder")

    state = AppState(Limits(), Tokens(), HostPolicy.of(LOCAL, Web()))
    with listening(LOCAL, 0) as listener:
        server = Server(state, opened, "http://x")  # type: ignore[arg-type]
        server.run(sockets=[listener])
    assert isinstance(server.failure, InputError)


def test_live_rows_end_with_the_server() -> None:
    with served() as server:
        server.client.put("/v1/queries/q", json={"text": QUERY})
        head = b"GET /v1/queries/q/matches HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        connection = server.connected()
        connection.sendall(head)
        waited(lambda: server.state.broadcasts.readers == 1)
    text = b""
    while part := connection.recv(65536):
        text += part
    connection.close()
    assert text.startswith(b"HTTP/1.1 200") and text.endswith(b"0\r\n\r\n")


def test_a_port_that_is_taken_and_a_host_that_is_none_are_said() -> None:
    with socket.socket() as other:
        other.bind((LOCAL, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(RunError, match=f"cannot listen at http://127.0.0.1:{port}"), listening(LOCAL, port):
            raise AssertionError
    with pytest.raises(InputError, match=r"--host none\.invalid is no address"), listening("none.invalid", 0):
        raise AssertionError


def test_bad_usage_is_exit_2_with_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "spaseq.toml"
    for text, said in (
        ("[streams.s]\niri = 5", "streams.s.iri"),
        ("[x", "line 1"),
        ("[limits]\nbody = '1'\nq = 1", "limits.q"),
    ):
        file.write_text(text)
        done = CliRunner().invoke(main, ["serve", "--config", str(file), "--data", str(tmp_path / "data")])
        assert (done.exit_code, said in done.stderr, str(file) in done.stderr) == (2, True, True), done.stderr
    for arguments in (["--config-wins"], ["--port", "70000"], ["--config", str(tmp_path / "none.toml")]):
        assert CliRunner().invoke(main, ["serve", *arguments]).exit_code == 2
