"""Why, why-not and funnel over HTTP: answers from the retained log of a real core."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.http.servers import RunningServer, really_served

PREFIXES = "@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> . "
PAIR = """PREFIX : <http://x/> SELECT ?p ?v WITHIN 10 SECONDS SLIDING FROM STREAM S <urn:s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?p :rises ?v . FILTER(?v > 3) } DEFINE GPM B ON S { ?p :falls ?w } }"""
ABSENT = """PREFIX : <http://x/> SELECT ?p WITHIN 10 SECONDS SLIDING FROM STREAM S <urn:s>
WHERE { SEQ(A ; B!) DEFINE GPM A ON S { ?p :rises ?v } DEFINE GPM B ON S { ?p :falls ?w } }"""
TRIG = {"Content-Type": "application/trig"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with really_served(tmp_path_factory.mktemp("service")) as running:
        running.client.put("/v1/streams/s", json={"iri": "urn:s", "max_delay": "2s"}).raise_for_status()
        for name, text in {"pair": PAIR, "absent": ABSENT}.items():
            put(running, name, text)
        pushed = [event(1, 1, ":p :rises 2"), event(2, 2, ":p :rises 5"), event(3, 3, ":q :falls 1")]
        pushed += [event(4, 4, ":p :falls 1"), event(10, 8, ":z :rises 9"), event(5, 30, ":p :rises 7")]
        push(running, *pushed)
        push(running, event(6, 9, ":z :falls 7"), event(7, 31, ":r :rises 7"))
        push(
            running, "<urn:e8> prov:generatedAtTime 31 .\n<urn:e8> { :p :falls 1, <no IRI> }", event(9, 31, ":a :b :c")
        )
        running.core.settled()
        yield running


def event(number: int, second: int, triples: str) -> str:
    return f"<urn:e{number}> prov:generatedAtTime {second} . <urn:e{number}> {{ {triples} }}"


def push(server: RunningServer, *events: str) -> None:
    assert server.client.post(
        "/v1/streams/s", content=f"{PREFIXES}\n" + "\n".join(events), headers=TRIG
    ).status_code in (202, 400)


def put(server: RunningServer, name: str, text: str) -> None:
    answer = server.client.put(f"/v1/queries/{name}", content=text, headers={"Content-Type": "text/plain"})
    assert answer.status_code in (200, 201), answer.text


def ask(server: RunningServer, path: str, body: Any, status: int = 200) -> Any:
    answer = server.client.post(f"/v1/queries/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def causes(found: Any) -> set[tuple[str, str | None, str]]:
    """Of each attempt the step, the event that was to be taken, and the cause."""
    return {(each["step"], each["event"], each["cause"]) for each in found["attempts"]}


def test_a_row_is_explained_by_its_number(server: RunningServer) -> None:
    found = ask(server, "pair/why", {"match": 1})
    assert (found["query"], found["match"], found["start"]) == ("pair", 1, "1970-01-01T00:00:02Z")
    assert [(step["step"], step["event"]) for step in found["steps"]] == [("A", "urn:e2"), ("B", "urn:e4")]
    assert found["steps"][0]["triples"] == [
        '<http://x/p> <http://x/rises> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    ]
    assert found["steps"][0]["conditions"] == [
        {"text": "FILTER(?v > 3)", "values": {"v": json.loads(_integer(5))}, "holds": True}
    ]


def _integer(value: int) -> str:
    return f'{{"type": "literal", "value": "{value}", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"events": {"A": ["urn:e1"]}}, ("A", "urn:e1", "pattern")),
        ({"events": {"A": ["urn:e2"], "B": ["urn:e3"]}}, ("B", "urn:e3", "join")),
        ({"events": {"A": "urn:e10", "B": "urn:e6"}}, ("B", "urn:e6", "late")),
        ({"events": {"B": ["urn:e8"]}}, ("B", "urn:e8", "malformed")),
        ({"events": {"A": ["urn:e5"]}}, ("B", None, "waiting")),
        ({"bindings": {"p": {"type": "uri", "value": "http://x/r"}}}, ("B", None, "waiting")),
    ],
)
def test_a_missing_row_has_its_cause(server: RunningServer, body: Any, expected: tuple[str, str | None, str]) -> None:
    found = ask(server, "pair/why-not", body)
    assert found["matches"] == 0
    assert expected in causes(found), found


def test_what_waits_says_for_which_stream_and_until_when(server: RunningServer) -> None:
    attempt, other = ask(server, "pair/why-not", {"events": {"A": ["urn:e5"]}})["attempts"]
    assert attempt["detail"] == {"stream": "S", "until": "1970-01-01T00:00:40Z"}
    assert attempt["repair"] == "wait for an event on stream S"
    assert (other["cause"], other["event"]) == ("pattern", "urn:e7")


def test_a_match_that_an_absence_may_remove_waits_for_its_window(server: RunningServer) -> None:
    (attempt,) = ask(server, "absent/why-not", {"events": {"A": ["urn:e7"]}})["attempts"]
    assert (attempt["cause"], attempt["detail"]) == ("waiting", {"stream": "S", "until": "1970-01-01T00:00:41Z"})
    (other,) = ask(server, "absent/why-not", {"events": {"A": ["urn:e2"]}})["attempts"]
    assert (other["cause"], other["detail"]["event"]) == ("absence", "urn:e4")


def test_rows_that_fit_are_counted(server: RunningServer) -> None:
    assert ask(server, "pair/why-not", {}) == {"query": "pair", "matches": 1, "attempts": []}
    period = {"from": "1970-01-01T00:00:20Z", "to": "1970-01-01T00:00:35Z"}
    assert ask(server, "pair/why-not", period)["matches"] == 0


def test_the_funnel_counts_the_retained_events(server: RunningServer) -> None:
    found = server.client.get("/v1/queries/pair/funnel").json()
    assert list(found) == ["query", "steps", "edges", "matches", "removed", "rows", "seconds"]
    assert found["steps"][0]["seen"] == 8
    assert found["steps"][0]["filters"] == [{"text": "FILTER(?v > 3)", "line": 2, "left": 4}]
    assert [(edge["from"], edge["to"], edge["took"]) for edge in found["edges"]] == [("start", "A", 4), ("A", "B", 1)]
    assert found["rows"] == 1
    some = server.client.get("/v1/queries/pair/funnel", params={"from": "1970-01-01T00:00:20Z"}).json()
    assert (some["steps"][0]["seen"], some["rows"]) == (3, 0)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("pair/why", {"match": 2}, 422, "there is no row 2: the newest is 1"),
        ("pair/why", {"match": 0}, 422, "match"),
        ("pair/why", {"match": True}, 422, "match"),
        ("pair/why", {}, 422, "match"),
        ("pair/why", {"match": 1, "more": 1}, 422, "more"),
        ("nothing/why", {"match": 1}, 404, "no query"),
        ("nothing/why-not", {}, 404, "no query"),
        ("pair/why-not", {"from": "yesterday"}, 422, "yesterday"),
        ("pair/why-not", {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, 422, "later than"),
        ("pair/why-not", {"events": {"Z": ["urn:e1"]}}, 422, "no step Z"),
        ("pair/why-not", {"events": {"A": ["urn:none"]}}, 422, "no event"),
        ("pair/why-not", {"bindings": {"none": {"type": "uri", "value": "urn:x"}}}, 422, "?none"),
        ("pair/why-not", {"bindings": {"p": {"type": "uri", "value": "no iri"}}}, 422, "absolute IRI"),
        ("pair/why-not", {"bindings": {"p": {"value": "urn:x"}}}, 422, "is no term"),
        ("pair/why-not", [], 422, "object"),
    ],
)
def test_bad_questions_are_refused(server: RunningServer, path: str, body: Any, status: int, said: str) -> None:
    assert said in ask(server, path, body, status)["detail"]


def test_what_is_no_json_is_refused(server: RunningServer) -> None:
    answer = server.client.post("/v1/queries/pair/why", content="{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_a_row_of_an_earlier_text_is_explained_by_that_text(server: RunningServer) -> None:
    put(server, "changed", PAIR)
    push(server, event(11, 101, ":c :rises 5"), event(12, 102, ":c :falls 5"), event(13, 110, ":c :falls 5"))
    put(server, "changed", PAIR.replace(":falls", ":sinks"))
    server.core.settled()
    found = ask(server, "changed/why", {"match": 1})
    assert [step["event"] for step in found["steps"]] == ["urn:e11", "urn:e12"]
