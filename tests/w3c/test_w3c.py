"""The W3C's tests of SPARQL and RDF, from the folder that SPASEQ_RDF_TESTS names, and the report of their outcomes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rdflib import DOAP, Graph, Literal, URIRef

from tests.w3c.earl import EARL, PROJECT, report
from tests.w3c.known import KNOWN_FAILURES
from tests.w3c.manifests import PASSED, Case, Outcome, cases
from tests.w3c.outcomes import outcome

FOLDER = os.environ.get("SPASEQ_RDF_TESTS")
CASES = {case.identifier: case for case in cases(Path(FOLDER))} if FOLDER else {}


@pytest.mark.parametrize("identifier", CASES or ["SPASEQ_RDF_TESTS is not set"])
def test_the_outcome_is_the_one_of_the_w3c(identifier: str) -> None:
    case = CASES.get(identifier)
    if case is None:
        assert not FOLDER
        return
    found = outcome(case)
    assert (found.verdict == "failed") == (identifier in KNOWN_FAILURES), found.reason


def test_every_known_failure_is_a_test() -> None:
    assert not FOLDER or set(KNOWN_FAILURES) <= set(CASES)


def test_the_identifiers_are_those_of_one_test_each() -> None:
    assert not FOLDER or len({case.iri for case in CASES.values()}) == len(list(cases(Path(FOLDER))))


def test_a_report_has_one_assertion_for_each_test() -> None:
    names = ("passed", "failed", "inapplicable", "untested")
    outcomes = {_case(name): PASSED if name == "passed" else Outcome(name, "a reason") for name in names}
    graph = Graph().parse(data=report(outcomes, datetime(2026, 8, 7, tzinfo=UTC)), format="turtle")
    found = {
        (test, graph.value(result, EARL.outcome))
        for assertion, test in graph.subject_objects(EARL.test)
        for result in graph.objects(assertion, EARL.result)
        if graph.value(assertion, EARL.mode) == EARL.automatic and (assertion, EARL.subject, PROJECT) in graph
    }
    assert found == {(URIRef(f"https://ex.org/manifest#{name}"), EARL[name]) for name in names}
    assert graph.value(PROJECT, DOAP.name) == Literal("SPAseq")
    assert graph.value(PROJECT, DOAP.release) is not None


def _case(name: str) -> Case:
    return Case(f"https://ex.org/manifest#{name}", "suite", "QueryEvaluationTest", None, (), (), None, False)
