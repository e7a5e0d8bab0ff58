"""Triple terms and base directions (RDF 1.2): from every syntax to every output, and in patterns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import spaseq
from sparql_gpm.canonical_labels import canonical_labels, with_labels
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.document_terms import parse_token, to_term, token_of
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm, blank_nodes, relabelled, to_ntriples
from sparql_gpm.well_formed import fault_of
from spaseq.cli import main
from spaseq.errors import RunError
from spaseq.outputs.jelly_frames import JellyFrames
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import read
from tests.sparql_gpm.test_rdf_io_round_trip import objects, triples, unscoped

REIFIES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
QUERY = f"""PREFIX : <http://ex.org/> SELECT ?t ?l ?who WITHIN 1 HOUR FROM STREAM S1 <http://ex.org/s1>
WHERE {{ SEQ(A ; B) DEFINE GPM A ON S1 {{ ?r <{REIFIES}> ?t ; :by ?who }} DEFINE GPM B ON S1 {{ ?x :label ?l }} }}
"""
TRIG = """VERSION "1.2"
PREFIX : <http://ex.org/>
PREFIX prov: <http://www.w3.org/ns/prov#>
<urn:e1> prov:generatedAtTime "2026-01-01T00:00:10Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:e1> { :s :p "x"@ar--rtl {| :by :bob |} . }
<urn:e2> prov:generatedAtTime "2026-01-01T00:00:20Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:e2> { :x :label "y"@he--rtl . << :s :p :o ~ :r >> :by :eve }
"""
ROW = {
    "t": {
        "type": "triple",
        "value": {
            "subject": {"type": "uri", "value": "http://ex.org/s"},
            "predicate": {"type": "uri", "value": "http://ex.org/p"},
            "object": {"type": "literal", "value": "x", "xml:lang": "ar", "its:dir": "rtl"},
        },
    },
    "l": {"type": "literal", "value": "y", "xml:lang": "he", "its:dir": "rtl"},
    "who": {"type": "uri", "value": "http://ex.org/bob"},
}
T = '<<( <http://ex.org/s> <http://ex.org/p> "x"@ar--rtl )>>'
L = '"y"@he--rtl'


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "s.trig").write_text(TRIG)
    return tmp_path


def bindings(folder: Path, name: str) -> Sequence[object]:
    lines = run("run", folder / "q.rq", "--stream", f"S1={folder / name}", "--format", "ndjson").splitlines()
    return [json.loads(line)["bindings"] for line in lines]


def test_annotations_reach_rows_in_every_syntax_and_order(files: Path) -> None:
    for name in ("s.nq", "t.trig", "u.nq.gz"):
        run("convert", files / "s.trig", "-o", files / name)
    run("sort", files / "t.trig", "-o", files / "v.nq")
    for name in ("s.trig", "s.nq", "t.trig", "u.nq.gz", "v.nq"):
        assert bindings(files, name) == [ROW], name
    first, second = TRIG.removeprefix('VERSION "1.2"\n').split("<urn:e2> prov", 1)
    (files / "log.trig").write_text(f'VERSION "1.2-messages"\n{first}MESSAGE\nVERSION "1.2"\n<urn:e2> prov{second}')
    assert bindings(files, "log.trig") == [ROW]
    (files / "units").mkdir()
    (files / "units" / "a.ttl").write_text(
        'PREFIX : <http://ex.org/>\nPREFIX prov: <http://www.w3.org/ns/prov#>\n@version "1.2" .\n'
        ':s :p "x"@ar--rtl {| :by :bob |} . [] prov:generatedAtTime 1 .'
    )
    (files / "units" / "b.jsonld").write_text(
        '{"@context": {"@vocab": "http://ex.org/"}, "http://www.w3.org/ns/prov#generatedAtTime": 2, '
        '"label": {"@value": "y", "@language": "he", "@direction": "rtl"}}'
    )
    assert bindings(files, "units") == [ROW]


def test_every_output_writes_them_so_that_they_can_be_read_again(files: Path) -> None:
    def written(how: str) -> str:
        return run("run", files / "q.rq", "--stream", f"S1={files / 's.trig'}", "--format", how)

    (row,) = csv.DictReader(io.StringIO(written("csv")))
    assert (row["t"], row["l"]) == (T, "y")
    assert T in written("table")
    quads = ox.parse(written("trig").encode(), ox.RdfFormat.TRIG)
    assert {T, L} <= {token_of(quad.object).decode() for quad in quads}
    run(
        "run",
        files / "q.rq",
        "--stream",
        f"S1={files / 's.trig'}",
        "--format",
        "parquet",
        "--output",
        files / "o.parquet",
    )
    table = pq.read_table(files / "o.parquet")
    assert (table["t"].to_pylist(), table["l"].to_pylist()) == ([T], [L])


@pytest.mark.parametrize("which", ["t", "l"])
def test_jelly_refuses_them_by_name(files: Path, which: str) -> None:
    (files / "c.rq").write_text(QUERY.replace("SELECT ?t ?l ?who", f"CONSTRUCT {{ :m :v ?{which} }}"))
    what = {"t": "triple terms", "l": "base directions"}[which]
    for arguments in (
        [
            "run",
            files / "c.rq",
            "--stream",
            f"S1={files / 's.trig'}",
            "--format",
            "jelly",
            "--output",
            files / "o.jelly",
        ],
        ["convert", files / "s.trig", "-o", files / "o.jelly"],
    ):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 1
        assert "(RDF 1.2) cannot be written as Jelly" in result.output
        assert what in result.output or arguments[0] == "convert"


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("?r ?p <<( ?x :p ?t )>>", '"x"@ar--rtl <http://ex.org/o>'),
        ("<< ?t :p ?l >> :by ?who", "<http://ex.org/s> <http://ex.org/s>"),
        ("?t :p ?l {| :by ?who |}", "<http://ex.org/s>"),
        ("?x :p ?l BIND(LANGDIR(?l) AS ?t)", '"rtl"'),
        ('?t :p "x"@ar--rtl', "<http://ex.org/s>"),
    ],
)
def test_patterns_take_them_apart(pattern: str, values: str) -> None:
    query = spaseq.parse(f"""PREFIX : <http://ex.org/> SELECT ?t WITHIN 1 HOUR FROM STREAM S1 <http://ex.org/s1>
        WHERE {{ SEQ(A) DEFINE GPM A ON S1 {{ {pattern} }} }}""")
    engine = spaseq.Engine()
    found: list[object] = []
    engine.register(query, on_match=lambda row: found.append(row["t"]))
    engine.push_batch("S1", TRIG, "trig")
    engine.close()
    assert " ".join(to_ntriples(term) for term in found) == values  # type: ignore[arg-type]


def test_pushed_graphs_of_pyoxigraph_have_them() -> None:
    found: list[object] = []
    engine = spaseq.Engine()
    engine.register(spaseq.parse(QUERY), on_match=lambda row: found.append(row["t"]))
    (triple, *_) = ox.parse(f"<urn:r> <{REIFIES}> {T} .".encode(), ox.RdfFormat.N_TRIPLES)
    by = ox.Triple(triple.subject, ox.NamedNode("http://ex.org/by"), ox.NamedNode("http://ex.org/bob"))
    engine.push("S1", [triple.triple, by], 1)
    engine.push("S1", '<urn:x> <http://ex.org/label> "y"@he--rtl .', 2)
    engine.close()
    assert found == [term_of(T.encode())]


@settings(max_examples=drawn(25), deadline=None)
@given(st.lists(triples, max_size=6))
def test_jelly_refuses_the_first_term_that_it_does_not_have(graph: list[tuple[Term, Term, Term]]) -> None:
    quads = [ox.Quad(*(term.to_pyoxigraph() for term in triple), ox.NamedNode("urn:g")) for triple in graph]
    refused = [
        "triple terms" if isinstance(target, TripleTerm) else "base directions"
        for _, _, target in graph
        if isinstance(target, TripleTerm) or (isinstance(target, Literal) and target.direction)
    ]
    try:
        written = JellyFrames().frame(quads)
    except RunError as error:
        assert str(error).startswith(f"{refused[0]} (RDF 1.2) cannot be written as Jelly")
        return
    assert refused == []
    events, reports = read(written, "jelly", ReadOptions(arrival_time=lambda: 0))
    assert reports == []
    texts = tuple(" ".join(map(to_ntriples, triple)) for triple in dict.fromkeys(graph))
    assert [event.triples for event in unscoped(events)] == [texts] * bool(graph)


@st.composite
def _reified(draw: st.DrawFn) -> tuple[str, str]:
    """A statement of Turtle with annotations or reifiers, and the triples that it stands for."""
    s, p, o = (to_ntriples(term) for term in draw(triples))
    reifier, about = draw(st.sampled_from(("<urn:r>", "_:r"))), to_ntriples(draw(objects))
    own = f"{reifier} <{REIFIES}> <<( {s} {p} {o} )>> . {reifier} <urn:q> {about} ."
    match draw(st.integers(0, 2)):
        case 0:
            return f"{s} {p} {o} ~ {reifier} {{| <urn:q> {about} |}} .", f"{s} {p} {o} . {own}"
        case 1:
            return f"<< {s} {p} {o} ~ {reifier} >> <urn:q> {about} .", own
    return (
        f"<urn:x> <urn:y> << {s} {p} {o} ~{reifier} >> . {reifier} <urn:q> {about} .",
        f"<urn:x> <urn:y> {reifier} . {own}",
    )


@pytest.mark.parametrize("rdf_format", ["turtle", "trig"])
@settings(max_examples=drawn(60), deadline=None)
@given(statements=st.lists(_reified(), min_size=1, max_size=4))
def test_annotations_are_the_triples_that_they_stand_for(rdf_format: str, statements: list[tuple[str, str]]) -> None:
    short, long = (" ".join(each) for each in zip(*statements, strict=True))
    stated = {"turtle": "VERSION '1.2'\n%s", "trig": "@version '1.2' .\n<urn:g> { %s }"}[rdf_format]
    found = [read(stated % text, rdf_format, ReadOptions(arrival_time=lambda: 0)) for text in (short, long)]
    assert [reports for _, reports in found] == [[], []]
    first, second = (set(unscoped(events)[0].triples) for events, _ in found)
    assert first == second


@settings(max_examples=drawn(60), deadline=None)
@given(objects)
def test_a_term_is_read_from_its_text_and_interned_once(term: Term) -> None:
    assert term_of(canonical_token(term)) == term
    assert fault_of(term) == ""
    (quad,) = ox.parse(f"<urn:s> <urn:p> {to_ntriples(term)} .".encode(), ox.RdfFormat.N_TRIPLES)
    assert to_term(quad.object) == term
    assert parse_token(token_of(quad.object)) == term
    dictionary = Dictionary()
    identifier = dictionary.intern(term)
    text, lengths = dictionary.joined(np.array([identifier]))
    assert dictionary.intern_joined(text, lengths, dictionary.numbers[[identifier]]).tolist() == [identifier]
    assert dictionary.blank(np.array([identifier, 0]))[0] == any(blank_nodes(term))
    assert set(blank_nodes(relabelled(term, lambda label: f"z{label}"))) == {
        BlankNode(f"z{node.label}") for node in blank_nodes(term)
    }


@settings(max_examples=drawn(60), deadline=None)
@given(st.lists(triples, min_size=1, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_canonical_labels_do_not_depend_on_labels_or_order(graph: list[tuple[Term, Term, Term]], draw: Random) -> None:
    def canonical(some: Sequence[tuple[str, str, str]]) -> list[str]:
        """The lines of the graph with canonical labels."""
        labels = canonical_labels(some)
        return sorted(" ".join(with_labels(term, lambda node: labels[node]) for term in triple) for triple in some)

    texts = [(to_ntriples(s), to_ntriples(p), to_ntriples(o)) for s, p, o in graph]
    other = {"b": "z1", "c1": "a2"}
    renamed = [
        (to_ntriples(relabelled(s, other.__getitem__)), to_ntriples(p), to_ntriples(relabelled(o, other.__getitem__)))
        for s, p, o in graph
    ]
    draw.shuffle(renamed)
    assert canonical(texts) == canonical(renamed)


@pytest.mark.parametrize(("depth", "fault"), [(100, ""), (101, "triple terms more than 100 deep")])
def test_a_term_is_at_most_as_deep_as_one_that_is_read(depth: int, fault: str) -> None:
    term: Term = IRI("urn:o")
    for _ in range(depth):
        term = TripleTerm(IRI("urn:s"), IRI("urn:p"), term)
    assert fault_of(term) == fault
    assert len(
        read(f"<urn:a> <urn:b> {to_ntriples(term)} <urn:g> .\n", "nquads", ReadOptions(arrival_time=lambda: 0))[0]
    ) == (not fault)
