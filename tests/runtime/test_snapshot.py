"""Operators that stop and go on elsewhere: snapshot and restore change no row, and carry terms, not ids."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from automata.chains import store as chain_store
from automata.state import Values
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF_DIR_LANG_STRING, XSD, BlankNode, Literal, TripleTerm
from spaseq.errors import RunError
from spaseq.lang.parse import parse
from spaseq.runtime.state import snapshot
from spaseq.runtime.state.snapshot import RELEASED, VERSION, dumps, loads
from tests.drawn import drawn
from tests.driving import comparable
from tests.reference.api import evaluate
from tests.restarting import Restarting
from tests.states.networks import size_of, taken
from tests.strategies.limited import limited_queries
from tests.strategies.query import queries
from tests.strategies.stream import batches, cuts, interleaved, late, streams

SECOND = 1_000_000_000
PAIRS = drawn(300)


@given(st.data())
@settings(max_examples=PAIRS)
def test_a_restart_at_any_cut_changes_no_row(data: st.DataObject) -> None:
    text = data.draw(queries() | limited_queries())
    query = parse(text, "q")
    names = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams()).items() if name in names}
    delay = data.draw(st.sampled_from((0, 2, 5))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()} if delay else arrivals
    note(text)
    arrived = interleaved(disordered) if not delay else [(n, *e) for n, events in disordered.items() for e in events]
    running = Restarting(query, delay)
    for piece in batches(arrived, data.draw(cuts(len(arrived)))):
        running.push(piece)
        running.restart()
    running.network.finish()
    assert Counter(map(comparable, running.rows)) == Counter(map(comparable, evaluate(query, arrivals)))


def test_a_snapshot_holds_what_is_alive_and_not_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_store, "COMPACT_MIN", 1 << 30)
    text = """PREFIX : <http://ex.org/> SELECT ?x WITHIN 5 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?x a :A } DEFINE GPM B ON S1 { ?x a :B } }"""
    running = Restarting(parse(text, "q"), 0)
    kind, a = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), IRI("http://ex.org/A")
    sizes = []
    for block in range(4):
        seconds = range(block * 100, block * 100 + 100)
        graphs = [(t * SECOND, f"urn:e{t}", frozenset({(IRI(f"urn:x{t}"), kind, a)})) for t in seconds]
        running.push([("S1", *graph) for graph in graphs])
        sizes.append(size_of(taken(running.network)))
    assert max(sizes[2:]) < 1.2 * sizes[1]


@pytest.mark.parametrize("condition", ["", "FILTER NOT EXISTS { ?y :v ?a }"])
def test_a_snapshot_after_one_long_stretch_holds_what_is_alive(condition: str) -> None:
    text = f"""PREFIX : <http://ex.org/> SELECT ?x WITHIN 5 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
    WHERE {{ SEQ(A ; B)
      DEFINE GPM A ON S1 {{ ?x :v ?a }} DEFINE GPM B ON S1 {{ ?x :v ?b FILTER(?b < ?a) {condition} }} }}"""
    value, sizes = IRI("http://ex.org/v"), []
    for count in (100, 1000):
        running = Restarting(parse(text, "q"), 0)
        graphs = [
            (t * SECOND, f"urn:e{t}", frozenset({(IRI(f"urn:x{t}"), value, Literal(str(t), XSD + "integer"))}))
            for t in range(count)
        ]
        running.push([("S1", *graph) for graph in graphs])
        sizes.append(running.restart())
    assert sizes[1] < 1.2 * sizes[0]


def test_ids_become_terms_and_terms_other_ids() -> None:
    here, there = Dictionary(), Dictionary()
    there.intern(IRI("urn:first"))
    terms = [IRI("urn:a"), BlankNode("b1"), Literal('two "lines"\n'), Literal("oui", language="fr", datatype=_LANG)]
    terms += [Literal("x", RDF_DIR_LANG_STRING, "ar", "rtl"), TripleTerm(BlankNode("b1"), IRI("urn:p"), terms[2])]
    ids = np.array([[here.intern(term) for term in terms], [0] * 6], dtype=np.int64)
    blob = dumps({"ids": Values(ids), "plain": np.arange(300), "mask": np.array([True, False]), "n": 1 << 60}, here)
    back = loads(blob, there)
    assert [there.term(identifier) for identifier in back["ids"].ids[0].tolist()] == terms
    assert back["ids"].ids[1].tolist() == [0] * 6
    assert back["plain"].tolist() == list(range(300)) and back["plain"].dtype == np.int64
    assert back["mask"].tolist() == [True, False] and back["n"] == 1 << 60


_LANG = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


@pytest.mark.parametrize("version", [*range(1, RELEASED), VERSION + 1])
def test_a_blob_of_another_version_says_what_to_do(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "VERSION", version)
    blob = dumps([], Dictionary())
    monkeypatch.undo()
    reads = f"version {version}; this SPAseq reads versions {RELEASED} and {VERSION}"
    with pytest.raises(RunError, match=reads) as caught:
        loads(blob, Dictionary())
    assert "new checkpoint folder" in str(caught.value.hint)
    with pytest.raises(RunError, match="no SPAseq state at all"):
        loads(b"something else", Dictionary())
