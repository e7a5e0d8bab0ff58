"""Causes of why-not that are easily missed: those that hold once another is repaired, and those of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import spaseq
from spaseq.outputs.attempts import Attempt

QUERY = """PREFIX : <http://x/>
SELECT * WITHIN 1 HOUR SLIDING {by} FROM STREAM S <http://x/s>
WHERE {{ SEQ({sequence}) {defines} }}
"""
NAMES = """@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://x/> .
"""
EVENT = ':e{0} prov:generatedAtTime "2026-01-01T00:00:{0:02}Z"^^xsd:dateTime . :e{0} {{ {1} }}\n'


def attempts(query: str, events: Sequence[str], folder: Path) -> Sequence[Attempt]:
    path = folder / "events.trig"
    path.write_text(NAMES + "".join(EVENT.format(number, event) for number, event in enumerate(events)))
    found = spaseq.why_not(spaseq.parse(query), {"S": path})
    assert not found.matches
    return found.attempts


@pytest.mark.parametrize(
    ("sequence", "events", "step", "nearer"),
    [
        ("A ; B{2}", (":b :v 1", ":b :v 3", ":b :v 1"), "B", ("contiguity", "http://x/e1")),
        ("A ; (B | C) ; D", (":b :v 1", ":c :c 1", ":d :d 1"), "D", ("contiguity", "http://x/e1")),
        ("A ; (B | C) ; D?", (":b :v 1", ":c :c 1"), "A", ("contiguity", "http://x/e1")),
        (
            "A : ALL(SEQ(E ; (B | C)), F) : D",
            (":f :f 1", ":e :e 1", ":b :v 1", ":c :c 1", ":d :d 1"),
            "D",
            ("contiguity", "http://x/e3"),
        ),
        ("A ; (B | C);++ ; D?", (":c :c 1", ":b :v 1"), "A", ("extendable", "http://x/e2")),
    ],
)
def test_events_that_a_condition_kept_from_counting_are_named_with_it(
    sequence: str, events: Sequence[str], step: str, nearer: tuple[str, str], tmp_path: Path
) -> None:
    """It is decided at a later iteration, in another branch, or at the end: without it, others come first."""
    defines = """DEFINE GPM A ON S { ?a :limit ?m . FILTER(?v > ?m) } DEFINE GPM B ON S { ?b :v ?v }
        DEFINE GPM C ON S { ?c :c 1 } DEFINE GPM D ON S { ?d :d ?v }
        DEFINE GPM E ON S { ?e :e 1 } DEFINE GPM F ON S { ?f :f 1 }"""
    query = QUERY.format(by="", sequence=sequence, defines=defines)
    found = attempts(query, (":a :limit 2", *events), tmp_path)
    causes = [[(fault.cause, fault.detail.get("event")) for fault in a.faults] for a in found if a.step == step]
    assert causes == [[("condition", None), nearer]]


@pytest.mark.parametrize(
    ("first", "events", "causes"),
    [
        ("?a :a ?k", (":a :a 1 ; :k 2",), {("join", "2", "1")}),
        ("?a :a ?k . FILTER(MAX(?k) < 2)", (":a :a 1 ; :k 2",), {("join", "2", "1"), ("condition", "", "")}),
        ("?a :a ?k", (":a :a 1", ":b :k 1"), {("partition", "1", "")}),
        ("?a :a ?k ; :c 1", (":a :a 1 ; :c 1", ":b :k 2"), {("partition", "2", ""), ("join", "2", "1")}),
        ("?a :a ?k", (":a :a 1 ; :k 3", ":b :k 2"), {("join", "3", "1")}),
    ],
)
def test_what_a_step_binds_is_compared_with_its_partition(
    first: str, events: Sequence[str], causes: set[tuple[str, str, str]], tmp_path: Path
) -> None:
    """Two terms are a join, although the event is in no partition with what the step binds."""
    query = QUERY.format(
        by="PARTITION BY ?k USING { ?u :k ?k }",
        sequence="A+ ; B",
        defines=f"DEFINE GPM A ON S {{ {first} }} DEFINE GPM B ON S {{ ?b :b ?w }}",
    )
    (found,) = attempts(query, events, tmp_path)
    terms = [[getattr(fault.detail.get(side), "lexical", "") for side in ("run", "event")] for fault in found.faults]
    assert (found.step, found.event) == ("A", "http://x/e0")
    assert {(fault.cause, *own) for fault, own in zip(found.faults, terms, strict=True)} == causes
