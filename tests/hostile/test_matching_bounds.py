"""One event never takes memory or time without a bound; the others of its batch are matched as ever."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spaseq
from kb.prepared_build import build
from sparql_gpm import bounds
from sparql_gpm.columns import EventBatch, Solutions, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.parse import parse_expression, parse_group
from sparql_gpm.terms import IRI, XSD, Literal, Term
from spaseq.errors import InputError, RunError
from spaseq.inputs.texts import InputText
from tests.spark.pipeline import job_of, run_stages

QUERY = """PREFIX : <http://x/>
SELECT ?a ?d FROM STREAM S <http://x/s> WITHIN 1 HOURS SLIDING
WHERE { SEQ(A) DEFINE GPM A ON S { %s } }"""
TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"
STAMP = '"2026-01-01T00:00:%02dZ"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def event(number: int, triples: list[tuple[str, str, str]]) -> str:
    graph = f"<http://x/g{number}>"
    lines = [f"{graph} {TIME} {STAMP % number} ."]
    lines += [f"<http://x/{s}> <http://x/{p}> <http://x/{o}> {graph} ." for s, p, o in triples]
    return "\n".join(lines) + "\n"


def edges(count: int) -> list[tuple[str, str, str]]:
    return [(f"a{n}", "e", f"b{n}") for n in range(count)]


def run(
    tmp_path: Path, pattern: str, events: list[list[tuple[str, str, str]]], **options: Any
) -> tuple[int, list[dict[str, str]]]:
    """The number of rows, and the dead letters."""
    stream, letters = tmp_path / "s.nq", tmp_path / "letters.ndjson"
    stream.write_text("".join(event(number, triples) for number, triples in enumerate(events)))
    query = spaseq.parse(QUERY % pattern, "q")
    found = list(spaseq.run(query, {"S": stream}, dead_letter=letters, **options))
    return len(found), [json.loads(line) for line in letters.read_text().splitlines()]


PRODUCT = "?a :e ?b . ?c :e ?d FILTER(?b != ?c)"


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_an_event_with_too_many_solutions_is_a_dead_letter_and_the_others_are_matched(
    tmp_path: Path, batch: int
) -> None:
    events = [edges(2) for _ in range(30)]
    events[7] = edges(40)
    rows, letters = run(tmp_path, PRODUCT, events, max_solutions=100, batch_events=batch)
    assert rows == 29 * 4
    assert [(letter["stream"], letter["source"]) for letter in letters] == [("S", "http://x/g7")]
    assert letters[0]["reason"] == (
        "pattern A of query q has more than 100 solutions (--max-solutions) in the event <http://x/g7>"
    )
    assert "<http://x/a39>" in letters[0]["raw"]


def test_a_product_above_the_bound_is_never_made(tmp_path: Path) -> None:
    rows, letters = run(tmp_path, "?a :e ?b . ?c :e ?d", [edges(1), edges(10_000), edges(2)])
    assert rows == 1 + 4 and [letter["source"] for letter in letters] == ["http://x/g1"]


def test_an_event_that_takes_too_long_is_found_among_the_others_of_its_batch(tmp_path: Path) -> None:
    events = [edges(2) for _ in range(20)]
    events[11] = edges(1_000)
    pattern = "?a :e ?b . ?c :e ?d FILTER(CONCAT(STR(?a), STR(?d)) = 'http://x/a1http://x/b1')"
    rows, letters = run(tmp_path, pattern, events, max_event_seconds=0.2)
    assert rows == 19
    assert [letter["source"] for letter in letters] == ["http://x/g11"]
    assert "pattern A of query q has taken more than 0.2 s of CPU time (--max-event-seconds)" in letters[0]["reason"]


def test_a_bound_ends_a_strict_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="max-solutions"):
        run(tmp_path, PRODUCT, [edges(40)], max_solutions=100, strict=True)


def test_an_engine_counts_events_over_a_bound() -> None:
    with spaseq.Engine(max_solutions=100) as engine:
        found: list[spaseq.Row] = []
        engine.register(spaseq.parse(QUERY % PRODUCT, "q"), found.append)
        for number, count in enumerate((2, 40, 2)):
            triples = "".join(f"<http://x/a{n}> <http://x/e> <http://x/b{n}> . " for n in range(count))
            engine.push("S", triples, number)
        assert len(found) == 8 and engine.statistics.dead_letters == {"over a bound": 1}


@pytest.mark.parametrize("options", [{"max_solutions": 0}, {"max_event_seconds": 0.0}, {"max_event_seconds": -1.0}])
def test_a_bound_is_positive(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="max_"):
        spaseq.Engine(**options)


def test_an_equality_of_two_parts_of_a_pattern_is_a_join(tmp_path: Path) -> None:
    chain = [(f"n{number}", "e", f"n{number + 1}") for number in range(10_000)]
    rows, letters = run(tmp_path, "?a :e ?b . ?c :e ?d FILTER(?a = ?d)", [chain], max_event_seconds=20)
    assert (rows, letters) == (9_999, [])


DOUBLED = "?a0 :e ?b " + " ".join(f"BIND(CONCAT(?t{n}, ?t{n}) AS ?t{n + 1})" for n in range(40))
DOUBLING = DOUBLED.replace("BIND", "BIND(STR(?b) AS ?t0) BIND", 1)
REPLACED = "?a :e ?b BIND(STR(?b) AS ?t0) " + " ".join(
    f"BIND(REPLACE(?t{n}, '.+', '$0$0$0$0') AS ?t{n + 1})" for n in range(20)
)


@pytest.mark.parametrize("pattern", [DOUBLING, REPLACED])
def test_a_computed_string_has_a_bound(tmp_path: Path, pattern: str) -> None:
    rows, letters = run(tmp_path, pattern, [edges(1), []])
    assert rows == 0 and len(letters) == 1
    assert "pattern A of query q has a computed string of more than 16,777,216 characters" in letters[0]["reason"]


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_regular_expression_has_a_time_limit_in_each_text(tmp_path: Path, batch: int) -> None:
    slow = [("x" + "a" * 60 + "b", "e", "b0")]
    events = [edges(1) for _ in range(30)]
    events[5] = slow
    rows, letters = run(tmp_path, "?a :e ?b FILTER(!REGEX(STR(?a), 'x(a|aa)+$'))", events, batch_events=batch)
    assert rows == 29 and [letter["source"] for letter in letters] == ["http://x/g5"]
    assert "has a regular expression that takes more than 1 s on one text" in letters[0]["reason"]


SLOW_SEARCH = """
import sys, time
from sparql_gpm.expressions.functions_regex import compiled, timed
from sparql_gpm.errors import ExpressionError
matcher, text = compiled("x(a|aa)+$", ""), "x" + "a" * 60 + "b"
print(flush=True)
begin = time.process_time()
try:
    timed(matcher, text, lambda seconds: matcher.search(text, timeout=seconds))
except ExpressionError:
    print(time.process_time() - begin)
"""


def test_the_time_of_a_regular_expression_is_cpu_time() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW_SEARCH], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        assert float(process.stdout.readline()) > 0.9


def solutions_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of solutions of each call of the matcher; a batch has 20 at the most."""
    sizes: list[int] = []
    match = Matcher.match

    def counted(*arguments: Any) -> Solutions:
        found = match(*arguments)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(Matcher, "match", counted)
    monkeypatch.setattr(bounds, "SOLUTIONS_TOGETHER_MAX", 20)
    return sizes


@pytest.mark.parametrize("steps", ["SEQ(A)", "SEQ(A ; B)", "SEQ(A & B)", "SEQ(ALL(A, B))"])
def test_a_batch_of_events_with_many_solutions_is_matched_in_parts(
    steps: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = QUERY.replace("SEQ(A)", steps).replace("} }", "} DEFINE GPM B ON S { ?x :e ?d } }")
    text = text.replace("?d FROM", "?x FROM") % "?a :e ?b . ?c :e ?c2"
    stream, letters = tmp_path / "s.nq", tmp_path / "letters.ndjson"
    stream.write_text("".join(event(number, edges(5 if number == 4 else 3)) for number in range(9)))

    def rows() -> tuple[list[str], str]:
        query = spaseq.parse(text.replace("1 HOURS", "2 SECONDS"), "q")
        found = spaseq.run(query, {"S": stream}, dead_letter=letters, max_solutions=10, batch_events=1000)
        return sorted(map(str, found)), letters.read_text()

    whole = rows()
    assert whole[0] and whole[1].count("(--max-solutions)") == 1
    sizes = solutions_at_once(monkeypatch)
    assert rows() == whole
    assert sizes and max(sizes) <= 20


def test_events_of_one_time_that_belong_together_are_matched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    text = QUERY.replace("SEQ(A)", "SEQ(A & B)").replace("} }", "} DEFINE GPM B ON S { ?x :e ?d } }")
    stream = "".join(event(number, edges(3)).replace(STAMP % number, STAMP % 1) for number in range(6))

    def rows() -> list[str]:
        found: list[spaseq.Row] = []
        with spaseq.Engine() as engine:
            engine.register(spaseq.parse(text % "?a :e ?b . ?c :e ?c2", "q"), found.append)
            engine.push_batch("S", stream)
        return sorted(map(str, found))

    whole = rows()
    sizes = solutions_at_once(monkeypatch)
    assert rows() == whole and whole
    assert max(sizes) == 6 * 9


TESTED = """PREFIX : <http://x/>
SELECT ?a ?x FROM STREAM S <http://x/s> WITHIN 1 HOURS SLIDING
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?a :begin ?n }
  DEFINE GPM B ON S { ?x :end ?m FILTER(%s EXISTS { ?p :e ?q . ?r :e ?s . ?t :e ?u FILTER(?n != ?m) }) } }"""


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("negation", ["", "NOT"])
def test_exists_in_the_condition_of_a_step_is_counted(
    negation: str, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "_ROWS_MAX", 100)
    begin, end = [("a", "begin", "n")], [("x", "end", "m")]
    events = [begin, [("a2", "begin", "n")], end + edges(10), end + edges(2), end]
    stream, letters = tmp_path / "s.nq", tmp_path / "letters.ndjson"
    stream.write_text("".join(event(number, triples) for number, triples in enumerate(events)))
    query = spaseq.parse(TESTED % negation, "q")
    found = list(spaseq.run(query, {"S": stream}, dead_letter=letters, max_solutions=100, batch_events=batch))
    assert len(found) == 2
    (letter,) = [json.loads(line) for line in letters.read_text().splitlines()]
    assert letter["reason"] == (
        "pattern B of query q has more than 100 solutions (--max-solutions) in the event <http://x/g2>"
    )


LOOKED_UP = """PREFIX : <http://x/>
SELECT ?a FROM STREAM S <http://x/s> FROM NAMED <http://x/kb> WITHIN 1 HOURS SLIDING
WHERE { SEQ(A) DEFINE GPM A ON S { ?a :e ?b
  %s } }"""
LOOKS = {
    "joined": "GRAPH <http://x/kb> { ?b :in ?c } GRAPH <http://x/kb> { ?b :in ?d }",
    "in EXISTS": "FILTER EXISTS { GRAPH <http://x/kb> { ?b :in ?c . ?b :in ?d FILTER(?c != ?b) } }",
    "solved in EXISTS": """FILTER EXISTS {
      GRAPH <http://x/kb> { ?b :in ?c . ?b :in ?d BIND(?b AS ?z) FILTER(?z != ?b || ?c = ?d) } }""",
}


@pytest.mark.parametrize(
    ("look", "prepared"), [*((look, False) for look in LOOKS), ("joined", True), ("in EXISTS", True)]
)
def test_rows_from_a_knowledge_base_are_counted_for_the_event_that_they_are_for(
    look: str, prepared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "_ROWS_MAX", 100)
    known = [f"<http://x/b0> <http://x/in> <http://x/c{n}> ." for n in range(3)]
    known += [f"<http://x/b1> <http://x/in> <http://x/c{n}> ." for n in range(20)]
    base = tmp_path / "kb.nt"
    base.write_text("\n".join(known) + "\n")
    if prepared:
        build([str(base)], tmp_path / "kb.kb")
        base = tmp_path / "kb.kb"
    stream, letters = tmp_path / "s.nq", tmp_path / "letters.ndjson"
    heavy = [("a1", "e", "b1")]
    stream.write_text("".join(event(n, heavy if n == 5 else edges(1)) for n in range(30)))
    query = spaseq.parse(LOOKED_UP % LOOKS[look], "q")
    found = list(
        spaseq.run(query, {"S": stream}, {"http://x/kb": base}, dead_letter=letters, max_solutions=100, optimise=False)
    )
    reported = [json.loads(line)["source"] for line in letters.read_text().splitlines()]
    assert reported == ["http://x/g5"]
    assert len(set(map(str, found))) == 29


@pytest.mark.parametrize("static", [True, False])
def test_stage_one_of_a_distributed_job_matches_a_batch_in_parts(static: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of([spaseq.parse(QUERY % PRODUCT, "q")], ["S"], 2, 0, static)
    job = replace(job, options=replace(job.options, max_solutions=10))
    sizes = solutions_at_once(monkeypatch)
    text = "".join(event(number, edges(4 if number == 1 else 3)) for number in range(9))
    found = run_stages(job, [{"S": [[InputText(text.encode())]]}])
    assert len(found.rows) == 8 * 9 and [letter.source for letter in found.letters] == ["http://x/g1"]
    assert max(sizes) <= 20


@pytest.mark.parametrize("static", [True, False])
def test_both_stages_of_a_distributed_job_keep_to_the_bounds(static: bool) -> None:
    query = spaseq.parse(QUERY % PRODUCT, "q")
    job = job_of([query], ["S"], 2, 0, static)
    job = replace(job, options=replace(job.options, max_solutions=100))
    text = "".join(event(number, edges(40 if number == 1 else 2)) for number in range(3))
    found = run_stages(job, [{"S": [[InputText(text.encode())]]}])
    assert len(found.rows) == 8
    assert [(letter.stream, letter.source, letter.kind) for letter in found.letters] == [
        ("S", "http://x/g1", "over a bound")
    ]


@pytest.mark.parametrize("condition", ["?b = ?d", "!(?b != ?d)", "?d = ?b && ?a != ?b"])
def test_an_equality_of_two_parts_is_by_value(condition: str) -> None:
    forms = [
        ("1", "integer"),
        ("1.0", "decimal"),
        ("0.1", "decimal"),
        ("0.1", "float"),
        ("0.1", "double"),
        ("1", "boolean"),
        ("true", "boolean"),
        ("2000-01-01T00:00:00Z", "dateTime"),
        ("2000-01-01T01:00:00+01:00", "dateTime"),
        ("NaN", "double"),
        ("x", "unknown"),
        ("9007199254740993", "integer"),
        ("9007199254740992", "double"),
    ]
    terms: list[Term] = [IRI("http://x/i"), Literal("a"), *(Literal(lexical, XSD + kind) for lexical, kind in forms)]
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    ids = as_ids([dictionary.intern(term) for term in terms])
    first, second = (dictionary.pin(IRI(f"http://x/{name}")) for name in "ef")
    predicates = np.repeat(as_ids([first, second]), len(ids))
    batch = EventBatch(
        as_ids([0]), as_ids([0]), ["g"], as_ids([0, len(predicates)]), predicates, predicates, np.tile(ids, 2)
    )
    group = parse_group(f"{{ ?a <http://x/e> ?b . ?c <http://x/f> ?d FILTER({condition}) }}", {}, None)
    found = compile_pattern(group.pattern, dictionary, evaluator).match(batch)
    pairs = set(zip(found.columns["b"].tolist(), found.columns["d"].tolist(), strict=True))
    columns = {"b": np.repeat(ids, len(ids)), "d": np.tile(ids, len(ids))}
    equal = evaluator.holds(parse_expression("?b = ?d", {}, None), columns, len(ids) ** 2)
    assert pairs == set(zip(columns["b"][equal].tolist(), columns["d"][equal].tolist(), strict=True))
