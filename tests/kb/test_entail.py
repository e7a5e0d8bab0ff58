"""RDFS by closure tables concludes what owlrl does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import owlrl
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import spaseq
from kb.entail import RDFS, Schema, materialised
from kb.errors import KnowledgeBaseError
from kb.prepared_build import build
from kb.source import Source
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF, Literal, Term
from tests.kb.test_endpoint import DB

Triple = tuple[Term, Term, Term]
CLASSES = [IRI(f"http://x/C{n}") for n in range(4)]
PROPERTIES = [IRI(f"http://x/p{n}") for n in range(4)]
THINGS = [IRI(f"http://x/i{n}") for n in range(3)]
TYPE = IRI(RDF + "type")
SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = (IRI(RDFS + n) for n in ("subClassOf", "subPropertyOf", "domain", "range"))

schemas = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(CLASSES), st.just(SUBCLASS), st.sampled_from(CLASSES)),
        st.tuples(st.sampled_from(PROPERTIES), st.just(SUBPROPERTY), st.sampled_from(PROPERTIES)),
        st.tuples(st.sampled_from(PROPERTIES), st.sampled_from([DOMAIN, RANGE]), st.sampled_from(CLASSES)),
    ),
    max_size=8,
)
facts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(THINGS), st.just(TYPE), st.sampled_from(CLASSES)),
        st.tuples(st.sampled_from(THINGS), st.sampled_from(PROPERTIES), st.sampled_from([*THINGS, Literal("x")])),
    ),
    max_size=6,
)


def columns(triples: list[Triple], dictionary: Dictionary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = np.array([[dictionary.pin(term) for term in triple] for triple in triples], dtype=np.int64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(ids[:, i]) for i in range(3))  # type: ignore[return-value]


def by_owlrl(triples: list[Triple]) -> set[Triple]:
    """What owlrl concludes, without axioms, resources, and each class and property below itself."""
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(
            tuple(rdflib.Literal(t.lexical) if isinstance(t, Literal) else rdflib.URIRef(t.value) for t in triple)
        )
    owlrl.DeductiveClosure(owlrl.RDFS_Semantics, axiomatic_triples=False, datatype_axioms=False).expand(graph)
    ours = {*CLASSES, *PROPERTIES, *THINGS, TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE}
    found = set()
    for subject, predicate, object_ in graph:
        if isinstance(subject, rdflib.Literal) or not isinstance(predicate, rdflib.URIRef):
            continue
        o: Term = Literal(str(object_)) if isinstance(object_, rdflib.Literal) else IRI(str(object_))
        s, p = IRI(str(subject)), IRI(str(predicate))
        if {s, p} <= ours and (o in ours or isinstance(o, Literal)):
            found.add((s, p, o))
    return {t for t in found if t in triples or t[0] != t[2] or t[1] not in (SUBCLASS, SUBPROPERTY)}


def without_loops(triples: set[Triple], stated: list[Triple]) -> set[Triple]:
    return {t for t in triples if t in stated or t[0] != t[2] or t[1] not in (SUBCLASS, SUBPROPERTY)}


@given(schemas, facts)
def test_a_knowledge_base_is_closed_as_owlrl_closes_it(schema: list[Triple], stated: list[Triple]) -> None:
    dictionary = Dictionary()
    everything = list(dict.fromkeys([*schema, *stated]))
    closed = materialised(columns(everything, dictionary), dictionary)
    found = {tuple(dictionary.term(i) for i in row) for row in zip(*(c.tolist() for c in closed), strict=True)}
    assert len(found) == len(closed[0])
    assert without_loops(found, everything) == by_owlrl(everything)  # type: ignore[arg-type]


@given(schemas, st.lists(facts, min_size=1, max_size=3))
def test_events_say_what_owlrl_concludes_from_each_and_the_schema(
    schema: list[Triple], events: list[list[Triple]]
) -> None:
    dictionary = Dictionary()
    tables = Schema.of([columns(schema, dictionary)], dictionary)
    distinct = [list(dict.fromkeys(event)) for event in events]
    flat = columns([triple for event in distinct for triple in event], dictionary)
    zero = np.zeros(len(events), dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(event) for event in distinct]))).astype(np.int64)
    batch = tables.applied(EventBatch(zero, zero, ["urn:e"] * len(events), offsets, *flat))
    for number, event in enumerate(distinct):
        one = batch.take(np.array([number]))
        rows = zip(one.subjects.tolist(), one.predicates.tolist(), one.objects.tolist(), strict=True)
        found = [tuple(dictionary.term(i) for i in row) for row in rows]
        assert len(set(found)) == len(found)
        of_things = {t for t in by_owlrl([*schema, *event]) if t[0] in THINGS}
        assert set(found) == of_things


ONTOLOGY = """
@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Thermometer rdfs:subClassOf :Sensor . :Sensor rdfs:subClassOf :Device .
:heat rdfs:subPropertyOf :value ; rdfs:domain :Thermometer . :t1 a :Thermometer .
"""
EVENTS = (
    "\n".join(
        f'<urn:e{n}> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:0{n}Z"^^'
        f"<http://www.w3.org/2001/XMLSchema#dateTime> .\n<http://x/t{n}> <http://x/{p}> {o} <urn:e{n}> ."
        for n, (p, o) in enumerate([("heat", '"5"'), ("cold", '"6"'), ("is", "<http://x/y>")])
    )
    .replace("<http://x/is>", f"<{RDF}type>")
    .replace("<http://x/y>", "<http://x/Sensor>")
)


@pytest.mark.parametrize("named", [f"FROM NAMED KB <{DB}>", ""], ids=["named", "not named"])
@pytest.mark.parametrize("prepared", [False, True], ids=["RDF file", "prepared file"])
def test_classes_and_properties_of_a_knowledge_base_speak_about_events(
    tmp_path: Path, prepared: bool, named: str
) -> None:
    """A prepared file says itself that it was entailed."""
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    (tmp_path / "events.nq").write_text(EVENTS + "\n")
    build([str(tmp_path / "onto.ttl")], tmp_path / "onto.kb", entail=True)
    query = spaseq.parse(
        f"PREFIX : <http://x/> SELECT ?s ?v WITHIN 1 MINUTE FROM STREAM S <http://x/s> {named} "
        "WHERE { SEQ(A) DEFINE GPM A ON S { ?s a :Device OPTIONAL { ?s :value ?v } } }"
    )
    location = str(tmp_path / ("onto.kb" if prepared else "onto.ttl"))

    def devices(source: Source) -> list[dict[str, Term]]:
        return [dict(row.bindings) for row in spaseq.run(query, {"S": tmp_path / "events.nq"}, {DB: source})]

    found = [{"s": IRI("http://x/t0"), "v": Literal("5")}, {"s": IRI("http://x/t2")}]
    assert devices(Source(location, entail=True)) == found
    assert devices(Source(location)) == (found if prepared else [])


def test_a_schema_is_about_every_event_of_an_engine_whether_a_query_names_it_or_not(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    text = (
        "PREFIX : <http://x/> SELECT ?s WITHIN 1 MINUTE FROM STREAM S <http://x/s> WHERE { SEQ(A) DEFINE GPM A ON S {"
    )
    rows: list[spaseq.Row] = []
    with spaseq.Engine({DB: Source(str(tmp_path / "onto.ttl"), entail=True)}) as engine:
        for body in ("?s a :Device", f"?s a :Device . GRAPH <{DB}> {{ :Sensor ?p :Device }}"):
            engine.register(spaseq.parse(f"{text} {body} }} }}"), rows.append)
        engine.push("http://x/s", "<http://x/t9> <http://x/heat> 1 .", 1)
    assert [row["s"] for row in rows] == [IRI("http://x/t9")] * 2


def test_a_knowledge_base_answers_with_its_superclasses(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    (tmp_path / "events.nq").write_text(EVENTS + "\n")
    query = spaseq.parse(
        f"PREFIX : <http://x/> SELECT ?s WITHIN 1 MINUTE FROM STREAM S <http://x/s> "
        f"WHERE {{ SEQ(A) DEFINE GPM A ON S {{ ?s ?p ?v . GRAPH <{DB}> {{ ?s a :Device }} }} }}"
    )
    streams = {"S": tmp_path / "events.nq"}
    assert len(list(spaseq.run(query, streams, {DB: Source(str(tmp_path / "onto.ttl"), entail=True)}))) == 1
    assert not list(spaseq.run(query, streams, {DB: str(tmp_path / "onto.ttl")}))


def test_rdfs_that_was_not_applied_when_preparing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    build([str(tmp_path / "onto.ttl")], tmp_path / "onto.kb")
    from kb.prepared import Prepared

    with pytest.raises(KnowledgeBaseError, match="kb build --entail rdfs"):
        Prepared.opened(Source(str(tmp_path / "onto.kb"), entail=True), DB, Dictionary())
