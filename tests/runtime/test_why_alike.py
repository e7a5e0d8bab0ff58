"""Why-not of two terms that are not the same and may be meant to be: what they have in common, and its FILTER."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import spaseq
from spaseq.runtime.why.alike import likeness, likeness_key

QUERY = """PREFIX : <http://x/>
SELECT ?s WITHIN 1 HOUR SLIDING FROM STREAM S <http://x/s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?s :code ?c } DEFINE GPM B ON S { ?t :ref ?c } }
"""
STREAM = """@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://x/> .
:e1 prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime . :e1 {{ :a :code {} }}
:e2 prov:generatedAtTime "2026-01-01T00:01:00Z"^^xsd:dateTime . :e2 {{ :b :ref :other }}
:e3 prov:generatedAtTime "2026-01-01T00:02:00Z"^^xsd:dateTime . :e3 {{ :c :ref {} }}
"""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("14", "14.0", "value"),
        ("14.0", "1.4e1", "value"),
        ('"2026-01-01T01:00:00+01:00"^^xsd:dateTime', '"2026-01-01T00:00:00Z"^^xsd:dateTime', "value"),
        ('"14"', "14", "text"),
        ('"chat"@fr', '"chat"', "text"),
        ("<http://x/a>", '"http://x/a"', "text"),
        ('"14"', '"14.0"', "number"),
        ('"014"', "14", "number"),
        ("<http://x/House>", "<http://x/house>", "case"),
        ('"ACME"', '"Acme"@en', "case"),
    ],
)
def test_terms_that_are_alike_are_named_and_compared(one: str, other: str, same: str, tmp_path: Path) -> None:
    (tmp_path / "events.trig").write_text(STREAM.format(one, other))
    streams = {"S": tmp_path / "events.trig"}
    (attempt, *_) = spaseq.why_not(spaseq.parse(QUERY), streams).attempts
    (fault,) = attempt.faults
    assert (attempt.event, fault.cause, fault.detail["same"]) == ("http://x/e3", "join", same)
    assert likeness_key(fault.detail["run"]) == likeness_key(fault.detail["event"])
    condition = re.search(r"FILTER.*", fault.repair)
    assert condition is not None
    repaired = QUERY.replace("?t :ref ?c", f"?t :ref ?c_B {condition[0]}")
    assert len(list(spaseq.run(spaseq.parse(repaired), streams))) == 1


def test_other_terms_have_nothing_in_common(tmp_path: Path) -> None:
    (tmp_path / "events.trig").write_text(STREAM.format("14", "14.5"))
    (attempt, *_) = spaseq.why_not(spaseq.parse(QUERY), {"S": tmp_path / "events.trig"}).attempts
    assert attempt.event == "http://x/e2" and "same" not in attempt.faults[0].detail
    run, event = attempt.faults[0].detail["run"], attempt.faults[0].detail["event"]
    assert likeness(run, event) is None


def test_a_variable_of_the_partition_keeps_its_name(tmp_path: Path) -> None:
    """Every step has to bind it."""
    (tmp_path / "events.trig").write_text(STREAM.format("14", "14.0"))
    query = spaseq.parse(QUERY.replace("FROM", "PARTITION BY ?c FROM", 1))
    (attempt, *_) = spaseq.why_not(query, {"S": tmp_path / "events.trig"}).attempts
    assert attempt.repair.endswith("in one way") and attempt.event == "http://x/e3"


def test_a_term_that_is_asked_about_and_that_no_event_has_is_compared_with_others(tmp_path: Path) -> None:
    (tmp_path / "events.trig").write_text(STREAM.format("14.0", "15"))
    streams = {"S": tmp_path / "events.trig"}
    (attempt,) = spaseq.why_not(spaseq.parse(QUERY), streams, bind={"c": "14"}).attempts
    assert (attempt.step, attempt.event, attempt.cause) == ("A", "http://x/e1", "join")
    assert attempt.faults[0].detail["same"] == "value" and attempt.repair.startswith('ask for "14.0"')
    assert spaseq.why_not(spaseq.parse(QUERY), streams, bind={"c": "14.0"}).attempts[0].events
