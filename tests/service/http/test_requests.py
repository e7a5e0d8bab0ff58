"""Requests over real sockets: statuses, headers and documents of the interface."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from spaseq.editors.formatting import formatted
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Configuration, Limits
from tests.service.http.servers import QUERY, STREAM, TURTLE, RunningServer, served

PROBLEM = "application/problem+json"
SMALL = Configuration(limits=Limits(body="10KB", text="2KB"))


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with served(SMALL) as server:
        yield server


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    running.core.__init__()  # type: ignore[misc]
    return running


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    document = answer.json()
    assert document["status"] == status and document["title"] and document["detail"]
    return dict(document)


def test_a_stream_is_created_changed_shown_and_deleted(server: RunningServer) -> None:
    created = server.client.put("/v1/streams/power", json={"iri": "urn:s", "max_delay": "PT10S"})
    assert (created.status_code, created.headers["location"]) == (201, "/v1/streams/power")
    assert server.client.put("/v1/streams/power", json={"iri": "urn:s", "max_delay": "20s"}).status_code == 200
    shown = server.client.get("/v1/streams/power").json()
    assert (shown["name"], shown["iri"], shown["max_delay"], shown["position"]) == ("power", "urn:s", "20s", 1)
    assert [each["name"] for each in server.client.get("/v1/streams").json()] == ["power"]
    problem(server.client.put("/v1/streams/other", json={"iri": "urn:s"}), 409)
    deleted = server.client.delete("/v1/streams/power")
    assert (deleted.status_code, deleted.content) == (204, b"")
    problem(server.client.get("/v1/streams/power"), 404)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "no JSON"),
        (b"\xff", 400, "no UTF-8"),
        (b"[]", 422, "expected"),
        (b"null", 422, "expected"),
        (b"{}", 422, "iri: it is missing"),
        (b'{"iri": "urn:s", "late": 1}', 422, "late: unknown key"),
        (b'{"iri": "urn:s", "max_delay": "soon"}', 422, "max_delay: 'soon'"),
        (b'{"iri": "urn:s", "template": "t.trig"}', 422, "a relative path"),
        (b'{"iri": "urn:s", "source": {"kafka": "k"}}', 422, "source.kafka: 'k' is no HOST:PORT"),
        (b"[" * 9_000, 400, "no JSON"),
    ],
)
def test_a_bad_document_is_refused_with_its_key(server: RunningServer, body: bytes, status: int, said: str) -> None:
    answer = server.client.put("/v1/streams/s", content=body, headers={"Content-Type": "application/json"})
    assert said in problem(answer, status)["detail"]


@pytest.mark.parametrize("name", ["..", "-a", "a%2Fb", "a%20b", "%00", "a" * 101, "%E9", "a%0Ab", "_x", "%2e%2e%2fetc"])
@pytest.mark.parametrize("kind", ["streams", "kb", "queries"])
def test_names_are_checked_before_anything_else(server: RunningServer, kind: str, name: str) -> None:
    request = f"PUT /v1/{kind}/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    assert server.said(request.encode()).startswith(b"HTTP/1.1 422")


@pytest.mark.parametrize(
    ("media", "form"),
    [
        ("application/n-quads", "nquads"),
        ("application/trig", "trig"),
        ("text/turtle; charset=UTF-8", "turtle"),
        ("application/n-triples", "ntriples"),
        ("Application/LD+JSON", "jsonld"),
        ("application/x-ndjson-ld", "ndjsonld"),
        ("application/x-ndjson", "ndjson"),
        ("application/x-jelly-rdf", "jelly"),
        ("text/csv", "csv"),
    ],
)
def test_events_are_accepted_by_their_media_type(server: RunningServer, media: str, form: str) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    answer = server.client.post("/v1/streams/s", content=b"events", headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
    assert server.core.bodies == [("s", b"events", form, None, None)]


@pytest.mark.parametrize("media", [None, "text/html", "application/json", "text/turtle; charset=latin-1", "junk"])
def test_other_media_types_are_refused_with_those_that_are_read(server: RunningServer, media: str | None) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    headers = {} if media is None else {"Content-Type": media}
    answer = server.client.post("/v1/streams/s", content=b"events", headers=headers)
    problem(answer, 415)
    assert "application/n-quads" in answer.headers["accept-post"]
    assert server.core.bodies == []


def test_headers_name_a_body_and_its_event(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    headers = TURTLE | {"Idempotency-Key": "k 1", "ce-id": "a%20b"}
    server.client.post("/v1/streams/s", content=b"x", headers=headers)
    assert server.core.bodies == [("s", b"x", "turtle", "k 1", "a b")]
    problem(server.client.post("/v1/streams/s", content=b"x", headers=TURTLE | {"Idempotency-Key": "k" * 256}), 422)


def test_packed_bodies_are_unpacked_member_by_member(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    packed = b"".join(gzip.compress(part) for part in (b"a" * 5000, b"", b"b" * 4000)) + b"\0" * 7
    for encoding in ("gzip", "X-Gzip"):
        headers = TURTLE | {"Content-Encoding": encoding}
        assert server.client.post("/v1/streams/s", content=packed, headers=headers).status_code == 202
    assert [body for _, body, *_ in server.core.bodies] == [b"a" * 5000 + b"b" * 4000] * 2
    headers = TURTLE | {"Content-Encoding": "gzip"}
    for damaged in (packed[:30], b"plain", gzip.compress(b"a" * 100)[:-1]):
        problem(server.client.post("/v1/streams/s", content=damaged, headers=headers), 400)
    problem(server.client.post("/v1/streams/s", content=b"x", headers=TURTLE | {"Content-Encoding": "br"}), 415)


def test_a_body_has_a_size_after_it_is_unpacked(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    whole, chunked = b"x" * 10_000, iter([b"x" * 6_000, b"x" * 4_001])
    assert server.client.post("/v1/streams/s", content=whole, headers=TURTLE).status_code == 202
    problem(server.client.post("/v1/streams/s", content=whole + b"x", headers=TURTLE), 413)
    problem(server.client.post("/v1/streams/s", content=chunked, headers=TURTLE), 413)
    bomb = gzip.compress(bytes(50_000_000))
    headers = TURTLE | {"Content-Encoding": "gzip"}
    problem(server.client.post("/v1/streams/s", content=bomb[:9_000], headers=headers), 413)
    problem(server.client.put("/v1/streams/s", content=whole + b"x"), 413)
    assert server.state.budget.held == 0


@pytest.mark.parametrize("filler", [" ", "\n", "é", "#"])
@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/v1/queries/q"), ("POST", "/v1/validate"), ("POST", "/v1/format")]
)
def test_the_text_of_a_query_has_a_size(server: RunningServer, method: str, path: str, filler: str) -> None:
    room = 2_000 - len(QUERY.encode()) - 1
    fits = f"{QUERY}#{filler * (room // len(filler.encode()))}"
    headers = {"Content-Type": "application/x-spaseq"}
    server.client.put("/v1/streams/s", json=STREAM)
    assert server.client.request(method, path, content=fits.encode(), headers=headers).status_code in (200, 201)
    for too_long in (fits + filler * 2, fits + filler * 1_000):
        document = problem(server.client.request(method, path, content=too_long.encode(), headers=headers), 413)
        assert document["detail"] == "the text of a query has at most 2,000 bytes (limit text)"
    if method == "PUT":
        assert server.client.put(path, json={"text": fits}).status_code in (200, 201)
        problem(server.client.put(path, json={"text": fits + filler * 2}), 413)


@pytest.mark.parametrize("status", [400, 409, 415, 422, 429, 503, 507])
def test_what_the_core_refuses_is_answered_with_its_status_and_headers(server: RunningServer, status: int) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    server.core.fault = Refused(status, "Title", "detail", members={"oldest": 3}, headers={"Retry-After": "2"})
    answer = server.client.post("/v1/streams/s", content=b"x", headers=TURTLE)
    document = problem(answer, status)
    assert (document["title"], document["detail"], document["oldest"]) == ("Title", "detail", 3)
    assert answer.headers["retry-after"] == "2"
    server.core.fault = Refused(status, "Title", "detail")
    answer = server.client.post("/v1/streams/s", content=b"x", headers=TURTLE)
    assert ("retry-after" in answer.headers) == (status in (429, 503))
    assert ("accept-post" in answer.headers) == (status == 415)


def test_a_full_disk_is_507(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    server.core.fault = OSError(errno.ENOSPC, "No space left on device")
    problem(server.client.post("/v1/streams/s", content=b"x", headers=TURTLE), 507)


def test_a_fault_of_ours_is_answered_without_what_it_was(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    server.core.fault = ZeroDivisionError("secret")
    answer = server.client.post("/v1/streams/s", content=b"x", headers=TURTLE)
    assert "secret" not in answer.text
    number = problem(answer, 500)["detail"].split()[-1]
    assert any(number in record.getMessage() for record in caplog.records)


def test_time_is_advanced(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    assert server.client.post("/v1/streams/s/advance", json={"time": "2026-01-01T00:00:00Z"}).status_code == 202
    for body in ({"time": "soon"}, {"time": 5}, {}, {"time": "2026-01-01T00:00:00Z", "x": 1}):
        problem(server.client.post("/v1/streams/s/advance", json=body), 422)


def test_a_knowledge_base_has_a_path_or_a_url(server: RunningServer, tmp_path: Any) -> None:
    file = tmp_path / "kb.ttl"
    file.write_text("")
    assert server.client.put("/v1/kb/k", json={"iri": "urn:k", "path": str(file)}).status_code == 201
    assert server.client.put("/v1/kb/k", json={"iri": "urn:k", "url": "http://127.0.0.1:1/q"}).status_code == 200
    for path in ("kb.ttl", str(tmp_path / "none.ttl"), "/a\0b"):
        problem(server.client.put("/v1/kb/k", json={"iri": "urn:k", "path": path}), 422)
    assert [each["name"] for each in server.client.get("/v1/kb").json()] == ["k"]
    assert server.client.get("/v1/kb/k").json()["url"] == "http://127.0.0.1:1/q"
    assert server.client.delete("/v1/kb/k").status_code == 204


def test_a_query_is_put_as_text_or_as_json(server: RunningServer) -> None:
    for media in ("application/x-spaseq", "text/plain", "text/plain; charset=utf-8"):
        answer = server.client.put("/v1/queries/q", content=QUERY, headers={"Content-Type": media})
        assert answer.status_code in (200, 201)
    assert server.client.put("/v1/queries/q", json={"max_runs": 7}).status_code == 200
    shown = server.client.get("/v1/queries/q").json()
    assert (shown["text"], shown["max_runs"], shown["since_seen"]) == (QUERY, 7, "now")
    assert server.client.put("/v1/queries/q?since=window", content=QUERY).json()["since_seen"] == "window"
    assert [each["name"] for each in server.client.get("/v1/queries").json()] == ["q"]
    for path, body in (
        ("/v1/queries/q?since=ever", {}),
        ("/v1/queries/q?since=now", {"since": "window"}),
        ("/v1/queries/q", {"sinks": [{"file": "x"}]}),
        ("/v1/queries/q", {"max_runs": 0}),
        ("/v1/queries/q", {"file": "q.rq"}),
    ):
        problem(server.client.put(path, json=body), 422)
    problem(server.client.put("/v1/queries/q", content=QUERY, headers={"Content-Type": "text/html"}), 415)
    for request in ("pause", "resume"):
        assert server.client.post(f"/v1/queries/q/{request}").status_code == 204
    assert server.client.delete("/v1/queries/q").status_code == 204


def test_problems_of_a_text_have_their_places(server: RunningServer) -> None:
    answer = server.client.put("/v1/queries/q", content="nothing", headers={"Content-Type": "text/plain"})
    expected = {"code": "SQ001", "line": 1, "column": 2, "message": "no clause", "hint": "write SELECT"}
    assert problem(answer, 422)["problems"] == [expected]
    answer = server.client.post("/v1/validate", content="nothing", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["problems"]) == (200, [{"code": "SQ001"}])


def test_a_text_is_given_in_the_one_format(server: RunningServer) -> None:
    text = QUERY.replace("SELECT", "select").replace("{", "{ ")
    answer = server.client.post("/v1/format", content=text, headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()) == (200, {"text": formatted(text)})
    answer = server.client.post("/v1/format", content="SELECT ?a WITHIN", headers={"Content-Type": "text/plain"})
    assert problem(answer, 422)["problems"][0]["code"] == "SQ002"


def test_an_explanation_a_replay_dead_letters_and_a_snapshot_are_given(server: RunningServer) -> None:
    server.client.put("/v1/queries/q", content=QUERY)
    assert server.client.get("/v1/queries/q/explain").json()["text"] == QUERY
    for asked, count in (("state=1", 50), ("state=1&limit=200", 200)):
        assert len(server.client.get(f"/v1/queries/q/runs?{asked}").json()) == count
    for asked in ("", "?state=x", "?state=1&limit=0", "?state=1&limit=201"):
        problem(server.client.get(f"/v1/queries/q/runs{asked}"), 422)
    problem(server.client.get("/v1/queries/none/runs?state=1"), 404)
    answer = server.client.post("/v1/queries/q/replay", json={"from": "a", "to": "b"})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line)["number"] for line in answer.text.splitlines()] == list(range(1200))
    problem(server.client.post("/v1/queries/q/replay", json={"from": "b", "to": "a"}), 422)
    problem(server.client.post("/v1/queries/none/replay", json={"from": "a", "to": "b"}), 404)
    problem(server.client.post("/v1/queries/q/replay", json={"from": "a"}), 422)
    numbers = [json.loads(line)["n"] for line in server.client.get("/v1/deadletters?after=3").text.splitlines()]
    assert numbers == list(range(4, 1201))
    assert (server.client.post("/v1/snapshot").status_code, server.core.snapshots) == (201, 1)


def test_addresses_and_methods_that_are_not_there_are_said(server: RunningServer) -> None:
    for path in (
        "/v1/nothing",
        "/v2/streams",
        "/v1/streams/",
        "/v1/streams/a/b/c",
        "/page.html",
        "/../etc/passwd",
    ):
        problem(server.client.get(path), 404)
    answer = server.client.patch("/v1/streams/s")
    problem(answer, 405)
    assert answer.headers["allow"] == "DELETE, GET, HEAD, POST, PUT"
    head = server.client.head("/v1/streams")
    assert (head.status_code, head.content) == (200, b"")


def test_metrics_are_those_of_the_core_and_of_requests(server: RunningServer) -> None:
    server.client.put("/v1/streams/s", json=STREAM)
    server.client.put("/v1/queries/q", content=QUERY)
    answer = server.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'spaseq_stream_events_total{stream="s"} 1.0' in lines
    assert 'spaseq_query_state{query="q",state="running"} 1.0' in lines
    assert "spaseq_log_bytes 17.0" in lines
    assert any(line.startswith('spaseq_http_requests_total{method="PUT",route="/v1/streams/{name}"') for line in lines)


def test_the_openapi_document_has_every_request_and_the_settings(server: RunningServer) -> None:
    document = server.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        real = path.replace("{name}", "q").replace("{number}", "1")
        for method, operation in methods.items():
            assert operation["summary"] and operation["responses"]
            if method == "get" and "matches" not in path:
                assert server.client.get(real, params={"state": 0}).status_code in (200, 404), path
    settings = document["components"]["schemas"]["StreamSettings"]
    assert settings["required"] == ["iri"] and settings["additionalProperties"] is False
    references = [text for text in json.dumps(document).split('"') if text.startswith("#/")]
    for reference in references:
        found = document
        for part in reference[2:].split("/"):
            found = found[part]
    assert len(references) > 20


def test_the_page_and_its_files_are_there_and_allow_nothing_foreign(server: RunningServer) -> None:
    for path, media in (("/", "text/html"), ("/workbench.js", "text/javascript"), ("/workbench.css", "text/css")):
        answer = server.client.get(path)
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, media)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
