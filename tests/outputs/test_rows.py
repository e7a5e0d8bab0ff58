"""Rows and their NDJSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.terms import IRI, XSD, BlankNode, Literal
from spaseq.outputs.rows import Row, to_json

SECOND = 1_000_000_000
START = 1_767_225_610 * SECOND  # 2026-01-01T00:00:10Z
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


def test_select_row_is_the_line_that_the_interface_prints() -> None:
    row = Row(
        query="Q1",
        time=START + 10 * SECOND,
        start=START,
        bindings=(("house", IRI("http://ex.org/H1")), ("fr1", Literal("25", XSD + "integer"))),
        events=(("A", ("urn:e1",)), ("B", ("urn:e2", "urn:e3"))),
    )
    assert to_json(row) == (
        '{"query": "Q1", "time": "2026-01-01T00:00:20Z", "start": "2026-01-01T00:00:10Z", '
        '"bindings": {"house": {"type": "uri", "value": "http://ex.org/H1"}, '
        '"fr1": {"type": "literal", "value": "25", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}, '
        '"events": {"A": ["urn:e1"], "B": ["urn:e2", "urn:e3"]}}'
    )


def test_construct_row_has_its_graph_in_place_of_bindings_with_sorted_distinct_triples() -> None:
    m, p, q = IRI("urn:m"), IRI("urn:p"), IRI("urn:q")
    row = Row(
        query="q",
        time=START,
        start=START,
        graph="urn:g",
        triples=((m, q, Literal("x")), (m, p, Literal('a "b"\n', XSD + "string")), (m, q, Literal("x"))),
        events=(("A", ("urn:e1",)),),
    )
    document = json.loads(to_json(row))
    assert list(document) == ["query", "time", "start", "graph", "triples", "events"]
    assert document["graph"] == "urn:g"
    assert document["triples"] == [r'<urn:m> <urn:p> "a \"b\"\n" .', '<urn:m> <urn:q> "x" .']


def test_terms_are_those_of_sparql_results_json() -> None:
    row = Row(
        query="q",
        time=0,
        start=0,
        bindings=(
            ("s", Literal("plain")),
            ("l", Literal("Straße", LANG_STRING, "de-at")),
            ("d", Literal("1.50", XSD + "decimal")),
            ("b", BlankNode("b7")),
        ),
    )
    assert json.loads(to_json(row))["bindings"] == {
        "s": {"type": "literal", "value": "plain"},
        "l": {"type": "literal", "value": "Straße", "xml:lang": "de-at"},
        "d": {"type": "literal", "value": "1.50", "datatype": XSD + "decimal"},
        "b": {"type": "bnode", "value": "b7"},
    }


def test_fractions_of_a_second_are_printed_only_when_not_zero() -> None:
    row = Row(query="q", time=START + SECOND // 2, start=START)
    document = json.loads(to_json(row))
    assert document["time"] == "2026-01-01T00:00:10.5Z"
    assert document["start"] == "2026-01-01T00:00:10Z"


def test_text_beyond_ascii_stays_readable() -> None:
    assert "Zürich ☃" in to_json(Row(query="q", time=0, start=0, bindings=(("c", Literal("Zürich ☃")),)))


@given(st.text(), st.text())
def test_any_text_is_one_line_and_comes_back(lexical: str, query: str) -> None:
    line = to_json(Row(query=query, time=0, start=0, bindings=(("v", Literal(lexical)),)))
    assert "\n" not in line and "\r" not in line
    document = json.loads(line)
    assert document["query"] == query
    assert document["bindings"]["v"]["value"] == lexical
