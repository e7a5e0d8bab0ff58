"""Rows as values of Python and as terms of other libraries; graphs of other libraries as knowledge bases."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from math import isnan
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib

import spaseq
from benchmarks.growth_queries import event, push_all
from sparql_gpm.python_values import python_value
from sparql_gpm.terms import IRI, RDF, XSD, BlankNode, Literal, Term, TripleTerm
from spaseq.inputs.terms import own_term
from spaseq.outputs.rows import Row

KB = "http://ex.org/kb"
QUERY = """PREFIX : <http://ex.org/> SELECT ?h ?v ?o ?m WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
FROM NAMED <http://ex.org/kb> WHERE { SEQ(A)
  DEFINE GPM A ON S { ?h :low ?v GRAPH <http://ex.org/kb> { ?h :owner [ :name ?o ] } OPTIONAL { ?h :missing ?m } } }"""
OWNERS = """@prefix : <http://ex.org/> .
:h1 :owner [ :name "Anna"@en ] . :h2 :owner [ :name "Bo" ] . :h3 :owner _:b . _:b :name 7 ."""


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, XSD + datatype)


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (Literal("a"), "a"),
        (typed(" 25 ", "integer"), 25),
        (typed("-3", "unsignedByte"), -3),
        (typed("1.50", "decimal"), Decimal("1.50")),
        (typed("1e3", "double"), 1000.0),
        (typed("-INF", "float"), float("-inf")),
        (typed("1", "boolean"), True),
        (typed("false", "boolean"), False),
        (typed("2026-01-01T24:00:00Z", "dateTime"), datetime(2026, 1, 2, tzinfo=UTC)),
        (typed("2026-01-01T00:00:00.123456", "dateTime"), datetime(2026, 1, 1, 0, 0, 0, 123456)),
        (
            typed("2026-01-01T01:02:03-05:30", "dateTime"),
            datetime(2026, 1, 1, 1, 2, 3, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
        ),
        (typed("2024-02-29", "date"), date(2024, 2, 29)),
    ],
)
def test_a_literal_has_the_value_that_python_has_for_it(term: Literal, value: object) -> None:
    found = python_value(term)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "term",
    [
        IRI("urn:a"),
        BlankNode("b"),
        Literal("oui", RDF + "langString", "fr"),
        typed("x", "integer"),
        typed("2", "boolean"),
        typed("2026-02-30", "date"),
        typed("2026-02-01Z", "date"),
        typed("2026-01-01T00:00:00.1234567Z", "dateTime"),
        typed("12026-01-01T00:00:00Z", "dateTime"),
        typed("-0001-01-01T00:00:00Z", "dateTime"),
        typed("9999-12-31T24:00:00Z", "dateTime"),
        typed("PT1H", "duration"),
        Literal("1", "http://ex.org/own"),
        typed("9" * 5000, "integer"),
        TripleTerm(IRI("urn:a"), IRI("urn:b"), Literal("c")),
    ],
)
def test_what_python_would_round_or_has_not_stays_a_term(term: Term) -> None:
    assert python_value(term) is term


def test_numbers_are_converted_and_what_is_none_is_an_error() -> None:
    assert int(typed("25", "integer")) == int(typed("25.9", "decimal")) == 25
    assert float(typed("25", "integer")) == 25.0 and isnan(float(typed("NaN", "double")))
    for term in (Literal("25"), typed("x", "integer"), Literal("a", RDF + "langString", "en")):
        with pytest.raises(ValueError, match="is no number"):
            int(term)
        with pytest.raises(ValueError, match="is no number"):
            float(term)


TERMS: list[Term] = [
    IRI("http://ex.org/é"), BlankNode("b1"), Literal('a\n"b"'), Literal("oui", RDF + "langString", "fr-be"),
    typed("01.50", "decimal"), typed("x", "integer"), typed("2026-01-01T24:00:00Z", "dateTime"),
    Literal("1", "http://ex.org/own"),
]  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_a_term_comes_back_from_other_libraries_as_it_was(term: Term) -> None:
    assert own_term(term.to_rdflib()) == own_term(term.to_pyoxigraph()) == term


@pytest.mark.parametrize(
    "term",
    [
        TripleTerm(IRI("urn:a"), IRI("urn:b"), Literal("c", RDF + "dirLangString", "ar", "rtl")),
        Literal("c", RDF + "dirLangString", "ar", "rtl"),
    ],
)
def test_terms_of_rdf_1_2_are_those_of_pyoxigraph_and_rdflib_has_none(term: Term) -> None:
    assert own_term(term.to_pyoxigraph()) == term
    with pytest.raises(ValueError, match="rdflib has no such term"):
        term.to_rdflib()


def _dataset() -> rdflib.Dataset:
    found = rdflib.Dataset()
    found.graph(rdflib.URIRef("urn:g")).parse(data=OWNERS, format="turtle")
    return found


def _pyoxigraph(kind: Any) -> Any:
    found = kind()
    for triple in ox.parse(OWNERS, format=ox.RdfFormat.TURTLE):
        found.add(ox.Quad(triple.subject, triple.predicate, triple.object, ox.NamedNode("urn:g")))
    return found


GRAPHS = {
    "rdflib graph": lambda: rdflib.Graph().parse(data=OWNERS, format="turtle"),
    "rdflib store": lambda: rdflib.Graph().parse(data=OWNERS, format="turtle").store,
    "rdflib dataset": _dataset,
    "rdflib graph of a dataset": lambda: _dataset().graph(rdflib.URIRef("urn:g")),
    "pyoxigraph store": lambda: _pyoxigraph(ox.Store),
    "pyoxigraph dataset": lambda: _pyoxigraph(ox.Dataset),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_graph_of_another_library_is_a_knowledge_base(kind: str) -> None:
    rows: list[Row] = []
    with spaseq.Engine({KB: GRAPHS[kind]()}) as engine:
        engine.register(spaseq.parse(QUERY, "q"), rows.append)
        push_all(engine, [event(house, "low", house * 10) for house in (1, 2, 3, 4)], 0)
    assert [row.to_dict() for row in rows] == [
        {"h": IRI("http://ex.org/h1"), "v": 10, "o": Literal("Anna", RDF + "langString", "en")},
        {"h": IRI("http://ex.org/h2"), "v": 20, "o": "Bo"},
        {"h": IRI("http://ex.org/h3"), "v": 30, "o": 7},
    ]
    assert rows[1].values() == (IRI("http://ex.org/h2"), 20, "Bo") and int(rows[1]["v"]) == 20  # type: ignore[arg-type]


def test_a_graph_gives_the_rows_of_its_file_also_over_files_and_from_a_snapshot(tmp_path: Any) -> None:
    path, events = tmp_path / "kb.ttl", tmp_path / "events.trig"
    path.write_text(OWNERS)
    events.write_text(
        "@prefix : <http://ex.org/> . @prefix p: <http://www.w3.org/ns/prov#> . @prefix x: <" + XSD + "> .\n"
        ':e1 p:generatedAtTime "2026-01-01T00:00:00Z"^^x:dateTime . :e1 { :h2 :low 3 }'
    )
    graph, query = rdflib.Graph().parse(data=OWNERS, format="turtle"), spaseq.parse(QUERY, "q")
    one, other = (list(spaseq.run(query, {"S": events}, {KB: kb})) for kb in (path, graph))
    assert one == other and len(one) == 1
    engine, rows = spaseq.Engine({KB: graph}), list[Row]()
    engine.register(query)
    engine = spaseq.Engine.restore(engine.snapshot(), {KB: graph}, rows.append)
    push_all(engine, [event(2, "low", 3)], 0)
    assert len(rows) == 1


def test_a_graph_with_what_is_no_triple_is_refused() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("a"), rdflib.URIRef("urn:b"), rdflib.Literal("c")))
    with pytest.raises(spaseq.InputError, match=f"knowledge base <{KB}> has a triple that is none: its subject is"):
        spaseq.Engine({KB: graph})
    with pytest.raises(spaseq.InputError, match="is a path, a URL or a graph, not int"):
        spaseq.Engine({KB: 3})
