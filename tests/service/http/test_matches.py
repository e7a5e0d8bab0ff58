"""Rows of a query in every form, and live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spaseq.service.http import broadcasts
from spaseq.service.http.matches import FORMS
from spaseq.service.http.media import chosen
from tests.service.http.servers import QUERY, RunningServer, served
from tests.waiting import waited

ROWS = "/v1/queries/q/matches"
LIVE = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with served() as server:
        yield server


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    running.core.__init__()  # type: ignore[misc]
    running.client.put("/v1/queries/q", json={"text": QUERY})
    return running


def numbers(text: str) -> list[int]:
    return [json.loads(line)["n"] for line in text.splitlines()]


def events(answer: Any, count: int) -> list[tuple[str, Any]]:
    """The next server-sent events."""
    found: list[tuple[str, Any]] = []
    number = ""
    for line in answer.iter_lines():
        if line.startswith("id: "):
            number = line[4:]
        elif line.startswith("data: "):
            found.append((number, json.loads(line[6:])))
            if len(found) == count:
                break
    return found


def test_rows_are_given_as_lines_from_a_number_on(server: RunningServer) -> None:
    server.core.find("q", 2_500)
    whole = server.client.get(ROWS)
    assert whole.headers["content-type"].startswith("application/x-ndjson")
    assert numbers(whole.text) == list(range(1, 2_501))
    assert whole.text.startswith('{"n": 1, ')
    assert numbers(server.client.get(f"{ROWS}?after=2490&limit=4").text) == [2491, 2492, 2493, 2494]
    assert numbers(server.client.get(f"{ROWS}?after=0&limit=2001").text) == list(range(1, 2_002))
    assert server.client.get(f"{ROWS}?after=2500").text == server.client.get(f"{ROWS}?limit=0").text == ""
    for wrong in ("after=-1", "after=x", "limit=1.5", "after=" + "9" * 30, "after="):
        assert server.client.get(f"{ROWS}?{wrong}").status_code == 422


def test_rows_that_are_past_are_gone_and_without_a_number_the_oldest_is_first(server: RunningServer) -> None:
    server.core.find("q", 10)
    server.core.oldest = 6
    for headers in ({}, LIVE, {"Accept": "application/sparql-results+json"}):
        answer = server.client.get(f"{ROWS}?after=2", headers=headers)
        assert (answer.status_code, answer.json()["oldest"]) == (410, 6)
    assert numbers(server.client.get(ROWS).text) == [6, 7, 8, 9, 10]
    assert server.client.get("/v1/queries/none/matches", headers=LIVE).status_code == 404


def test_rows_are_given_as_sparql_results_and_graphs_as_trig(server: RunningServer) -> None:
    server.core.find("q", 1_200)
    answer = server.client.get(f"{ROWS}?after=100", headers={"Accept": "application/sparql-results+json"})
    assert answer.headers["content-type"] == "application/sparql-results+json"
    document = answer.json()
    assert document["head"] == {"vars": ["s"]}
    assert [row["s"]["value"] for row in document["results"]["bindings"]] == [f"x{n}" for n in range(101, 1_201)]
    trig = server.client.get(ROWS, headers={"Accept": "application/trig"})
    assert (trig.headers["content-type"], trig.text[:7]) == ("application/trig", "<urn:g>")
    text = QUERY.replace("SELECT ?s", "CONSTRUCT { ?s <urn:p> ?a }")
    server.client.put("/v1/queries/c", json={"text": text})
    refused = server.client.get("/v1/queries/c/matches", headers={"Accept": "application/sparql-results+json"})
    assert refused.status_code == 406


def test_the_form_is_the_one_that_is_accepted_most() -> None:
    results, trig, lines, live = "application/sparql-results+json", "application/trig", FORMS[0], FORMS[1]
    for accept, expected in (
        (None, lines), ("*/*", lines), ("", lines), ("text/event-stream", live), ("text/*", live),
        ("application/trig;q=0.5, application/sparql-results+json;q=0.6", results),
        ("application/*;q=0.1, application/trig", trig), ("*/*, application/x-ndjson;q=0", live),
        ("Text/Event-Stream; Q=1", live),
    ):  # fmt: skip
        assert chosen(accept, FORMS) == expected, accept
    with served() as server:
        server.client.put("/v1/queries/q", json={"text": QUERY})
        assert server.client.get(ROWS, headers={"Accept": "text/html, application/trig;q=0"}).status_code == 406


def test_live_rows_begin_now_or_behind_a_number_without_gap_or_repeat(server: RunningServer) -> None:
    server.core.find("q", 1_300)
    with server.client.stream("GET", ROWS, headers=LIVE) as now:
        assert now.headers["content-type"].startswith("text/event-stream")
        waited(lambda: server.state.broadcasts.readers == 1)
        server.core.find("q", 2)
        assert [number for number, _ in events(now, 2)] == ["1301", "1302"]
    with server.client.stream("GET", f"{ROWS}?after=3", headers=LIVE | {"Last-Event-ID": "10"}) as again:
        found = events(again, 1_292)
        assert [int(number) for number, _ in found] == list(range(11, 1_303))
        assert all(row["n"] == int(number) for number, row in found)
    assert server.client.get(ROWS, headers=LIVE | {"Last-Event-ID": "x"}).status_code == 422
    waited(lambda: server.state.broadcasts.readers == 0)
    waited(lambda: server.core._told["q"] == [])


def test_rows_that_come_while_others_are_sent_reach_all_readers(server: RunningServer) -> None:
    with (
        server.client.stream("GET", f"{ROWS}?after=0", headers=LIVE) as first,
        server.client.stream("GET", f"{ROWS}?after=5", headers=LIVE) as second,
    ):
        for _ in range(200):
            server.core.find("q", 3)
        assert [int(number) for number, _ in events(first, 600)] == list(range(1, 601))
        assert [int(number) for number, _ in events(second, 595)] == list(range(6, 601))


def test_a_comment_shows_that_a_silent_connection_lives(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert broadcasts.COMMENT_S == 15
    monkeypatch.setattr(broadcasts, "COMMENT_S", 0.05)
    with server.client.stream("GET", ROWS, headers=LIVE) as answer:
        lines = answer.iter_lines()
        assert [next(lines) for _ in range(3)] == [": alive", "", ": alive"]


def test_live_rows_end_with_the_query_and_numbers_that_begin_again_are_another_query(server: RunningServer) -> None:
    server.core.find("q", 5)
    with server.client.stream("GET", f"{ROWS}?after=4", headers=LIVE) as answer:
        assert [number for number, _ in events(answer, 1)] == ["5"]
    for put_again in (False, True):
        server.core.__init__()  # type: ignore[misc]
        server.client.put("/v1/queries/q", json={"text": QUERY})
        server.core.find("q", 5)
        with server.client.stream("GET", f"{ROWS}?after=0", headers=LIVE) as answer:
            waited(lambda: server.state.broadcasts.readers == 1)
            lines = answer.iter_lines()
            while next(lines) != "id: 5":
                pass
            if put_again:
                told = server.core._told.pop("q")
                server.core.delete_query("q")
                server.client.put("/v1/queries/q", json={"text": QUERY})
                for notify in told:
                    notify()
                server.core._told["q"] = told
            else:
                server.client.delete("/v1/queries/q")
            assert [line for line in lines if line.startswith("id")] == []


def test_readers_of_one_query_read_its_rows_once(server: RunningServer) -> None:
    reads = []
    rows = server.core.rows
    server.core.rows = lambda name, after, limit: reads.append(after) or rows(name, after, limit)  # type: ignore
    streams = [server.client.stream("GET", f"{ROWS}?after=0", headers=LIVE) for _ in range(5)]
    answers = [each.__enter__() for each in streams]
    waited(lambda: server.state.broadcasts.readers == 5)
    reads.clear()
    server.core.find("q", 100)
    for answer in answers:
        assert len(events(answer, 100)) == 100
    for each in streams:
        each.__exit__(None, None, None)
    assert reads.count(0) <= 2 and len(reads) <= 6
    del server.core.rows
