"""Patterns over knowledge bases that decide nothing are joined with matches, and nobody sees a difference."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from kb.base import KnowledgeBases
from kb.prepared_build import build as prepare
from kb.source import Source
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.pattern import BGP
from sparql_gpm.terms import to_ntriples
from spaseq.algebra.build import build
from spaseq.engine.described import describe
from spaseq.lang.parse import parse
from spaseq.optimise.driver import NothingProven, optimise
from spaseq.runtime.stages import match_values
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.knowledge import DB, Triples, knowing_in_partitions, knowing_queries, knowledge
from tests.strategies.named import named_knowing_queries
from tests.strategies.stream import batches, cuts, interleaved, streams, to_trig

# In the `ci` profile 200 queries, each run three times.
PAIRS = drawn(120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("enrichment")


def written(folder: Path, triples: Triples, prepared: bool) -> Path:
    """A knowledge base in a file."""
    path = folder / "kb.nt"
    path.write_text("".join(sorted(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in triples)))
    if prepared:
        prepare([str(path)], folder / "kb.kb")
        return folder / "kb.kb"
    return path


@given(data=st.data())
@settings(max_examples=PAIRS)
def test_rows_are_those_of_the_reference_with_and_without_late_enrichment(folder: Path, data: st.DataObject) -> None:
    check_rows(folder, data, data.draw(knowing_queries() | named_knowing_queries()))


@pytest.mark.parametrize("few", [0, match_values.FEW_MATCHES])
@given(data=st.data())
@settings(max_examples=drawn(90))
def test_a_key_that_is_the_value_of_the_partition_is_looked_up_whether_matches_are_few_or_many(
    folder: Path, few: int, data: st.DataObject
) -> None:
    with patch.object(match_values, "FEW_MATCHES", few):
        check_rows(folder, data, data.draw(knowing_in_partitions()))


def check_rows(folder: Path, data: st.DataObject, text: str) -> None:
    """The rows of a query over drawn events, with and without late enrichment, are those of the reference."""
    query = parse(text, "q")
    triples = data.draw(knowledge())
    drawn = data.draw(streams())
    arrivals = {stream.name: drawn[stream.name] for stream in query.streams}
    kb = {DB: written(folder, triples, prepared=data.draw(st.booleans()))}
    note(text)
    note(repr(sorted(map(str, triples))))
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(arrivals)
    found = [comparable(row) for row in run_engine(query, [arrived], kb=kb)]
    assert found == [comparable(row) for row in run_engine(query, [arrived], kb=kb, optimise=False)]
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    expected = Counter(map(comparable, evaluate(query, arrivals, {DB: triples})))
    assert Counter(map(comparable, run_engine(query, pieces, kb=kb))) == expected
    assert Counter(found) == expected


HEAD = (
    f"PREFIX : <http://ex.org/> SELECT ?s ?l ?r WITHIN 9 SECONDS FROM STREAM S <http://ex.org/s> FROM NAMED KB <{DB}>"
)
KB = """@prefix : <http://ex.org/> . :s0 :label "zero" ; :in :room0 ; :tag 1, 2 . :s1 :in :room0 . :room0 :floor 1 ."""
LABEL = f"OPTIONAL {{ GRAPH <{DB}> {{ ?s :label ?l }} }}"


def placed(folder: Path, body: str, sequence: str = "A : B", head: str = HEAD, **source: float) -> dict[str, str]:
    """For each part that asks the knowledge base what it brings, and why it is joined late or not."""
    (folder / "kb.ttl").write_text(KB)
    text = f"{head} WHERE {{ SEQ({sequence}) DEFINE GPM A ON S {{ {body} }} DEFINE GPM B ON S {{ ?s :b ?b }} }}"
    dictionary = Dictionary()
    bases = KnowledgeBases.load(
        {DB: Source(str(folder / "kb.ttl"), **source)}, dictionary, ExpressionEvaluator(dictionary)
    )
    placements = optimise(build(parse(text, "q")), bases.named([DB])).placements
    return {" ".join(p.variables) + ("" if p.late else " not"): p.reason for p in placements}


@pytest.mark.parametrize(
    ("body", "late"),
    [
        (f"?s :a 1 {LABEL}", {"l"}),
        (f"?s :a 1 {LABEL} ?s :c ?c FILTER(?c > 1)", {"l"}),
        (f"?s :a 1 {LABEL} OPTIONAL {{ ?s :d ?d }} MINUS {{ ?s :e 1 }} BIND(?d + 1 AS ?e)", {"l"}),
        (f'?s :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?s :label ?l }} FILTER(?l != "x") }}', {"l"}),
        (f"?s :a 1 GRAPH <{DB}> {{ ?s :in ?r . ?r :floor ?l }}", {"l"}),
        (f"?s :a 1 GRAPH <{DB}> {{ ?s :in ?r ; :label ?l }}", {"r"}),
        (f"?s :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?s :in ?r . OPTIONAL {{ ?r :floor ?l }} }} }}", {"l r"}),
        (f"?s :a 1 GRAPH <{DB}> {{ :room0 :floor ?l }}", {"l"}),
    ],
)
def test_what_adds_one_value_and_is_read_by_the_output_alone_is_joined_late(
    folder: Path, body: str, late: set[str]
) -> None:
    found = placed(folder, body)
    assert {name for name in found if not name.endswith("not")} == late


INSIDE = f"?s :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?s :in ?r . SERVICE <http://h.example/q> {{ ?r :x ?l }} }} }}"


@pytest.mark.parametrize(
    ("body", "sequence", "head", "reason"),
    [
        (f"?s :a 1 GRAPH <{DB}> {{ ?s :in ?r }}", "A : B", HEAD, "an event without a solution in it is no match"),
        (f"?s :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?s :tag ?l }} }}", "A : B", HEAD, "one ?s may have several solutions"),
        (f"?s :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?s :in ?b }} }}", "A : B", HEAD, "?b is needed by the pattern of B"),
        (f"?s :a 1 {LABEL} FILTER(?l != ?b)", "A : B", HEAD, "?l is needed by a condition of A"),
        (f"?s :a 1 {LABEL} FILTER(BOUND(?l))", "A : B", HEAD, "it decides whether and how"),
        (f"?s :a 1 {LABEL}", "A : B : A", HEAD, "the step stands in SEQ more than once"),
        (f"?s :a 1 {LABEL}", "(A? : B):+", HEAD, "an iteration may be without the step"),
        (f"?s :a 1 {LABEL}", "A+ : B", HEAD.replace("?r", "(COUNT(?l) AS ?r)"), "?l is needed in every iteration"),
        (f"?x :a 1 OPTIONAL {{ ?x :is ?s }} {LABEL}", "A : B", HEAD, "what it adds depends on more than"),
        (f"?s :a ?x OPTIONAL {{ GRAPH <{DB}> {{ ?s :label ?l }} FILTER(?l != ?x) }}", "A : B", HEAD, "what it adds"),
        ("?s :a 1 OPTIONAL { GRAPH ?g { ?s :label ?l } }", "A : B", HEAD, "it decides whether and how"),
        (INSIDE, "A : B", HEAD, "it has another knowledge base inside"),
    ],
)
def test_what_must_be_known_earlier_stays_with_the_events(
    folder: Path, body: str, sequence: str, head: str, reason: str
) -> None:
    found = placed(folder, body, sequence, head)
    assert [why for name, why in found.items() if name.endswith("not") and why.startswith(reason)], found
    assert not [name for name in found if not name.endswith("not")]


def test_where_nothing_is_proven_nothing_is_said_of_keys() -> None:
    facts = NothingProven("it may change")
    assert facts.unprovable(DB) == "it may change"
    assert not facts.one_each(DB, BGP(()), ()) and not facts.covers(DB, BGP(()), BGP(()), ())


def test_a_knowledge_base_that_may_change_is_met_by_the_events(folder: Path) -> None:
    assert "may change" in placed(folder, f"?s :a 1 {LABEL}", refresh_s=60.0)["l s not"]


def test_a_negated_step_asks_for_nothing_that_nobody_sees(folder: Path) -> None:
    head = HEAD.replace("?l ?r", "?b")
    negated = f"?x :a 1 OPTIONAL {{ GRAPH <{DB}> {{ ?x :tag ?t }} }}"
    assert placed(folder, negated, "B ; A! ; B", head)["t"].startswith("a negated step")


def test_explain_says_what_is_joined_when_and_why(folder: Path) -> None:
    (folder / "kb.ttl").write_text(KB)
    body = f"?s :a 1 GRAPH <{DB}> {{ ?s :in ?r . ?r :floor ?l }} SERVICE <http://h.example/q> {{ ?s :x ?y }}"
    query = parse(f"{HEAD} WHERE {{ SEQ(A) DEFINE GPM A ON S {{ {body} }} }}", "q")
    local, endpoint = describe(query, kb={DB: folder / "kb.ttl"}).knowledge
    assert local.how.startswith("is read into memory")
    assert [(use.variables, use.when) for use in local.uses] == [(("l",), "each match"), (("r", "s"), "each event")]
    assert "distinct keys" in endpoint.how
    assert [use.when for use in endpoint.uses] == ["each event"]
    unknown = describe(query).knowledge[0]
    assert [(use.variables, use.when) for use in unknown.uses] == [(("l", "r", "s"), "each event")]
    assert "not loaded here" in unknown.uses[0].why
    prepare([str(folder / "kb.ttl")], folder / "kb.kb")
    prepared = describe(query, kb={DB: folder / "kb.kb"}).knowledge[0]
    assert prepared.how.startswith("is a prepared file")
    assert prepared.uses == local.uses
    remote = describe(query, kb={DB: Source("http://h.example/q", "skip", refresh_s=9.0)}).knowledge[0]
    assert "kept for 9 s" in remote.how
    assert [use.when for use in remote.uses] == ["each event"]


def test_the_command_explains_with_knowledge_bases(folder: Path) -> None:
    (folder / "kb.ttl").write_text(KB)
    (folder / "q.rq").write_text(f"{HEAD} WHERE {{ SEQ(A) DEFINE GPM A ON S {{ ?s :a 1 {LABEL} }} }}")
    command = [sys.executable, "-m", "spaseq.cli", "explain", str(folder / "q.rq")]
    root = Path(__file__).parents[2]
    for more, when in (([], "each event"), (["--kb", f"{DB}={folder / 'kb.ttl'}"], "each match")):
        done = subprocess.run([*command, *more], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"joined with {when}" in " ".join(done.stdout.split())
