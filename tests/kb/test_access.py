"""Who is asked, as whom, and what is never said."""

from __future__ import annotations

import base64
import gzip
import logging
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spaseq
from kb.access import Access, shown
from kb.errors import KnowledgeBaseError
from kb.local import load_graph
from kb.source import Source
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import InputError, RunError
from tests.kb.servers import Proxy, answer, oxigraph
from tests.kb.test_endpoint import DB, data, events, query

BODY = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"
SECRET = "s3cr3t-w0rd"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with oxigraph(data()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[str]]:
    (tmp_path / "events.nq").write_text(events(30))

    def _run(source: str | Source, body: str = BODY, **options: object) -> list[str]:
        return [repr(row) for row in spaseq.run(query(body), {"S": tmp_path / "events.nq"}, {DB: source}, **options)]

    return _run


def variable(kind: str, url: str) -> str:
    return f"SPASEQ_{kind}_" + re.sub("[^A-Z0-9]+", "_", url.split("/")[2].upper())


def test_a_token_goes_to_its_own_host_only(
    endpoint: str, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(endpoint) as own, Proxy(endpoint) as other:
        monkeypatch.setenv(variable("TOKEN", own.url), SECRET)
        assert len(run(own.url)) == len(run(other.url)) == 30
        assert {headers.get("Authorization") for _, headers, _ in own.seen} == {f"Bearer {SECRET}"}
        assert {headers.get("Authorization") for _, headers, _ in other.seen} == {None}


def test_a_user_with_password_is_sent_as_basic_authentication(
    endpoint: str, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(endpoint) as proxy:
        monkeypatch.setenv(variable("USER", proxy.url), "ann")
        monkeypatch.setenv(variable("PASSWORD", proxy.url), SECRET)
        assert len(run(proxy.url)) == 30
        sent = {headers["Authorization"] for _, headers, _ in proxy.seen}
    assert sent == {"Basic " + base64.b64encode(f"ann:{SECRET}".encode()).decode()}


def test_no_error_text_holds_credentials(
    endpoint: str, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(endpoint, lambda n: lambda handler, body, kind: answer(handler, 403, b"no", "text/plain")) as proxy:
        monkeypatch.setenv(variable("TOKEN", proxy.url), SECRET)
        with pytest.raises(RunError) as refused:
            run(Source(f"{proxy.url}?apikey={SECRET}", "fail"))
    with pytest.raises(InputError) as written:
        run(f"http://ann:{SECRET}@127.0.0.1:1/query")
    for error in (refused.value, written.value):
        assert SECRET not in f"{error} {error.hint}"
    assert "SPASEQ_USER_127_0_0_1_1" in written.value.hint


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("https://ann:pw@host.example:8443/sparql?key=1#x", "https://host.example:8443/sparql"),
        ("http://[::1]:80/q", "http://[::1]:80/q"),
        ("http://ann:pw@host.example:port/q", "host.example:port/q"),
    ],
)
def test_a_url_is_shown_without_what_could_be_secret(url: str, part: str) -> None:
    assert shown(url) == part


def test_only_hosts_of_the_list_are_asked(endpoint: str, run: Callable[..., list[str]]) -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1 may not be asked") as refused:
        run(endpoint, allow_hosts=("kb.example",))
    assert refused.value.hint == "allowed: kb.example"
    with pytest.raises(InputError, match="may not be asked"):
        run(endpoint, f"?s :reads ?v . SERVICE <{endpoint}> {{ ?s :in ?room }}", allow_hosts=())
    assert len(run(endpoint, allow_hosts=("127.0.0.1",))) == 30
    assert Access.to(["HOST.example:8000"]).admitted("http://host.example:8000/") == "http://host.example:8000/"
    with pytest.raises(KnowledgeBaseError):
        Access.to(["host.example:8000"]).admitted("http://host.example:9000/")


def test_no_connection_goes_anywhere_but_where_the_query_and_its_knowledge_bases_say(
    endpoint: str, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: set[object] = set()
    connect = socket.socket.connect

    def watched(self: socket.socket, address: object) -> None:
        called.add(address)
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", watched)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert len(run(endpoint)) == 30
    host, port = endpoint.split("/")[2].split(":")
    assert called <= {(host, int(port))}


def test_a_redirect_is_not_followed(endpoint: str, run: Callable[..., list[str]]) -> None:
    def moved(handler: object, body: bytes, kind: str) -> None:
        handler.send_response(307)  # type: ignore[attr-defined]
        handler.send_header("Location", endpoint)  # type: ignore[attr-defined]
        handler.send_header("Content-Length", "0")  # type: ignore[attr-defined]
        handler.end_headers()  # type: ignore[attr-defined]

    with Proxy(endpoint, lambda n: moved) as proxy, pytest.raises(RunError, match="redirects are not followed"):
        run(proxy.url)


def test_an_answer_beyond_the_limits_is_an_error(endpoint: str, run: Callable[..., list[str]]) -> None:
    with pytest.raises(RunError, match="more than 200 bytes"):
        run(Source(endpoint, answer_bytes_max=200))
    with pytest.raises(RunError, match="more than 10 rows"):
        run(Source(endpoint, answer_rows_max=10, whole_rows_max=0))
    with pytest.raises(RunError, match="more than 10 rows"):
        run(Source(endpoint, answer_rows_max=10), f"GRAPH <{DB}> {{ ?s :in ?room }}")


@pytest.mark.parametrize("scheme", ["file:///etc/passwd", "ftp://127.0.0.1/x", "urn:x"])
def test_a_service_is_asked_over_http_only(run: Callable[..., list[str]], tmp_path: Path, scheme: str) -> None:
    (tmp_path / "kb.nt").write_text("")
    with pytest.raises(InputError, match="http"):
        run(str(tmp_path / "kb.nt"), f"?s :reads ?v . SERVICE <{scheme}> {{ ?s :in ?room }}")


@pytest.mark.parametrize(
    ("suffix", "text", "reason"),
    [
        (".jsonld", '{"http://x/p":' * 600 + "1" + "}" * 600, "JSON of more than 500 objects and arrays"),
        (".ttl", "<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> " * 101 + "1" + " )>>" * 101 + " .", "more than 100 deep"),
        (".nt", "<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> " * 101 + '"x"' + " )>>" * 101 + " .", "more than 100 deep"),
        (".ttl", "<urn:a> <urn:p> " + "(" * 3_000, "more than 1,000 deep"),
        (".trig", "<urn:g> { <urn:a> <urn:p> " + "[ <urn:p> " * 3_000, "more than 1,000 deep"),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_file_so_deep_that_its_parser_needs_a_stack_is_refused(
    suffix: str, text: str, reason: str, packed: str, tmp_path: Path
) -> None:
    path = tmp_path / f"kb{suffix}{packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(KnowledgeBaseError, match=reason):
        load_graph(path, DB, Dictionary())


def test_brackets_in_strings_are_not_deep(tmp_path: Path) -> None:
    path = tmp_path / "kb.ttl"
    path.write_text("".join(f'<urn:a> <urn:p> "((( {n}", [ <urn:q> ( 1 2 ) ] .\n' for n in range(1_000)))
    assert len(load_graph(path, DB, Dictionary()).subjects) == 7_000


def test_xml_entities_that_multiply_are_refused_at_once(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    (tmp_path / "bomb.rdf").write_text(
        f'<!DOCTYPE r [<!ENTITY e0 "boom">{entities}]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://x/"><rdf:Description rdf:about="http://x/s"><p>&e11;</p></rdf:Description></rdf:RDF>'
    )
    with pytest.raises(KnowledgeBaseError, match="'e1' could swell"):
        load_graph(tmp_path / "bomb.rdf", DB, Dictionary())


def test_short_names_for_namespaces_are_read(tmp_path: Path) -> None:
    (tmp_path / "kb.rdf").write_text(
        '<!DOCTYPE r [<!ENTITY x "http://x/">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://x/"><rdf:Description rdf:about="&x;s"><p>1</p></rdf:Description></rdf:RDF>'
    )
    assert len(load_graph(tmp_path / "kb.rdf", DB, Dictionary()).subjects) == 1


def test_no_log_holds_credentials(
    endpoint: str, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Proxy(endpoint) as proxy, caplog.at_level(logging.DEBUG):
        monkeypatch.setenv(variable("TOKEN", proxy.url), SECRET)
        assert len(run(f"{proxy.url}?apikey={SECRET}")) == 30
    assert proxy.seen[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in caplog.text
