"""The funnel of a query: every count is that of the reference, whatever the evaluator and the cut into batches."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaseq
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import to_ntriples
from spaseq.algebra.build import build
from spaseq.cli import main
from spaseq.engine.funnels import funnel_of
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge, Setup
from spaseq.explain.funnel import Funnel
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.counted_operator import CountedOperator
from spaseq.runtime.embedded.network import Network
from tests.drawn import drawn
from tests.driving import as_batch, comparable, run_engine
from tests.reference import funnel as literal
from tests.reference.gpm import gpms, solve, solve_using
from tests.reference.shape import shape
from tests.reference.stream import Arrivals, Triples, merge
from tests.reference.whole import matches
from tests.reference.world import partitions, whole_world
from tests.strategies.knowledge import DB, knowing_queries, knowledge
from tests.strategies.query import queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, streams

EVALUATORS = ("auto", "nfa", "cea", "lazy", "tree")


def counted(
    query: Query, pieces: Sequence[Sequence[Arrived]], kb: Knowledge | None = None, **options: Any
) -> tuple[Funnel, CountedOperator, list[Row]]:
    """The funnel of a query over events that arrive in pieces, what counted it, and the rows."""
    dictionary, rows = Dictionary(), list[Row]()
    setup = Setup(kb or {}, RunOptions(**{"analyze": True, "compiled": False, **options}), dictionary)
    network, operator = Network(dictionary, 0), setup.operator(build(query))
    assert isinstance(operator, CountedOperator)
    network.add(operator, rows.extend)
    for piece in pieces:
        for name, iri in ((stream.name, stream.iri) for stream in query.streams):
            if some := [event for event in piece if event[0] == name]:
                network.push(iri, as_batch(some, dictionary))
        network.release_terms(always=True)
    network.finish()
    setup.bases.close()
    return funnel_of(operator.query, operator.automaton, operator.tally), operator, rows


def without_times(funnel: Funnel) -> Funnel:
    return replace(funnel, seconds={})


def check_steps(
    query: Query, arrivals: Mapping[str, Arrivals], named: Mapping[str, Triples], operator: CountedOperator
) -> None:
    """Compares every count of the steps with that of the reference."""
    events = merge({stream.name: arrivals.get(stream.name, ()) for stream in query.streams})
    given = None if query.using is None else solve_using(query.using, events, named)
    patterns = gpms(query, shape(query.sequence))
    for pattern, tally in zip(operator.query.patterns, operator.tally.steps, strict=False):
        gpm = patterns[pattern.name]
        partitions = {
            event: {tuple(dict(s)[v] for v in query.partition) for s in found if {*query.partition} <= dict(s).keys()}
            for event, found in (given or {}).items()
        }
        among = tuple(event for event in events if given is None or partitions[event])
        looked_at = literal.solving(gpm, among, named)
        own = [event for event in events if event.stream in gpm.streams]
        assert tally.seen == len(own)
        assert tally.skipped == tally.seen - len(looked_at)
        assert tally.left == literal.left_over(tally.stages, looked_at)
        assert tally.alone == literal.alone(tally.stages, literal.solving(gpm, events, named))
        pairs = [
            (dict(solution), values)
            for event, found in solve(gpm, among, named).items()
            for solution in found
            for values in (partitions[event] if given is not None else [()])
        ]
        assert tally.solutions == sum(
            all(found.get(name, value) == value for name, value in zip(query.partition, values, strict=False))
            for found, values in pairs
        )


@settings(max_examples=drawn(10))
@given(st.data())
def test_counts_of_the_steps_are_those_of_the_reference(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    arrivals = data.draw(streams())
    arrivals = {stream.name: arrivals[stream.name] for stream in query.streams}
    arrived = interleaved(arrivals)
    funnel, operator, rows = counted(query, [arrived])
    assert Counter(map(comparable, rows)) == Counter(map(comparable, run_engine(query, [arrived])))
    check_steps(query, arrivals, {}, operator)
    assert funnel.rows == len(rows)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert without_times(counted(query, pieces)[0]) == without_times(funnel)


@settings(max_examples=drawn(12))
@given(st.data())
def test_partial_matches_are_those_of_the_reference(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    arrivals = data.draw(streams())
    arrivals = {stream.name: arrivals[stream.name] for stream in query.streams}
    arrived = interleaved(arrivals)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    funnel, operator, _ = counted(query, pieces, evaluator="nfa")
    if any(edge.took is None for edge in funnel.edges):
        return
    events = merge({stream.name: arrivals[stream.name] for stream in query.streams})
    parts = list(partitions(whole_world(query, events, {})))
    expected = sum((literal.edges_taken(part) for part in parts), Counter[tuple[str, str]]())
    took = Counter[tuple[str, str]]()
    for edge in funnel.edges:
        took[edge.source, edge.target] += edge.took or 0
    assert +took == expected
    symbols = [position.symbols for position in operator.automaton.positions]
    if len(set(symbols)) == len(symbols):
        came = Counter({"start": 1}) + sum((Counter({to: n}) for (_, to), n in expected.items()), Counter[str]())
        assert all(edge.waited == came[edge.source] for edge in funnel.edges)
    if funnel.matches is not None:
        assert funnel.matches == sum(len(matches(part)) for part in parts)
        assert funnel.removed is None or funnel.matches - sum(funnel.removed.values()) == funnel.rows


@settings(max_examples=drawn(3))
@given(st.data())
def test_every_evaluator_counts_the_same_at_the_steps(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    arrived = [event for event in interleaved(data.draw(streams())) if event[0] in {s.name for s in query.streams}]
    known = counted(query, [arrived])[0]
    for evaluator in EVALUATORS:
        try:
            assert counted(query, [arrived], evaluator=evaluator)[0].steps == known.steps
        except spaseq.SPAseqError as error:
            assert "cannot" in error.message, error.message  # it does not cover the query


@settings(max_examples=drawn(5))
@given(data=st.data())
def test_joins_with_a_knowledge_base_are_counted_as_by_the_reference(data: st.DataObject, folder: Path) -> None:
    query = parse(data.draw(knowing_queries()), "q")
    arrivals = {stream.name: events for stream in query.streams for events in [data.draw(streams())[stream.name]]}
    triples = data.draw(knowledge())
    path = folder / "kb.nt"
    path.write_text("".join(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in sorted(triples, key=repr)))
    arrived = interleaved(arrivals)
    funnel, operator, _ = counted(query, [arrived], {DB: str(path)}, optimise=False)
    check_steps(query, arrivals, {DB: triples}, operator)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert without_times(counted(query, pieces, {DB: str(path)}, optimise=False)[0]) == without_times(funnel)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("funnel")


QUERY = """PREFIX : <http://x/>
SELECT ?a ?b WITHIN 10 SECONDS SLIDING
FROM STREAM S <http://x/s>
WHERE {
  SEQ(A ; B)
  DEFINE GPM A ON S {
    ?a a :Meter ;
       :value ?v .
    FILTER (?v > 3)
  }
  DEFINE GPM B ON S { ?b :next/:link* ?v MINUS { ?b :off true } OPTIONAL { ?b :note ?n } }
}
"""
EVENTS = """@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:e1 prov:generatedAtTime 1 . :e1 { :m a :Meter ; :value 2 }
:e2 prov:generatedAtTime 2 . :e2 { :m a :Meter ; :value 5 }
:e3 prov:generatedAtTime 3 . :e3 { :n a :Meter . :m :value 7 }
:e4 prov:generatedAtTime 4 . :e4 { :k :next 5 }
:e5 prov:generatedAtTime 5 . :e5 { :k :next 5 ; :off true }
"""
TABLE = """\
funnel of 'watch'                                                            alone        left     CPU s
  A: events seen                                                                             5
    ?a a :Meter                                              line 7              3           3
    ?a :value ?v                                             line 8              3           2
    FILTER (?v > 3)                                          line 9                          1
    solutions                                                                                1
  B: events seen                                                                             5
    ?b (<http://x/next>/(<http://x/link>)*) ?v               line 11                         2
    MINUS { ?b :off "true"^^<http://www.w3.org/2001/XMLSche… line 11                         1
    solutions                                                                                1
  start → A: waited, took                                                        1           1
  A → B: waited, took                                                            1           1
  matches                                                                                    1
  rows                                                                                       1
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "watch.rq").write_text(QUERY)
    (tmp_path / "events.trig").write_text(EVENTS)
    return [str(tmp_path / "watch.rq"), f"--stream=S={tmp_path / 'events.trig'}", f"--output={tmp_path / 'rows'}"]


def test_the_table_names_each_part_of_each_step(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", *files, "--analyze"])
    shown = re.sub(r" +\d+\.\d{3}$", "", capsys.readouterr().err, flags=re.MULTILINE)
    assert (end.value.code, shown) == (0, TABLE)


def test_the_json_has_the_same_counts(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", *files, f"--analyze-output={tmp_path / 'funnel.json'}"])
    assert capsys.readouterr().err == ""
    found = json.loads((tmp_path / "funnel.json").read_text())
    assert list(found) == ["query", "steps", "edges", "matches", "removed", "rows", "seconds"]
    assert found["steps"][0] == {
        "step": "A",
        "seen": 5,
        "patterns": [
            {"text": "?a a :Meter", "line": 7, "alone": 3, "left": 3},
            {"text": "?a :value ?v", "line": 8, "alone": 3, "left": 2},
        ],
        "filters": [{"text": "FILTER (?v > 3)", "line": 9, "left": 1}],
        "kbs": [],
        "skipped": 0,
        "solutions": 1,
    }
    assert found["steps"][1]["patterns"][0]["alone"] is None
    assert [(edge["from"], edge["to"]) for edge in found["edges"]] == [("start", "A"), ("A", "B")]
    assert [(edge["waited"], edge["took"], edge["lost"]) for edge in found["edges"]] == [(1, 1, {}), (1, 1, {})]
    assert (found["matches"], found["removed"]) == (1, {})
    assert (found["rows"], list(found["seconds"])) == (1, ["steps", "sequence"])


def test_python_programs_have_it_as_a_value(files: list[str], tmp_path: Path) -> None:
    query, streams = parse(QUERY, "watch"), {"S": str(tmp_path / "events.trig")}
    result = spaseq.run(query, streams, analyze=True)
    assert len(list(result)) == 1
    assert isinstance(result.funnel, Funnel)
    assert [step.solutions for step in result.funnel.steps] == [1, 1]
    both = spaseq.run([query, query], streams, analyze=True)
    assert len(list(both)) == 2
    assert [funnel.rows for funnel in both.funnel] == [1, 1]
    assert spaseq.run(query, streams).funnel is None


def test_matches_that_distinct_and_limit_remove_are_counted_by_cause(tmp_path: Path) -> None:
    """Two pairs of meters and values in one event: four matches, of which two bind the same."""
    text = """PREFIX : <http://x/> SELECT DISTINCT ?v WITHIN 9 SECONDS FROM STREAM S <http://x/s>
    { SEQ(A ; B) DEFINE GPM A ON S { ?a :on true } DEFINE GPM B ON S { ?b :value ?v } }"""
    graph = ":k :value 1 . :m :value 1 . :n :value 2 . :o :value 3"
    (tmp_path / "e.trig").write_text(
        "@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> ."
        f":e1 prov:generatedAtTime 1 . :e1 {{ :k :on true }} :e2 prov:generatedAtTime 2 . :e2 {{ {graph} }}"
    )

    def removed(query: str) -> tuple[int | None, Mapping[str, int] | None, int]:
        result = spaseq.run(parse(query, "q"), {"S": str(tmp_path / "e.trig")}, analyze=True, evaluator="nfa")
        rows = len(list(result))
        assert isinstance(result.funnel, Funnel)
        return result.funnel.matches, result.funnel.removed, rows

    assert removed(text) == (4, {"distinct": 1}, 3)
    assert removed(text + " LIMIT 2") == (4, {"distinct": 1, "limit-rows": 1}, 2)
    assert removed(text.replace("SELECT", "SELECT LAST")) == (None, None, 3)


@pytest.mark.parametrize(
    ("format", "shown"),
    [
        ("dot", 's0 -> s1 [label="A\\n1 waited, 1 took", penwidth=8.0]'),
        ("mermaid", "linkStyle 0 stroke-width:8.0px"),
        ("svg", 'stroke-width="8.0"'),
    ],
)
def test_the_counts_are_drawn_on_the_automaton(
    files: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], format: str, shown: str
) -> None:
    with pytest.raises(SystemExit):
        main(["run", *files, f"--analyze-output={tmp_path / 'funnel.json'}"])
    with pytest.raises(SystemExit) as end:
        main(["explain", files[0], f"--funnel={tmp_path / 'funnel.json'}", f"--format={format}"])
    drawn = capsysbinary.readouterr().out.decode()
    assert (end.value.code, shown in drawn, "matches: 1" in drawn) == (0, True, True), drawn


@pytest.mark.parametrize(
    ("text", "format", "reason"),
    [
        ("{", "svg", "line 1 is no funnel"),
        ("[]", "svg", "line 1 is no funnel"),
        ('{"query": "other"}', "svg", "no funnel of 'watch', but of other"),
        ('{"query": "watch"}', "svg", "lacks what a funnel has"),
        ('{"query": "watch", "steps": [], "edges": [], "matches": null, "rows": 0}', "dot", "has no step"),
        ('{"query": "watch", "steps": [], "edges": [], "matches": null, "rows": -1}', "dot", "-1 is no count"),
        (
            '{"query": "watch", "steps": [], "edges": [{"from": "B", "to": "A", "waited": 1, "took": 1}], "matches": 1,'
            ' "rows": 1}',
            "dot",
            "the query has an edge start → A, and the funnel B → A",
        ),
        ("", "text", "--funnel does not go with --format text"),
    ],
)
def test_what_is_no_funnel_of_the_query_is_an_error(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, format: str, reason: str
) -> None:
    (tmp_path / "funnel.json").write_text(text)
    with pytest.raises(SystemExit) as end:
        main(["explain", files[0], f"--funnel={tmp_path / 'funnel.json'}", f"--format={format}"])
    assert (end.value.code, reason in capsys.readouterr().err) == (2, True)
