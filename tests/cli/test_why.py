"""`spaseq why` on the command line."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path

import pyoxigraph
import pytest
from click.testing import CliRunner, Result
from pyjelly.integrations.generic.parse import parse_jelly_flat

import spaseq
from spaseq.cli import main
from spaseq.errors import InputError

QUERY = """PREFIX : <http://x/>
SELECT ?s ?p ?q WITHIN 1 MINUTE SLIDING
FROM STREAM S <http://x/s>
WHERE {
  SEQ(A ; C! ; B)
  DEFINE GPM A ON S { ?s :price ?p . GRAPH <http://x/kb> { ?s :of ?c } FILTER(?p > 10) }
  DEFINE GPM C ON S { ?s :stop true }
  DEFINE GPM B ON S { ?s :price ?q FILTER(?q > ?p) }
}
"""
STREAM = """@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:e1 prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime . :e1 { :a :price 25 ; :other 3 }
:e2 prov:generatedAtTime "2026-01-01T00:00:10Z"^^xsd:dateTime . :e2 { :a :price 30 }
:e3 prov:generatedAtTime "2026-01-01T00:00:20Z"^^xsd:dateTime . :e3 { :a :stop true }
:e4 prov:generatedAtTime "2026-01-01T00:00:30Z"^^xsd:dateTime . :e4 { :a :price 40 }
"""
TEXT = """match 1 of 'query', from 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z
  A is <http://x/e1>
    <http://x/a> <http://x/price> "25"^^<http://www.w3.org/2001/XMLSchema#integer> .
    of knowledge base <http://x/kb>:
      <http://x/a> <http://x/of> <http://x/c> .
    binds ?s = <http://x/a>, ?p = "25"^^<http://www.w3.org/2001/XMLSchema#integer>, ?c = <http://x/c>
    FILTER(?p > 10) holds with ?p = "25"^^<http://www.w3.org/2001/XMLSchema#integer>
  B is <http://x/e2>
    <http://x/a> <http://x/price> "30"^^<http://www.w3.org/2001/XMLSchema#integer> .
    binds ?s = <http://x/a>, ?q = "30"^^<http://www.w3.org/2001/XMLSchema#integer>
    FILTER(?q > ?p) holds with ?q = "30"^^<http://www.w3.org/2001/XMLSchema#integer>, \
?p = "25"^^<http://www.w3.org/2001/XMLSchema#integer>
  no C from 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "query.rq").write_text(QUERY)
    (tmp_path / "events.trig").write_text(STREAM)
    (tmp_path / "kb.ttl").write_text(
        "<http://x/a> <http://x/of> <http://x/c> . <http://x/b> <http://x/of> <http://x/d> ."
    )
    return tmp_path


def asked(folder: Path, *options: str) -> Result:
    inputs = [f"--stream=S={folder / 'events.trig'}", f"--kb=http://x/kb={folder / 'kb.ttl'}"]
    return CliRunner().invoke(main, ["why", str(folder / "query.rq"), *inputs, *options])


def test_a_match_is_explained_as_text(folder: Path) -> None:
    done = asked(folder, "--match", "1")
    assert (done.exit_code, done.stdout) == (0, TEXT)


def test_a_match_is_explained_as_json(folder: Path) -> None:
    found = json.loads(asked(folder, "--match", "1", "--format", "json").stdout)
    assert list(found) == ["query", "match", "time", "start", "steps", "absent"]
    assert found["absent"] == [{"step": "C", "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:10Z"}]
    first, second = found["steps"]
    assert list(first) == ["step", "event", "triples", "kb", "bindings", "conditions"]
    assert first["kb"] == {"http://x/kb": ["<http://x/a> <http://x/of> <http://x/c> ."]}
    (condition,) = second["conditions"]
    assert condition["holds"] and list(condition["values"]) == ["q", "p"]


def test_a_row_that_is_not_there_is_bad_usage(folder: Path) -> None:
    done = asked(folder, "--match", "2")
    assert done.exit_code == 2
    assert "query 'query' has no row 2: it has 1" in done.stderr


def test_python_gives_the_same_as_a_value(folder: Path) -> None:
    query = spaseq.read_query(folder / "query.rq")
    streams, kb = {"S": folder / "events.trig"}, {"http://x/kb": folder / "kb.ttl"}
    found = spaseq.why(query, streams, 1, kb)
    assert str(found) == TEXT
    assert spaseq.why(query, streams, {"A": ["http://x/e1"], "B": ["http://x/e2"]}, kb) == found
    with pytest.raises(InputError, match="no row with these events"):
        spaseq.why(query, streams, {"A": ["http://x/e1"]}, kb)
    lines = re.findall(r"<li>(.*?)(?=<)", found.to_html())
    assert [html.unescape(line) for line in lines] == [line.strip() for line in TEXT.splitlines()]
    assert found.to_html().count("<ul>") == found.to_html().count("</ul>") == 5
    assert [step.event for step in found.steps] == ["http://x/e1", "http://x/e2"]
    with pytest.raises(InputError, match="no query is named 'other'"):
        spaseq.why(query, streams, 1, kb, name="other")


def test_a_graph_of_construct_is_explained_in_prov_o(folder: Path) -> None:
    (folder / "query.rq").write_text(QUERY.replace("SELECT ?s ?p ?q", "CONSTRUCT { ?s :rose ?q }"))
    done = asked(folder, "--match", "1", "--format", "trig")
    assert done.exit_code == 0, done.stderr
    found = list(pyoxigraph.parse(done.stdout.encode(), format=pyoxigraph.RdfFormat.TRIG))
    prov = "http://www.w3.org/ns/prov#"
    used = {str(quad.object) for quad in found if quad.predicate.value == f"{prov}used"}
    assert used == {"<http://x/e1>", "<http://x/e2>", "<http://x/kb>"}
    (generated,) = [quad for quad in found if quad.predicate.value == f"{prov}wasGeneratedBy"]
    derived = {str(q.object) for q in found if q.predicate.value == f"{prov}wasDerivedFrom"}
    assert derived == used and generated.object.value == f"{generated.subject.value}#match"
    triples = {str(quad.triple) for quad in found if str(quad.graph_name) == "<http://x/kb>"}
    assert triples == {"<http://x/a> <http://x/of> <http://x/c>"}


@pytest.mark.parametrize("name", ["trig", "nquads", "jelly"])
def test_a_run_writes_the_provenance_that_why_has(folder: Path, name: str) -> None:
    (folder / "query.rq").write_text(QUERY.replace("SELECT ?s ?p ?q", "CONSTRUCT { ?s :rose ?q . [] :of ?s }"))
    kb = "<http://x/kb>"
    explained = quads(asked(folder, "--match", "1", "--format", "trig").stdout_bytes, "trig")
    alone = quads(written(folder, name), name)
    found = quads(written(folder, name, "--provenance"), name)
    assert found[: len(alone)] == alone and alone
    assert set(found[len(alone) :]) == {quad for quad in explained if quad[3] == "" and quad[2] != kb}
    assert {quad[2] for quad in found if "wasDerivedFrom" in quad[1]} == {"<http://x/e1>", "<http://x/e2>"}


def run(folder: Path, *options: str) -> Result:
    inputs = [f"--stream=S={folder / 'events.trig'}", f"--kb=http://x/kb={folder / 'kb.ttl'}"]
    return CliRunner().invoke(main, ["run", str(folder / "query.rq"), *inputs, "--format", *options])


def written(folder: Path, *options: str) -> bytes:
    done = run(folder, *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout_bytes


def quads(data: bytes, name: str) -> list[tuple[str, ...]]:
    """The quads of an output, in order; the default graph is ""."""
    if name == "jelly":
        return [tuple(map(plain, quad)) for quad in parse_jelly_flat(io.BytesIO(data))]
    syntax = {"trig": pyoxigraph.RdfFormat.TRIG, "nquads": pyoxigraph.RdfFormat.N_QUADS}[name]
    return [tuple(map(plain, quad)) for quad in pyoxigraph.parse(data, syntax)]


def plain(term: object) -> str:
    return "" if str(term) in ("DEFAULT", "") else str(term)


@pytest.mark.parametrize(
    ("form", "name", "reason"),
    [
        ("SELECT ?s ?p ?q", "trig", "no query has one"),
        ("CONSTRUCT { ?s :rose ?q }", "ndjson", "cannot be written as ndjson"),
        ("CONSTRUCT OVER MATCHES { ?s :rises COUNT(*) }", "nquads", "is a group of matches"),
    ],
)
def test_provenance_that_cannot_be_written_is_refused(folder: Path, form: str, name: str, reason: str) -> None:
    grouped = "} GROUP BY ?s\n" if "OVER" in form else "}\n"
    (folder / "query.rq").write_text(QUERY.replace("SELECT ?s ?p ?q", form).removesuffix("}\n") + grouped)
    done = run(folder, name, "--provenance")
    assert done.exit_code == 2 and reason in done.stderr and "hint: " in done.stderr


def test_a_row_of_select_is_no_entity(folder: Path) -> None:
    done = asked(folder, "--match", "1", "--format", "trig")
    assert done.exit_code == 2 and "is no CONSTRUCT" in done.stderr


def test_the_iterations_of_an_outer_repetition_are_counted_not_those_inside(folder: Path) -> None:
    (folder / "query.rq").write_text(
        "PREFIX : <http://x/> SELECT ?t WITHIN 1 MINUTE SLIDING FROM STREAM S <http://x/s>\n"
        "WHERE { SEQ((A:{2} : C):{2}) DEFINE GPM A ON S { ?s :price ?p } DEFINE GPM C ON S { ?t :stop true } }"
    )
    found = spaseq.why_not(spaseq.read_query(folder / "query.rq"), {"S": folder / "events.trig"})
    lacking = [fault.detail for each in found.attempts for fault in each.faults if fault.cause == "iterations"]
    assert {"at_least": 2, "taken": 1} in lacking


def test_a_search_that_would_be_too_long_says_that_it_ended_early(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "query.rq").write_text(
        "PREFIX : <http://x/> SELECT ?s WITHIN 1 MINUTE SLIDING FROM STREAM S <http://x/s>\n"
        "WHERE { SEQ(A : B : C) DEFINE GPM A ON S { ?s :price ?p } DEFINE GPM B ON S { ?s :price ?q }\n"
        "DEFINE GPM C ON S { ?s :price ?r FILTER(?r > 1000 + ?q) } }"
    )
    query, streams = spaseq.read_query(folder / "query.rq"), {"S": folder / "events.trig"}
    whole = spaseq.why_not(query, streams)
    assert not whole.ended_early and "endedEarly" not in whole.to_dict()
    monkeypatch.setattr("spaseq.runtime.why.furthest.TRIES_MAX", 2)
    found = spaseq.why_not(query, streams)
    assert found.ended_early and found.to_dict()["endedEarly"] is True
    assert [attempt.events for attempt in found.attempts] == [whole.attempts[0].events]
    assert str(found).endswith("not all partial matches were looked at: bindings, events or a period make them fewer\n")
