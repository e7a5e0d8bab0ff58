"""`--stream` and `--kb` against the queries."""

from __future__ import annotations

import pytest

from spaseq.cli.bindings import bind_knowledge, bind_streams
from spaseq.errors import InputError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse

S1, S2, KB = "http://ex.org/s1", "http://ex.org/s2?a=1", "http://ex.org/kb?v=2"


def query(name: str, streams: dict[str, str], register: str = "", body: str = "?x ?p ?o", knowledge: str = "") -> Query:
    form = f"REGISTER STREAM <{register}> AS CONSTRUCT {{ ?x ?p ?o }}" if register else "SELECT *"
    sources = "\n".join(f"FROM STREAM {stream} <{iri}>" for stream, iri in streams.items())
    steps = ", ".join(streams)
    text = f"{form} WITHIN 5 SECONDS {sources} {knowledge} {{ SEQ(A) DEFINE GPM A ON {steps} {{ {body} }} }}"
    return parse(text, name)


TWO = [query("q", {"S1": S1, "S2": S2})]


@pytest.mark.parametrize(
    "assignments",
    [
        ["S1=a.nq", "S2=b=c.nq"],
        [f"{S1}=a.nq", f"{S2}=b=c.nq"],
        [f"<{S1}>=a.nq", f"<{S2}>=b=c.nq"],
    ],
)
def test_streams_are_given_by_name_or_iri_and_both_may_contain_an_equals_sign(assignments: list[str]) -> None:
    assert bind_streams(TWO, assignments) == {S1: "a.nq", S2: "b=c.nq"}


@pytest.mark.parametrize(
    ("assignments", "message", "hint"),
    [
        (["S1"], "--stream 'S1' is malformed", "write --stream NAME=PATH"),
        (["S1="], "--stream 'S1=' is malformed", "write --stream NAME=PATH"),
        (["=a.nq"], "--stream '=a.nq' is malformed", "write --stream NAME=PATH"),
        (["S9=a.nq"], "no query reads a stream 'S9'", f"declared: S1 <{S1}>, S2 <{S2}>"),
        (["s1=a.nq"], "no query reads a stream 's1'", f"declared: S1 <{S1}>, S2 <{S2}>"),
        (["S1=a.nq", "S1=b.nq"], f"stream <{S1}> is given twice", "several files: give a folder or a glob"),
        (["S1=a.nq", f"{S1}=b.nq"], f"stream <{S1}> is given twice", "several files: give a folder or a glob"),
        (["S1=-", "S2=-"], "standard input is given to two streams", "give one of them a file"),
        (
            ["S1=a.nq"],
            f"stream S2 <{S2}> of query 'q' has no input",
            f"add --stream 'S2=PATH', or a query that says REGISTER STREAM <{S2}>",
        ),
    ],
)
def test_streams_that_do_not_fit_the_query_are_errors_with_the_way_out(
    assignments: list[str], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        bind_streams(TWO, assignments)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_name_with_two_meanings_must_be_given_by_iri() -> None:
    queries = [query("one", {"S": S1}), query("two", {"S": S2})]
    with pytest.raises(InputError) as caught:
        bind_streams(queries, ["S=a.nq"])
    assert caught.value.message == f"the stream name 'S' means <{S1}> in query 'one' and <{S2}> in query 'two'"
    assert caught.value.hint == f"use the IRI: --stream '{S1}=PATH'"
    assert bind_streams(queries, [f"{S1}=a.nq", f"{S2}=b.nq"]) == {S1: "a.nq", S2: "b.nq"}


def test_one_stream_under_two_names_is_given_once() -> None:
    queries = [query("one", {"S": S1}), query("two", {"T": S1})]
    assert bind_streams(queries, ["T=a.nq"]) == {S1: "a.nq"}


def test_a_stream_that_another_query_makes_needs_no_input() -> None:
    upstream, downstream = query("up", {"S1": S1}, register=S2), query("down", {"S2": S2})
    assert bind_streams([downstream, upstream], ["S1=a.nq"]) == {S1: "a.nq"}


def test_a_stream_is_not_given_and_made_at_once() -> None:
    upstream, downstream = query("up", {"S1": S1}, register=S2), query("down", {"S2": S2})
    with pytest.raises(InputError, match="is given, and query 'up' makes it"):
        bind_streams([upstream, downstream], ["S1=a.nq", "S2=b.nq"])


def test_a_query_does_not_feed_itself() -> None:
    with pytest.raises(InputError, match=r"stream S2 .* of query 'loop' has no input"):
        bind_streams([query("loop", {"S1": S1, "S2": S2}, register=S2)], ["S1=a.nq"])


@pytest.mark.parametrize(
    ("body", "knowledge"),
    [
        (f"?x ?p ?o GRAPH <{KB}> {{ ?x ?q ?r }}", ""),
        (f"?x ?p ?o OPTIONAL {{ GRAPH <{KB}> {{ ?x ?q ?r }} }}", ""),
        (f"?x ?p ?o FILTER NOT EXISTS {{ GRAPH <{KB}> {{ ?x ?q ?r }} }}", ""),
        ("?x ?p ?o GRAPH ?g { ?x ?q ?r }", f"FROM NAMED KB <{KB}>"),
    ],
)
def test_every_knowledge_base_that_a_query_names_must_be_supplied(body: str, knowledge: str) -> None:
    queries = [query("q", {"S1": S1}, body=body, knowledge=knowledge)]
    assert bind_knowledge(queries, [f"{KB}=kb=1.ttl"]) == ({KB: "kb=1.ttl"}, ())
    with pytest.raises(InputError) as caught:
        bind_knowledge(queries, [])
    assert caught.value.message == f"query 'q' names the knowledge base <{KB}>, which is not supplied"
    assert caught.value.hint == f"add --kb '{KB}=PATH_OR_URL'"


def test_a_knowledge_base_that_no_query_names_is_told() -> None:
    assert bind_knowledge(TWO, ["urn:kb=kb.ttl"]) == ({"urn:kb": "kb.ttl"}, ("urn:kb",))


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["urn:kb"], "--kb 'urn:kb' is malformed"),
        (["urn:kb="], "--kb 'urn:kb=' is malformed"),
        (["urn:kb=a.ttl", "<urn:kb>=b.ttl"], "knowledge base <urn:kb> is given twice"),
    ],
)
def test_malformed_knowledge_assignments_are_errors(assignments: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        bind_knowledge(TWO, assignments)
    assert caught.value.message == message
    assert caught.value.hint
