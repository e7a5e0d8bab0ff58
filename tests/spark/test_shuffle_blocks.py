"""What stage 1 hands to stage 2: the same events in another process, whatever the dictionaries hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.columns import UNBOUND, EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF_DIR_LANG_STRING, XSD, BlankNode, Literal, Term, TripleTerm, relabelled
from spaseq.errors import RunError
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.runtime.spark.shuffle_blocks import MAGIC, VERSION, BlockContents, packed, unpacked

TERMS: list[Term | None] = [
    None,
    IRI("http://ex.org/é"),
    BlankNode("x"),
    BlankNode("y"),
    Literal("14.0", XSD + "double"),
    Literal("014", XSD + "integer"),
    Literal("no number", XSD + "integer"),
    Literal('two\nlines "quoted" \\', XSD + "string"),
    Literal("", XSD + "string"),
    Literal("x", RDF_DIR_LANG_STRING, "ar", "rtl"),
    TripleTerm(BlankNode("x"), IRI("urn:p"), TripleTerm(IRI("urn:s"), IRI("urn:p"), BlankNode("y"))),
    TripleTerm(IRI("urn:s"), IRI("urn:p"), Literal('_:x "<<( ')),
]
LETTER = DeadLetter("malformed", "S1", "file.nq", 3, 1, "why", "raw\udcff".encode(errors="replace").decode())


def _dictionary(table: bool, known: Sequence[Term | None]) -> Dictionary:
    dictionary = Dictionary()
    for term in known:
        if term is not None:
            dictionary.intern(term)
    if table:
        dictionary.table()
    return dictionary


@given(st.data())
def test_a_blob_gives_the_same_events_to_another_dictionary(data: st.DataObject) -> None:
    graphs = data.draw(st.lists(st.lists(st.tuples(*[st.sampled_from(TERMS)] * 3), max_size=4), max_size=5))
    known = data.draw(st.lists(st.sampled_from(TERMS), max_size=4))
    here, there = (_dictionary(data.draw(st.booleans()), own) for own in (known, known[::-2]))
    triples = [triple for graph in graphs for triple in graph]
    ids = np.array([[UNBOUND if t is None else here.intern(t) for t in triple] for triple in triples], dtype=np.int64)
    subjects, predicates, objects = (np.ascontiguousarray(column) for column in ids.reshape(-1, 3).T)
    offsets = np.cumsum([0, *map(len, graphs)]).astype(np.int64)
    times = np.array([(-1) ** n * (n << 60) for n in range(len(graphs))], dtype=np.int64)
    names = [f"urn:e{n}" for n in range(len(graphs))]
    batch = EventBatch(times, np.zeros_like(times), names, offsets, subjects, predicates, objects)
    reporting = times > 0
    found = unpacked(packed(BlockContents(batch, reporting, (LETTER,)), here, ".7"), there)
    assert found.letters == (LETTER,) and found.reporting.tolist() == reporting.tolist()
    assert (found.batch.times.tolist(), found.batch.names) == (times.tolist(), names)
    assert found.batch.offsets.tolist() == offsets.tolist()
    columns = found.batch.subjects, found.batch.predicates, found.batch.objects
    read = [
        [None if i == UNBOUND else there.term(i) for i in row]
        for row in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]
    assert read == [[t and relabelled(t, lambda label: label + ".7") for t in row] for row in triples]
    numbers = [float(there.numbers[i]) for column in columns for i in column.tolist() if i != UNBOUND]
    expected = [float(here.numbers[i]) for column in (subjects, predicates, objects) for i in column.tolist() if i]
    assert np.array_equal(numbers, expected, equal_nan=True)


def test_a_blob_of_another_version_says_what_to_do() -> None:
    none = BlockContents(EventBatch.empty(), np.zeros(0, dtype=np.bool_), ())
    blob = packed(none, Dictionary(), "")
    other = MAGIC + (VERSION + 1).to_bytes(2, "big") + blob[len(MAGIC) + 2 :]
    with pytest.raises(RunError, match=f"sends events in version {VERSION + 1}, this one reads version {VERSION}"):
        unpacked(other, Dictionary())
