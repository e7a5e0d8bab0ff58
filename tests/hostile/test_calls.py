"""A call that is refused has changed nothing."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import spaseq
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.errors import InputError
from spaseq.outputs.rows import Row
from tests.cli.test_run import LINE, SELECT, TWO_EVENTS, command, file

EX = "http://ex.org/"
STREAMS = ("S1", "S2", EX + "s1", EX + "s2")
QUERY = f"""PREFIX : <{EX}> SELECT ?k ?x ?n WITHIN 100 SECONDS SLIDING FROM STREAM S1 <{EX}s1> FROM STREAM S2 <{EX}s2>
    {{ SEQ(A : B) DEFINE GPM A ON S1 {{ ?n :k ?k ; :v ?x }} DEFINE GPM B ON S1, S2 {{ ?m :k ?k FILTER(?m != ?n) }} }}"""
NO_TIMES: list[object] = [
    10**30, -(10**30), 10**5000, 2**63 - 1, 1_767_225_600_000, math.inf, -math.inf, math.nan, 1e300,
    datetime(9999, 1, 1), datetime.min, datetime.max.replace(tzinfo=UTC), "2300-01-01T00:00:00Z", "yesterday", "",
    "\ud800", None, True, [], object(),
    Literal("x", XSD + "dateTime"), rdflib.URIRef("urn:t"), Literal("2262-04-11T23:47:16.854775807Z", XSD + "dateTime"),
]  # fmt: skip
NO_GRAPHS: list[object] = [
    None, 5, "no turtle", "<urn:a> <urn:b> '\ud800' .", [1], [(1, 2, 3)], [("a", "b", "c")],
    [(IRI("urn:a"), IRI("urn:b"))],
    [(Literal("a"), IRI("urn:b"), IRI("urn:c"))], [(IRI("urn:a"), Literal("b"), IRI("urn:c"))],
    [(IRI("urn:a"), rdflib.BNode(), IRI("urn:c"))], [(IRI("urn:a"), IRI("urn:b"), IRI("c> d"))],
]  # fmt: skip
NO_NAMES: list[object] = ["", "relative", "a b", "urn:a> <urn:b", 5, "urn:\ud800"]
NO_STREAMS: list[object] = ["S3", "", None, 5, ["S1"]]
NO_BATCHES: list[object] = [None, 5, "\ud800", [], {}, pa.table({"graph": ["urn:e"]})]


def turtle(key: int) -> str:
    return f"@prefix : <{EX}> . _:n :k {key % 3} ; :v {key} ."


def table(time: object) -> pa.Table:
    row = {"graph": "urn:e", "subject": "urn:a", "predicate": EX + "k", "object": '"1"', "time": time}
    return pa.table({name: [value] for name, value in row.items()})


Call = Callable[[spaseq.Engine], object]
good: st.SearchStrategy[Call] = st.one_of(
    st.builds(
        lambda stream, key, time: lambda engine: engine.push(stream, turtle(key), time),
        st.sampled_from(STREAMS), st.integers(0, 9), st.integers(0, 60),
    ),
    st.builds(
        lambda stream, time: lambda engine: engine.advance(stream, time), st.sampled_from(STREAMS), st.integers(0, 60)
    ),
)  # fmt: skip
bad: st.SearchStrategy[Call] = st.one_of(
    st.builds(lambda time: lambda engine: engine.push("S1", turtle(1), time), st.sampled_from(NO_TIMES)),
    st.builds(lambda time: lambda engine: engine.advance("S1", time), st.sampled_from(NO_TIMES)),
    st.builds(lambda graph: lambda engine: engine.push("S1", graph, 30), st.sampled_from(NO_GRAPHS)),
    st.builds(lambda name: lambda engine: engine.push("S1", turtle(1), 30, name), st.sampled_from(NO_NAMES)),
    st.builds(lambda stream: lambda engine: engine.push(stream, turtle(1), 30), st.sampled_from(NO_STREAMS)),
    st.builds(lambda stream: lambda engine: engine.advance(stream, 30), st.sampled_from(NO_STREAMS)),
    st.builds(lambda data: lambda engine: engine.push_batch("S1", data), st.sampled_from(NO_BATCHES)),
    st.builds(
        lambda form: lambda engine: engine.push_batch("S1", "", form), st.sampled_from(["xml", "", None, [], "turtle"])
    ),
    st.just(lambda engine: engine.push_batch("S1", table(None))),
    st.just(lambda engine: engine.push_batch("S1", table(10**15))),
)


def engine() -> tuple[spaseq.Engine, list[Row]]:
    found: list[Row] = []
    made = spaseq.Engine()
    made.register(spaseq.parse(QUERY), found.append)
    return made, found


@given(st.lists(st.tuples(st.booleans(), good, bad), max_size=12))
def test_an_engine_after_refused_calls_is_as_one_that_never_had_them(calls: list[tuple[bool, Call, Call]]) -> None:
    (plain, expected), (tried, found) = engine(), engine()
    with plain, tried:
        for refused, call, wrong in calls:
            if refused:
                with pytest.raises(InputError):
                    wrong(tried)
            call(plain)
            call(tried)
    assert found == expected
    assert tried.statistics == plain.statistics


@pytest.mark.parametrize("time", NO_TIMES, ids=lambda time: type(time).__name__)
def test_a_time_that_is_none_is_refused_by_name_and_the_next_event_is_not_late(time: object) -> None:
    tried, _ = engine()
    with tried:
        with pytest.raises(InputError, match="not a time"):
            tried.push("S1", turtle(1), time)  # type: ignore[arg-type]
        tried.push("S1", turtle(1), "2026-01-01T00:00:00Z")
    assert tried.statistics.events == 1
    assert not tried.statistics.dead_letters


ONE = f"PREFIX : <{EX}> SELECT ?k WITHIN 9 SECONDS FROM STREAM S <{EX}s> {{ SEQ(A) DEFINE GPM A ON S {{ ?n :k ?k }} }}"
OTHER = ONE.replace(f"{EX}s>", f"{EX}other>")
TRAILING = ONE.replace("SEQ(A)", "SEQ(A ; B!) DEFINE GPM B ON S { ?m :b ?b }")
WITH_KB = ONE.replace("?n :k ?k", "?n :k ?k GRAPH <urn:k> { ?a ?b ?c }")


@pytest.mark.parametrize("text", [None, 5, b"SELECT", [], "\ud800"])
def test_what_is_no_text_of_a_query_is_refused(text: Any) -> None:
    with pytest.raises(spaseq.SPAseqError):
        spaseq.parse(text)
    with pytest.raises(InputError, match="the text and the name of a query are str"):
        spaseq.parse(ONE, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [None, 5, []])
def test_what_is_no_path_of_a_query_is_refused(path: Any) -> None:
    with pytest.raises(InputError, match="the path of a query file"):
        spaseq.read_query(path)


@pytest.mark.parametrize(
    "options",
    [
        {"max_delay_ns": -1}, {"max_delay_ns": "5"}, {"max_delay_ns": 2**63}, {"max_delay_ns": 1.5},
        {"max_delay_ns": True}, {"max_delay_ns": None}, {"strict": "yes"}, {"time_predicates": "urn:p"},
        {"time_predicates": ()}, {"time_predicates": ("no iri",)}, {"time_predicates": [5]}, {"batch_events": 0},
        {"batch_events": "x"}, {"max_line": 0}, {"max_line": "1"}, {"evaluator": "best"}, {"evaluator": 5},
        {"runtime": "moon"}, {"dead_letter": 5}, {"dead_letter": "/nonexistent/x"}, {"allow_hosts": "x"},
        {"allow_hosts": 5}, {"compiled": "x"}, {"optimise": "x"}, {"loading": 5}, {"arrival_time": "x"}, {"no_such": 1},
        {"kb": 5}, {"kb": "x"}, {"kb": [1]}, {"kb": {"urn:k": 5}}, {"kb": {5: "x"}}, {"kb": {"urn:k": b"x"}},
    ],
)  # fmt: skip
def test_an_option_of_a_wrong_type_or_value_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        spaseq.Engine(**options).register(spaseq.parse(ONE))
    file(tmp_path, "s.nq", "")
    with pytest.raises(InputError):
        spaseq.run(spaseq.parse(WITH_KB), {"S": tmp_path / "s.nq"}, **{"kb": {"urn:k": "x.ttl"}, **options})


@pytest.mark.parametrize(
    "streams",
    [
        None, 5, [], "s.nq", {}, {"S": []}, {"S": None}, {"S": 5}, {"S": b"s.nq"}, {"S": rdflib.Graph()}, {5: "s.nq"},
        {"X": "s.nq"}, {"S": "s.nq", EX + "s": "s.nq"}, {"S": ""}, {"S": "\0"}, {"S": "\ud800"},
    ],
)  # fmt: skip
def test_what_is_no_input_of_a_stream_is_refused(streams: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file(tmp_path, "s.nq", "")
    with pytest.raises(InputError):
        spaseq.run(spaseq.parse(ONE), streams)


@pytest.mark.parametrize("query", [None, 5, ONE, [], [5], [None]])
def test_what_is_no_query_is_refused(query: Any) -> None:
    for call in (
        lambda: spaseq.run(query, {"S": "s.nq"}),
        lambda: spaseq.Engine().register(query),
        lambda: spaseq.describe(query),
        lambda: spaseq.Job(query, {}),
    ):
        with pytest.raises(InputError, match="expected a query"):
            call()
    with pytest.raises(InputError, match="on_match"):
        spaseq.Engine().register(spaseq.parse(ONE), 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["http://local host/", "http://h/a b", "http://[::1/", "http://h:99999/", "https://"])
def test_a_url_that_is_none_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(InputError, match="is no valid URL"):
        spaseq.Engine(kb={"urn:k": url})


def test_a_name_that_two_queries_give_to_different_streams_is_refused(tmp_path: Path) -> None:
    found: list[Row] = []
    with spaseq.Engine() as tried:
        tried.register(spaseq.parse(ONE), found.append)
        tried.push("S", f"<urn:a> <{EX}k> 1 .", 1)
        tried.register(spaseq.parse(OTHER), found.append)
        for call in (
            lambda: tried.push("S", turtle(1), 2),
            lambda: tried.push_batch("S", ""),
            lambda: tried.advance("S", 2),
        ):
            with pytest.raises(InputError, match="the stream name 'S' means"):
                call()
        tried.push(EX + "other", f"<urn:a> <{EX}k> 2 .", 2)
    assert [row.time for row in found] == [10**9, 2 * 10**9]
    with pytest.raises(InputError, match="the stream name 'S' means"):
        spaseq.run([spaseq.parse(ONE), spaseq.parse(OTHER)], {"S": "s.nq"})


@pytest.mark.parametrize("flush", [True, False])
def test_a_closed_engine_refuses_every_call_and_close_without_flush_leaves_what_waits(flush: bool) -> None:
    found: list[Row] = []
    tried = spaseq.Engine()
    tried.register(spaseq.parse(TRAILING), found.append)
    tried.push("S", f"<urn:a> <{EX}k> 1 .", 1)
    tried.close(flush=flush)
    assert len(found) == (1 if flush else 0)
    for call in (
        lambda: tried.push("S", turtle(1), 2),
        lambda: tried.push_batch("S", ""),
        lambda: tried.advance("S", 2),
        lambda: tried.register(spaseq.parse(ONE)),
    ):
        with pytest.raises(InputError, match="the engine is closed"):
            call()
    tried.close()
    assert len(found) == (1 if flush else 0)


def test_late_and_malformed_records_name_a_stream_by_its_name_in_the_query(tmp_path: Path) -> None:
    with spaseq.Engine(dead_letter=tmp_path / "dead") as tried:
        tried.register(spaseq.parse(ONE))
        for stream in ("S", EX + "s"):
            tried.push(stream, f"<urn:a> <{EX}k> 1 .", 5)
            tried.push(stream, f"<urn:a> <{EX}k> 1 .", 1)
            tried.push_batch(stream, "junk\n")
    letters = [json.loads(line) for line in (tmp_path / "dead").read_text().splitlines()]
    assert [(letter["stream"], letter["iri"], letter["sort"]) for letter in letters] == [
        ("S", EX + "s", sort) for sort in ("late", "malformed", "late", "malformed")
    ]


def run_command(tmp_path: Path, options: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    query, events = file(tmp_path, "pairs.rq", SELECT), file(tmp_path, "events.nq", TWO_EVENTS + "junk\n")
    arguments = [option.replace("EVENTS", str(events)).replace("QUERY", str(query)) for option in options]
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command(*arguments)]
    return subprocess.run(shell, capture_output=True, text=True, check=False)


RUN = ["run", "QUERY", "--format", "ndjson", "--stream"]


@pytest.mark.parametrize("batch", ["1", "1000"])
def test_dead_letters_on_a_full_disk_end_the_run_after_the_rows_before(tmp_path: Path, batch: str) -> None:
    options = [*RUN, "S1=EVENTS", "--dead-letter", "/dev/full", "--batch-size", batch]
    result = run_command(tmp_path, options, "")
    assert (result.returncode, result.stdout) == (1, LINE)
    assert "error: cannot write to /dev/full: no space left on device" in result.stderr


@pytest.mark.parametrize(
    ("options", "redirection", "code", "message"),
    [
        ([*RUN, "S1=-"], "<&-", 2, "error: cannot read standard input: it is closed"),
        ([*RUN, "S1=EVENTS"], ">&-", 2, "error: cannot write to standard output: it is closed"),
        ([*RUN, "S1=EVENTS", "--dead-letter", "-"], ">&-", 2, "error: cannot write to standard output: it is closed"),
        (["explain", "QUERY"], ">&-", 2, "error: cannot write to standard output: it is closed"),
        (["explain", "QUERY"], ">/dev/full", 1, "error: cannot write to standard output: no space left on device"),
        (["--version"], ">/dev/full", 1, "error: cannot write: no space left on device"),
        ([*RUN, "S1=EVENTS"], ">/dev/null 2>&-", 0, ""),
    ],
)
def test_a_closed_or_full_stream_of_the_process_is_one_error_line(
    tmp_path: Path, options: list[str], redirection: str, code: int, message: str
) -> None:
    result = run_command(tmp_path, options, redirection)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith(message) and len(result.stderr.splitlines()) <= 2
