"""Hostile and slow clients over real sockets: the service stays up, answers others, and says why."""

from __future__ import annotations

import json
import logging
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import settings

from spaseq.errors import InputError
from spaseq.service.http import answers, bodies, broadcasts
from spaseq.service.http.hosts import HostPolicy, is_loopback
from spaseq.service.http.logs import JsonFormatter
from spaseq.service.http.protocol import HEAD_BYTES_MAX
from spaseq.service.http.tokens import Tokens
from spaseq.service.settings.configuration import Auth, Configuration, Limits, Web
from tests.drawn import USUAL
from tests.service.http.servers import QUERY, STREAM, TURTLE, RunningServer, received, served
from tests.waiting import PATIENCE_S, waited

TOKENS = {"READ": "r-secret", "PUSH": "p-secret", "ADMIN": "a-secret"}
GUARDED = Configuration(auth=Auth("READ", "PUSH", "ADMIN"), web=Web(("my.example",), ("https://pages.example",)))
HURRIED = Configuration(limits=Limits(header_timeout="300ms"))


@pytest.fixture(scope="module")
def guarded() -> Iterator[RunningServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name, token in TOKENS.items():
            patch.setenv(name, token)
        with served(GUARDED) as server:
            yield server


@pytest.fixture(scope="module")
def hurried() -> Iterator[RunningServer]:
    with served(HURRIED) as server:
        server.client.put("/v1/streams/s", json=STREAM)
        yield server


def bearer(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[role]}"}


def test_each_token_allows_what_it_is_for(guarded: RunningServer) -> None:
    def status(role: str, method: str, path: str, **given: object) -> int:
        headers = bearer(role) | (TURTLE if path == "/v1/streams/s" and method == "POST" else {})
        return int(guarded.client.request(method, path, headers=headers, **given).status_code)  # type: ignore[arg-type]

    assert status("ADMIN", "PUT", "/v1/streams/s", json=STREAM) == 201
    assert status("ADMIN", "PUT", "/v1/queries/q", json={"text": QUERY}) == 201
    requests = [
        ("GET", "/v1/streams", "READ"), ("GET", "/v1/queries/q/matches", "READ"), ("GET", "/metrics", "READ"),
        ("GET", "/openapi.json", "READ"), ("GET", "/v1/deadletters", "READ"), ("POST", "/v1/validate", "READ"),
        ("POST", "/v1/format", "READ"),
        ("POST", "/v1/queries/q/why", "READ"), ("POST", "/v1/queries/q/why-not", "READ"),
        ("POST", "/v1/queries/q/replay", "READ"), ("POST", "/v1/streams/s", "PUSH"),
        ("POST", "/v1/streams/s/advance", "PUSH"), ("PUT", "/v1/streams/s", "ADMIN"), ("PUT", "/v1/kb/k", "ADMIN"),
        ("POST", "/v1/queries/q/pause", "ADMIN"), ("POST", "/v1/snapshot", "ADMIN"), ("DELETE", "/v1/kb/k", "ADMIN"),
    ]  # fmt: skip
    for method, path, needed in requests:
        for role in TOKENS:
            allowed = role in (needed, "ADMIN")
            assert (status(role, method, path, content=b"") != 403) == allowed, (method, path, role)


@pytest.mark.parametrize(
    "value", [None, "Bearer", "Bearer x", "Basic r-secret", "r-secret", "Bearer r-secret x", "Bearer \xff"]
)
def test_without_a_token_the_answer_asks_for_one(guarded: RunningServer, value: str | None) -> None:
    headers = {} if value is None else {"Authorization": value.encode("latin-1")}
    for path in ("/v1/streams", "/metrics", "/openapi.json", "/v1/queries/q/matches"):
        answer = guarded.client.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
    for path in ("/", "/workbench.js", "/healthz", "/readyz"):
        assert guarded.client.get(path, headers=headers).status_code == 200


def test_a_token_is_in_no_answer_and_in_no_line_of_the_log(
    guarded: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    guarded.core.fault = RuntimeError("x")
    texts = []
    for token in (*TOKENS.values(), "guessed-token"):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/turtle", "X": token}
        for method, path in (
            ("GET", "/v1/none"),
            ("POST", "/v1/streams/s"),
            ("PUT", "/v1/streams/-"),
            ("GET", "/v1/kb"),
        ):
            texts.append(guarded.client.request(method, f"{path}?access_token={token}", headers=headers).text)
    guarded.core.fault = None
    records = [record for record in caplog.records if not record.name.startswith(("httpx2", "httpcore2"))]
    texts += [JsonFormatter().format(record) for record in records]
    assert len(texts) > 20
    assert not [text for text in texts if any(token in text for token in (*TOKENS.values(), "guessed-token"))]


def test_a_token_that_is_not_in_the_environment_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPASEQ_EMPTY", " ")
    for variable in ("SPASEQ_NOT_SET", "SPASEQ_EMPTY"):
        with pytest.raises(InputError, match=f"auth.admin: the environment variable {variable}"):
            Tokens.of(Auth(admin=variable))
    assert "secret" not in repr(Tokens((("read", b"secret"),)))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200), ("localhost:9", 200), ("LOCALHOST", 200), ("[::1]:7373", 200), ("10.0.0.7", 200),
        ("my.example", 200), ("evil.example", 421), ("evil.example:{port}", 421), ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421), ("evil@localhost", 421), ("localhost/evil", 421), ("", 421), ("[::1", 421),
    ],
)  # fmt: skip
def test_only_names_of_the_service_are_answered(guarded: RunningServer, host: str, status: int) -> None:
    name = host.format(port=guarded.port)
    answer = guarded.said(f"GET /healthz HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(f"HTTP/1.1 {status}".encode())


def test_a_request_has_one_host(guarded: RunningServer) -> None:
    for hosts in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        assert guarded.said(f"GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode()).startswith(
            b"HTTP/1.1 400"
        )


def test_a_page_elsewhere_changes_nothing(guarded: RunningServer) -> None:
    own = f"http://127.0.0.1:{guarded.port}"
    for origin, allowed in (
        (own, True), ("https://pages.example", True), ("null", False), ("http://127.0.0.1:1", False),
        ("http://127.0.0.1", False), ("http://evil.example", False), (own + ".evil.example", False),
        ("http://pages.example", False), ("", False),
    ):  # fmt: skip
        headers = bearer("ADMIN") | {"Origin": origin}
        for method, path in (("PUT", "/v1/streams/o"), ("DELETE", "/v1/kb/k"), ("POST", "/v1/snapshot")):
            answer = guarded.client.request(method, path, headers=headers, content=b"{}")
            assert (answer.status_code != 403) == allowed, origin
        assert guarded.client.get("/v1/streams", headers=headers).status_code == 200


def test_other_pages_may_read_only_if_they_are_listed(guarded: RunningServer, hurried: RunningServer) -> None:
    asked = {"Origin": "https://pages.example", "Access-Control-Request-Method": "PUT"}
    allowed = guarded.client.options("/v1/streams/s", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "https://pages.example"
    foreign = guarded.client.get("/healthz", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in foreign.headers
    closed = hurried.client.options("/v1/streams/s", headers=asked)
    assert closed.status_code == 405 and "access-control-allow-origin" not in closed.headers


def test_the_name_of_a_service_that_others_reach_is_its_own() -> None:
    hosts = HostPolicy.of("0.0.0.0", Web(hosts=("Cep.Example",)))
    assert "cep.example" in hosts.names
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "a.b")] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("begun", [b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"\r\n"])
def test_headers_come_in_time(hurried: RunningServer, begun: bytes) -> None:
    with hurried.connected() as connection:
        connection.sendall(begun)
        answer = received(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408")


def test_headers_that_drip_do_not_stop_the_clock(hurried: RunningServer) -> None:
    with hurried.connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"X: y\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        assert b"HTTP/1.1 408" in received(connection)
        stop.set()
        thread.join()


def test_headers_have_a_size_and_what_is_no_http_is_said(hurried: RunningServer) -> None:
    answer = hurried.said(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (2 * HEAD_BYTES_MAX))
    assert answer.startswith(b"HTTP/1.1 431") and b"application/problem+json" in answer
    for junk in (
        b"\x16\x03\x01junk\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        answer = hurried.said(junk)
        assert answer.startswith(b"HTTP/1.1 400") and b"application/problem+json" in answer
    assert hurried.client.get("/healthz").status_code == 200


@contextmanager
def slow_bodies(server: RunningServer) -> Iterator[list[socket.socket]]:
    """A hundred connections with a body that does not go on."""
    head = (
        b"POST /v1/streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/turtle\r\nContent-Length: 99\r\n\r\n<a>"
    )
    slow = [server.connected() for _ in range(100)]
    for connection in slow:
        connection.sendall(head)
    yield slow
    for connection in slow:
        connection.close()


def test_slow_bodies_hold_up_nobody(hurried: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PAUSE_S_MAX", PATIENCE_S)
    with slow_bodies(hurried) as slow:
        waited(lambda: hurried.state.budget.held == len(slow) * len(b"<a>"))
        assert hurried.client.post("/v1/streams/s", content=b"x", headers=TURTLE).status_code == 202
    waited(lambda: hurried.state.budget.held == 0)


def test_slow_bodies_are_given_up(hurried: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PAUSE_S_MAX", 0.4)
    with slow_bodies(hurried) as slow:
        assert all(received(connection).startswith(b"HTTP/1.1 408") for connection in slow)
    assert hurried.state.budget.held == 0


def test_bodies_together_have_a_size(hurried: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODIES_HELD_MAX", 0)
    answer = hurried.client.post("/v1/streams/s", content=b"x", headers=TURTLE)
    assert answer.status_code == 503 and answer.headers["retry-after"]


def test_a_body_that_nobody_reads_ends_in_time(hurried: RunningServer) -> None:
    head = b"POST /v1/streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/turtle\r\n"
    head += b"Content-Length: 99999999999\r\n\r\n"
    with hurried.connected() as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
        with pytest.raises(OSError):
            waited(lambda: connection.sendall(b"x" * 1000), pause_s=0.01)


def test_many_idle_connections_hold_up_nobody_and_are_closed(hurried: RunningServer) -> None:
    """300 of them; `make thorough` has 10,000, if the process may have so many files open."""
    most = 10_000 if settings().max_examples > USUAL else 300
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        idle = [hurried.connected() for _ in range(min(most, hard // 2 - 200))]
        assert hurried.client.get("/healthz").status_code == 200
        assert all(received(connection) == b"" for connection in idle)
        for connection in idle:
            connection.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_readers_have_places(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Configuration(limits=Limits(readers=2))) as server:
        server.client.put("/v1/queries/q", json={"text": QUERY})
        accept = {"Accept": "text/event-stream"}
        with server.client.stream("GET", "/v1/queries/q/matches", headers=accept) as first:
            with server.client.stream("GET", "/v1/queries/q/matches", headers=accept):
                refused = server.client.get("/v1/queries/q/matches", headers=accept)
                assert refused.status_code == 503 and refused.headers["retry-after"]
            waited(lambda: server.state.broadcasts.readers == 1)
            with server.client.stream("GET", "/v1/queries/q/matches", headers=accept) as third:
                assert (first.status_code, third.status_code) == (200, 200)


def test_a_reader_that_takes_nothing_is_cut_off_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "STALLED_S_MAX", 0.3)
    monkeypatch.setattr(broadcasts, "COMMENT_S", 0.2)
    with served() as server:
        server.client.put("/v1/queries/q", json={"text": QUERY})
        head = "GET /v1/queries/q/matches?after=0 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        with server.connected() as connection:
            connection.sendall(f"{head}\r\n".encode())
            waited(lambda: server.state.broadcasts.readers == 1)
            server.core.find("q", 20_000, "x" * 1000)
            waited(lambda: server.state.broadcasts.readers == 0)
            taken = received(connection)
        assert len(taken) < 19_000_000
        whole = taken[: taken.rindex(b"\n\n")].split(b"\n\n")
        last = max(int(line[4:]) for part in whole for line in part.splitlines() if line.startswith(b"id: "))
        with server.client.stream(
            "GET", "/v1/queries/q/matches", headers={"Accept": "text/event-stream", "Last-Event-ID": str(last)}
        ) as again:
            line = next(line for line in again.iter_lines() if line.startswith("id:"))
        assert line == f"id: {last + 1}"


def test_the_log_is_lines_of_json(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("x")
    except ValueError as error:
        logging.getLogger("spaseq.test").error("a\n%s", "b", exc_info=error, extra={"details": {"path": "/\n"}})
    line = JsonFormatter().format(caplog.records[-1])
    found = json.loads(line)
    assert "\n" not in line
    assert (found["message"], found["level"], found["path"]) == ("a\nb", "error", "/\n")
    assert "ValueError" in found["exception"]
