"""Engines that stop and go on elsewhere: `Engine.snapshot` and `Engine.restore`."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import spaseq
from benchmarks.growth_queries import STREAM, event, push_all, two_steps
from kb.prepared_build import build
from sparql_gpm.reading import event_builder
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.engine import saved_engine
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from tests import pairs
from tests.conformance.times import to_iso
from tests.pairs import EVALUATORS, Tally, compare
from tests.strategies.stream import Arrived

ROOT = Path(__file__).parents[2]
FEW = 2
PAIR = [event(1, "low", 1), event(1, "high", 2)]


def run_restored(
    query: Query,
    pieces: Sequence[Sequence[Arrived]],
    evaluator: str,
    compiled: bool,
    reader: Query | None = None,
    later: bool = False,
    few: int | None = None,
    built: object = None,
) -> list[Row]:
    """The rows of one query over events pushed one by one, then those of the query that reads its stream.

    The engine is given up for another one after most of the pieces.
    """
    found: dict[str, list[Row]] = {query.name: [], "reader": []}
    functions = {name: rows.append for name, rows in found.items() if name == query.name or reader is not None}
    iris, dice = {stream.name: stream.iri for stream in query.streams}, Random(len(pieces))
    engine = spaseq.Engine(evaluator=evaluator, compiled=None if later else compiled)
    if reader is not None:
        engine.register(reader, functions["reader"])
    engine.register(query, functions[query.name])
    for piece in pieces:
        for name, some in groupby(sorted(piece, key=itemgetter(0)), key=itemgetter(0)):
            for _, time, graph_name, triples in some if name in iris else ():
                engine.push(iris[name], triples, to_iso(time), graph_name)
        if dice.random() < 0.7:
            engine = spaseq.Engine.restore(engine.snapshot(), on_match=functions)
    engine.close()
    return found[query.name] + found["reader"]


def test_an_engine_that_goes_on_from_its_snapshot_finds_what_the_reference_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "run_engine", run_restored)
    tallies = {name: Tally() for name in EVALUATORS}
    assert compare(tallies, FEW, 27, 0) is None
    assert {tally.pairs for tally in tallies.values()} == {FEW}
    assert all(tally.matched for tally in tallies.values()), tallies


FIRST_PROCESS = """
import sys, spaseq
engine = spaseq.Engine(max_delay_ns=10**9)
engine.register(spaseq.parse(open(sys.argv[1]).read(), "bnodes"))
engine.push_batch("S", open(sys.argv[2], "rb").read(), "trig")
engine.push("S", "[] <http://ex.org/low> 1 .", 3)
sys.stdout.buffer.write(engine.snapshot())
"""
"""It reads events with blank nodes, two of which wait, and ends without closing the engine."""
BLANK = """PREFIX : <http://ex.org/> SELECT ?x ?v WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ(A : B) DEFINE GPM A ON S { ?x :low ?v } DEFINE GPM B ON S { ?x :low ?v } }"""
GRAPHS = """@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:e1 prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime . :e1 { _:x :low 1 }
:e2 prov:generatedAtTime "1970-01-01T00:00:02Z"^^xsd:dateTime . :e2 { :h :low 1 }
"""


def test_another_process_goes_on_and_takes_no_blank_node_of_one_for_that_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "query.rq").write_text(BLANK)
    (tmp_path / "events.trig").write_text(GRAPHS)
    arguments = [sys.executable, "-c", FIRST_PROCESS, str(tmp_path / "query.rq"), str(tmp_path / "events.trig")]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, check=True)
    event_builder._scopes, found = count(), list[Row]()
    engine = spaseq.Engine.restore(done.stdout, on_match=found.append)
    (registered,) = engine.registrations
    assert (registered.name, registered.matches, engine.statistics.events) == ("bnodes", 0, 3)
    engine.push_batch("S", GRAPHS.replace(":e", ":f").replace("00:00:0", "00:00:1"), "trig")
    engine.push("S", "[] <http://ex.org/low> 1 .", 13)
    engine.push("S", "<http://ex.org/h> <http://ex.org/low> 1 .", 14)
    engine.close()
    shown = [(row["x"], tuple(names for _, names in row.events)) for row in found]
    names = [f"http://ex.org/{name}" for name in ("e2", "f2")] + ["urn:spaseq:event:S:2"]
    ways = [((names[i],), (names[j],)) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert Counter(shown) == Counter((IRI("http://ex.org/h"), way) for way in ways)


def test_rows_that_wait_for_their_function_and_counters_go_on() -> None:
    engine, found = spaseq.Engine(), list[Row]()

    def failing(row: Row) -> None:
        raise ZeroDivisionError

    engine.register(spaseq.parse(two_steps(1), "q"), failing, max_runs=7)
    engine.register(spaseq.parse(two_steps(1), "silent"))
    engine.push(STREAM, [*PAIR[0], *event(1, "low", 0)], 0)
    with pytest.raises(ZeroDivisionError):
        engine.push(STREAM, PAIR[1], 1)
    other = spaseq.Engine.restore(engine.snapshot(), on_match={"q": found.append})
    assert [each.matches for each in other.registrations] == [2, 2] and other.statistics.matches == 4
    other.push(STREAM, event(9, "low", 1), 2)
    assert [row["w"] for row in found] == [Literal("2", XSD + "integer")]
    assert spaseq.Engine.restore(other.snapshot()).registrations[0].max_runs == 7


def _snapshot() -> bytes:
    engine = spaseq.Engine()
    engine.register(spaseq.parse(two_steps(1), "q"))
    push_all(engine, PAIR, 0)
    return engine.snapshot()


def test_a_group_of_a_window_that_has_ended_is_reported_after_a_restore_no_later_than_without() -> None:
    """The match waits for the end of its window, of which later matches may be counted until a later time has come."""
    query = spaseq.parse(
        f"""PREFIX : <http://ex.org/> SELECT OVER MATCHES (COUNT(*) AS ?n) WITHIN 6 EVENTS EVERY 2 EVENTS
        FROM STREAM S <{STREAM}> WHERE {{ SEQ(A : B!)
        DEFINE GPM A ON S {{ ?a a :A }} DEFINE GPM B ON S {{ ?b a :B }} }}"""
    )
    found: list[list[Row]] = [[], []]
    for restored, rows in zip((False, True), found, strict=True):
        engine = spaseq.Engine(max_delay_ns=2_000_000_000)
        engine.register(query, rows.append)
        for second, kind in enumerate("BABBB"):
            engine.push(STREAM, f"[] a <http://ex.org/{kind}> .", f"2026-01-01T00:00:0{second}Z")
        if restored:
            engine = spaseq.Engine.restore(engine.snapshot(), on_match=rows.append)
        engine.advance(STREAM, "2026-01-01T01:00:00Z")
    assert len(found[0]) == 1 and found[0] == found[1]


@pytest.mark.parametrize("foreign", [b"", b"something else", "text", None, 3])
def test_what_is_no_snapshot_is_refused(foreign: Any) -> None:
    with pytest.raises(spaseq.InputError, match=r"no snapshot of an engine|is bytes, not (str|NoneType|int)"):
        spaseq.Engine.restore(foreign)


def test_a_snapshot_of_another_version_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_engine, "VERSION", 99)
    other = _snapshot()
    monkeypatch.undo()
    with pytest.raises(spaseq.InputError, match="is of version 99; this SPAseq reads versions 1 and 2") as caught:
        spaseq.Engine.restore(other)
    assert "restore it with the SPAseq that made it" in str(caught.value.hint)


def test_options_and_functions_that_do_not_fit_are_refused() -> None:
    whole = _snapshot()
    with pytest.raises(spaseq.InputError, match="the option evaluator is 'auto' in the snapshot, not 'nfa'"):
        spaseq.Engine.restore(whole, evaluator="nfa")
    with pytest.raises(spaseq.InputError, match="on_match is that of a query 'p'"):
        spaseq.Engine.restore(whole, on_match={"p": print})
    with pytest.raises(spaseq.InputError, match="on_match is a function of a row, not int"):
        spaseq.Engine.restore(whole, on_match={"q": 3})  # type: ignore[dict-item]
    assert spaseq.Engine.restore(whole, max_delay_ns=5)._options.max_delay_ns == 5


def test_another_knowledge_base_that_proves_other_plans_is_refused(tmp_path: Path) -> None:
    text = """PREFIX : <http://ex.org/> SELECT ?h ?o WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
    FROM NAMED <http://ex.org/kb> WHERE { SEQ(A ; B)
      DEFINE GPM A ON S { ?h :low ?v OPTIONAL { GRAPH <http://ex.org/kb> { ?h :owner ?o } } }
      DEFINE GPM B ON S { ?h :high ?w } }"""
    single, double = tmp_path / "single.ttl", tmp_path / "double.ttl"
    single.write_text("<http://ex.org/h1> <http://ex.org/owner> 1 . <http://ex.org/h2> <http://ex.org/owner> 2 .")
    double.write_text("<http://ex.org/h1> <http://ex.org/owner> 1, 2 .")
    engine, found = spaseq.Engine({"http://ex.org/kb": single}), list[Row]()
    engine.register(spaseq.parse(text, "q"))
    engine.push(STREAM, PAIR[0], 0)
    whole = engine.snapshot()
    with pytest.raises(spaseq.InputError, match="the knowledge bases of query 'q' are other ones"):
        spaseq.Engine.restore(whole, {"http://ex.org/kb": double})
    with pytest.raises(spaseq.InputError, match="was not supplied"):
        spaseq.Engine.restore(whole)
    other = spaseq.Engine.restore(whole, {"http://ex.org/kb": single}, found.append)
    other.push(STREAM, PAIR[1], 1)
    assert [row["o"].lexical for row in found] == ["1"]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_run_that_holds_a_blank_node_of_a_knowledge_base_goes_on(tmp_path: Path, prepared: bool) -> None:
    source = tmp_path / "kb.ttl"
    source.write_text("@prefix : <http://x/> . :s1 :in _:hall . :s2 :in _:hall . :s3 :in [ ] .")
    if prepared:
        build([str(source)], tmp_path / "kb.kb")
        source = tmp_path / "kb.kb"
    knowledge = "GRAPH <http://x/kb> { ?s :in ?room } ?s :reads"
    query = (
        "PREFIX : <http://x/> SELECT ?room WITHIN 1 HOUR FROM STREAM S <urn:s> { SEQ(A ; B) "
        f"DEFINE GPM A ON S {{ {knowledge} ?v }} DEFINE GPM B ON S {{ {knowledge.replace('?s', '?t')} ?w }} }}"
    )
    rows = list[Row]()
    engine = spaseq.Engine(kb={"http://x/kb": str(source)})
    engine.register(spaseq.parse(query), rows.append)
    readings = [(IRI(f"http://x/s{n}"), IRI("http://x/reads"), Literal("1", XSD + "integer")) for n in (1, 3, 2)]
    for at, reading in enumerate(readings):
        engine.push("urn:s", [reading], f"2026-01-01T00:0{at}:00Z", f"urn:e{at}")
        engine = spaseq.Engine.restore(engine.snapshot(), on_match=rows.append, kb={"http://x/kb": str(source)})
    engine.close()
    assert [row.events for row in rows] == [(("A", ("urn:e0",)), ("B", ("urn:e2",)))]
