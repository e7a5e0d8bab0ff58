"""A call that is refused has changed nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import spaseq
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.errors import InputError
from spaseq.outputs.rows import Row

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
