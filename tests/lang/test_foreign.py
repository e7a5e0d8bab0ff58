"""Queries of other languages get one error; queries of this language, however damaged, never that one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.lang.parse import check
from tests.lang.test_mutations import PIECES, TEXTS

ROOT = Path(__file__).parent.parent.parent
OWN = [
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/conformance/cases").glob("*/*.rq"))),
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*/*.rq"))),
    *(text for text in TEXTS if "DEFINE GPM" in text),
]
FOREIGN = [
    ("RSP-QL", "REGISTER RSTREAM <o> AS SELECT ?a FROM NAMED WINDOW <w> ON <s> [RANGE PT1S] WHERE { ?a ?b ?c }"),
    ("RSP-QL", "PREFIX : <http://x/> SELECT ?a WHERE { WINDOW :w { ?a ?b ?c } }"),
    ("RSP-QL", "CONSTRUCT ISTREAM { ?a ?b ?c } WHERE { ?a ?b ?c }"),
    ("C-SPARQL", "REGISTER STREAM Means COMPUTED EVERY 5m AS CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }"),
    ("C-SPARQL", "SELECT ?a FROM STREAM <http://x/s> [RANGE TRIPLES 10] WHERE { ?a ?b ?c }"),
    ("CQELS", "SELECT ?a WHERE { STREAM <http://x/s> [NOW] { ?a ?b ?c } }"),
    ("CQELS", "SELECT ?a WHERE { GRAPH <k> { ?a ?b ?c } STREAM ?s [RANGE 5m SLIDE 1m] { ?a ?b ?c } }"),
    ("EP-SPARQL", "SELECT ?a WHERE { { ?a ?b ?c } SEQ { ?a ?d ?e } }"),
    ("EP-SPARQL", "SELECT ?a WHERE { { ?a ?b ?c } OPTIONALSEQ { ?a ?d ?e } }"),
    ("EP-SPARQL", "SELECT ?a WHERE { ?a ?b ?c FILTER (getDURATION() < 'PT1H'^^<urn:d>) }"),
    ("SQL MATCH_RECOGNIZE", "select * from t match_recognize ( pattern (a b) define a as x > 1 );"),
    ("EPL (Esper)", "select * from Tick#length(5)"),
    ("EPL (Esper)", "select avg(price) from Tick.win:time(30 sec)"),
    ("EPL (Esper)", "create schema Login(user string, place string);"),
    ("EPL (Esper)", "insert into Alarm select * from Tick // where the price's high"),
    ("EPL (Esper)", "from every e1=Login -> e2=Login[e1.user == user] within 5 min select e1.user insert into Alarm"),
    ("FlinkCEP", 'val p = Pattern.begin[Event]("a").followedBy("b")'),
    ("FlinkCEP", 'Pattern p = Pattern\n  .<Event>begin("a", AfterMatchSkipStrategy.noSkip())'),
]


@pytest.mark.parametrize(("language", "text"), FOREIGN)
def test_a_query_of_another_language_gets_one_error(language: str, text: str) -> None:
    query, problems = check(text)
    assert query is None
    (problem,) = problems
    assert (problem.code, f"written in {language}:" in problem.message) == ("SQ025", True), problem


def test_what_a_string_iri_or_comment_has_tells_nothing() -> None:
    text = "# MATCH_RECOGNIZE\nSELECT ?a WHERE { ?a <http://x/REGISTER%20QUERY> 'FROM NAMED WINDOW' }"
    assert "SQ025" not in {problem.code for problem in check(text)[1]}


def test_a_query_of_this_language_with_a_clause_of_another_has_the_errors_of_its_lines() -> None:
    text = TEXTS[-1].replace("<http://example.org/s1>", "<http://example.org/s1> [RANGE 10m STEP 1m]")
    (problem,) = check(text)[1]
    assert problem.code == "SQ002"
    assert problem.hint == "WITHIN says how long a window is: WITHIN 10 MINUTES SLIDING"


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A query of this language without a few slices, or with them twice, replaced or in another place."""
    text = draw(st.sampled_from(OWN))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        piece = draw(st.sampled_from([*PIECES, "", "[", "]", "STREAM", "WINDOW", "REGISTER"]) | st.text(max_size=3))
        text = text[:start] + piece + text[end:]
    return text


@given(damaged())
def test_a_damaged_query_of_this_language_is_not_taken_for_another(text: str) -> None:
    assert "SQ025" not in {problem.code for problem in check(text)[1]}


@pytest.mark.parametrize("text", OWN)
def test_queries_of_this_language_are_not_taken_for_another(text: str) -> None:
    assert "SQ025" not in {problem.code for problem in check(text)[1]}
