"""The outcomes of the W3C's tests as a report in EARL, in the form that the W3C's collection of reports takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rdflib import DCTERMS, DOAP, FOAF, RDF, XSD, BNode, Graph, Literal, Namespace, URIRef

import spaseq
from tests.w3c.manifests import Case, Outcome

EARL = Namespace("http://www.w3.org/ns/earl#")
PROJECT = URIRef("https://pypi.org/project/spaseq/")
DEVELOPERS = URIRef(f"{PROJECT}#developers")


def report(outcomes: Mapping[Case, Outcome], at: datetime) -> str:
    """The report in Turtle."""
    graph = Graph(bind_namespaces="none")
    for prefix, namespace in (("earl", EARL), ("doap", DOAP), ("foaf", FOAF), ("dct", DCTERMS)):
        graph.bind(prefix, namespace)
    date = Literal(at.isoformat(), datatype=XSD.dateTime)
    _describe(graph, date)
    for case, outcome in outcomes.items():
        assertion, result = BNode(), BNode()
        graph.add((assertion, RDF.type, EARL.Assertion))
        graph.add((assertion, EARL.assertedBy, DEVELOPERS))
        graph.add((assertion, EARL.subject, PROJECT))
        graph.add((assertion, EARL.test, URIRef(case.iri)))
        graph.add((assertion, EARL.mode, EARL.automatic))
        graph.add((assertion, EARL.result, result))
        graph.add((result, RDF.type, EARL.TestResult))
        graph.add((result, EARL.outcome, EARL[outcome.verdict]))
        graph.add((result, DCTERMS.date, date))
        if outcome.reason:
            graph.add((result, EARL.info, Literal(outcome.reason)))
    return graph.serialize(format="turtle")


def _describe(graph: Graph, date: Literal) -> None:
    """Add the project, its release, and the developers, who report."""
    document, release = URIRef(""), BNode()
    graph.add((document, FOAF.primaryTopic, PROJECT))
    graph.add((document, FOAF.maker, DEVELOPERS))
    graph.add((document, DCTERMS.issued, date))
    for kind in (DOAP.Project, EARL.TestSubject, EARL.Software):
        graph.add((PROJECT, RDF.type, kind))
    graph.add((PROJECT, DOAP.name, Literal("SPAseq")))
    graph.add((PROJECT, DOAP.homepage, PROJECT))
    graph.add((PROJECT, DOAP.developer, DEVELOPERS))
    graph.add((PROJECT, DOAP["programming-language"], Literal("Python")))
    graph.add((PROJECT, DOAP.description, Literal(_DESCRIPTION, lang="en")))
    graph.add((PROJECT, DOAP.release, release))
    graph.add((release, RDF.type, DOAP.Version))
    graph.add((release, DOAP.name, Literal(f"SPAseq {spaseq.__version__}")))
    graph.add((release, DOAP.revision, Literal(spaseq.__version__)))
    for kind in (EARL.Assertor, FOAF.Organization):
        graph.add((DEVELOPERS, RDF.type, kind))
    graph.add((DEVELOPERS, FOAF.name, Literal("The SPAseq developers")))


_DESCRIPTION = "Temporal patterns over streams of RDF graphs; an event's graph pattern is one of SPARQL."
