"""Real SPARQL endpoints on loopback, and a proxy that gets in the way."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from tests.waiting import PATIENCE_S, listens, waited


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _script(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{sysconfig.get_path('scripts')}")
    assert found, f"{name} is not installed: pip install -e .[dev]"
    return found


@contextlib.contextmanager
def _served(command: list[str], port: int, folder: str | None = None) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        waited(lambda: process.poll() is not None or listens(port), pause_s=0.05)
        assert process.poll() is None, f"{command} did not start"
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def oxigraph(ntriples: str, port: int | None = None) -> Iterator[str]:
    """The URL of an Oxigraph server that knows these triples."""
    port = port or free_port()
    with _served([_script("oxigraph"), "serve", "--bind", f"127.0.0.1:{port}"], port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        headers = {"Content-Type": "application/n-triples"}
        connection.request("POST", "/store?default", ntriples.encode(), headers)
        assert connection.getresponse().status in (200, 201, 204)
        connection.close()
        yield f"http://127.0.0.1:{port}/query"


@contextlib.contextmanager
def rdflib_endpoint(file: Path) -> Iterator[str]:
    """The URL of an rdflib server that knows the triples of a file."""
    port = free_port()
    command = [_script("rdflib-endpoint"), "serve", "--host", "127.0.0.1", "--port", str(port), str(file)]
    with _served(command, port):
        yield f"http://127.0.0.1:{port}/"


@contextlib.contextmanager
def virtuoso(file: Path) -> Iterator[str]:
    """The URL of a Virtuoso server that knows the triples of a file; its own graphs are left out."""
    port, sql = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(file, Path(folder, "kb.nt"))
        Path(folder, "virtuoso.ini").write_text(_VIRTUOSO.format(http=port, sql=sql))
        command = ["virtuoso-t", "+foreground", "+configfile", "virtuoso.ini"]
        with _served(command, port, folder):
            load = f"DB.DBA.TTLP(file_to_string_output('kb.nt'), '', '{_GRAPH}', 0);"
            options = ["ERRORS=stdout", "VERBOSE=OFF", "PROMPT=OFF", "BANNER=OFF"]
            loading = ["isql-vt", f"127.0.0.1:{sql}", "dba", "dba", *options, f"EXEC={load}"]
            done = subprocess.run(loading, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert (done.returncode, done.stdout.strip()) == (0, ""), done
            yield f"http://127.0.0.1:{port}/sparql?default-graph-uri={quote(_GRAPH, safe='')}"


_GRAPH = "http://kb.example/graph"
_VIRTUOSO = """[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
[TempDatabase]
DatabaseFile = virtuoso-temp.db
TransactionFile = virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
ServerThreads = 10
NumberOfBuffers = 2000
MaxDirtyBuffers = 1500
DirsAllowed = .
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerThreads = 5
"""


def startable() -> list[str]:
    """The servers that can be started here; all but Virtuoso come with the development dependencies."""
    return ["oxigraph", "rdflib", *(["virtuoso"] if shutil.which("virtuoso-t") and shutil.which("isql-vt") else [])]


@contextlib.contextmanager
def served(name: str, file: Path) -> Iterator[str]:
    """The URL of one of the startable servers, with the triples of an N-Triples file."""
    match name:
        case "oxigraph":
            with oxigraph(file.read_text()) as url:
                yield url
        case "rdflib":
            with rdflib_endpoint(file) as url:
                yield url
        case "virtuoso":
            with virtuoso(file) as url:
                yield url


Misdeed = Callable[["BaseHTTPRequestHandler", bytes, str], None]
"""Answers a request in place of the server, given the server's own answer and its content type."""


def slow(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    """Nothing until the client gives up, however busy the machine."""
    with contextlib.suppress(OSError):
        while handler.connection.recv(1 << 16):
            pass


def failing(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    answer(handler, 500, b"out of order", "text/plain")


def reset(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    socket.close(handler.connection.detach())  # its close() would wait for the files that are made of it
    handler.close_connection = True


def truncated(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    answer(handler, 200, body[: len(body) // 2], kind)


def broken_off(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def mistyped(handler: BaseHTTPRequestHandler, body: bytes, kind: str) -> None:
    answer(handler, 200, b"<html>please log in</html>", "text/html")


def answer(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class Proxy:
    """Stands between a client and a server; `misdeeds` says what to do with the n-th request, None: pass it on."""

    def __init__(self, target: str, misdeeds: Callable[[int], Misdeed | None] = lambda n: None) -> None:
        self.misdeeds = misdeeds
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self._target = urlsplit(target)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}{self._target.path}"
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def up(self) -> None:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                proxy._open.add(self.connection)

            def finish(self) -> None:
                proxy._open.discard(self.connection)
                super().finish()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with proxy._lock:
                    number = len(proxy.seen)
                    proxy.seen.append((self.path, dict(self.headers), body))
                status, found, kind = proxy.forwarded(body, dict(self.headers))
                misdeed = proxy.misdeeds(number)
                with contextlib.suppress(OSError):
                    if misdeed is None:
                        answer(self, status, found, kind)
                    else:
                        misdeed(self, found, kind)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def down(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            for connection in list(self._open):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._thread.join()
            self._server = self._thread = None

    def forwarded(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, str]:
        kept = {name: value for name, value in headers.items() if name.lower() in ("content-type", "accept")}
        connection = http.client.HTTPConnection(self._target.netloc, timeout=PATIENCE_S)
        try:
            connection.request("POST", self._target.path, body, kept)
            response = connection.getresponse()
            return response.status, response.read(), response.headers.get("Content-Type", "")
        finally:
            connection.close()

    def __enter__(self) -> Proxy:
        self.up()
        return self

    def __exit__(self, *error: object) -> None:
        self.down()


class Impostor(Proxy):
    """An endpoint that says what it likes: the document of results for a query of these variables."""

    def __init__(self, answer: Callable[[list[str]], object]) -> None:
        super().__init__("http://127.0.0.1/sparql")
        self._answer = answer

    def forwarded(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, str]:
        selected = parse_qs(body.decode())["query"][0].partition(" WHERE ")[0]
        answer = self._answer([name.removeprefix("?") for name in selected.split()[1:]])
        return 200, json.dumps(answer).encode(), "application/sparql-results+json"
