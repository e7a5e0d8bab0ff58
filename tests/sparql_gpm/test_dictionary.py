"""A dictionary means the same whether it holds terms as objects or as bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.jit import COMPILED
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.interning import term_table
from sparql_gpm.interning.term_table import canonical_token, term_of
from sparql_gpm.numeric import float64
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD, BlankNode, Literal, Term
from tests.drawn import drawn

texts = st.text(st.one_of(st.sampled_from('"\\\n\r\t @^<>é\x00\ud800'), st.characters()), max_size=6)
terms = st.one_of(
    st.builds(IRI, st.one_of(texts, st.sampled_from(["urn:a", "urn:b", "urn:c"]))),
    st.builds(BlankNode, st.sampled_from(["a", "b"])),
    st.builds(Literal, texts),
    st.builds(Literal, texts, st.just(RDF_LANG_STRING), st.sampled_from(["en", "de-at"])),
    st.builds(Literal, st.sampled_from(["1", "1.5", "x", "1e400"]), st.sampled_from([XSD + "integer", XSD + "double"])),
    st.builds(Literal, texts, texts.filter(bool)),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("intern"), terms),
        st.tuples(st.just("pin"), terms),
        st.tuples(st.just("retain"), st.integers(0, 15)),
        st.tuples(st.just("table"), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=drawn(300) if COMPILED else 50, deadline=None)
@given(steps)
def test_a_term_keeps_its_id_until_it_is_released(steps: list[tuple[str, Term | int | None]]) -> None:
    dictionary = Dictionary()
    known: dict[Term, int] = {}
    pinned: set[Term] = set()
    for step, argument in steps:
        match step, argument:
            case "intern" | "pin", IRI() | BlankNode() | Literal():
                identifier = dictionary.pin(argument) if step == "pin" else dictionary.intern(argument)
                assert identifier == known.setdefault(argument, identifier)
                pinned |= {argument} if step == "pin" else set()
            case "retain", int():
                before, generation = len(known), dictionary.generation
                kept = [identifier for identifier in known.values() if identifier & argument]
                known = {term: i for term, i in known.items() if i in kept or term in pinned}
                assert dictionary.retain([np.array(kept, dtype=np.int64)]) == before - len(known)
                assert dictionary.generation == generation + 1
            case _:
                dictionary.table()
        assert len(dictionary) == len(known) == len(set(known.values()))
    for term, identifier in known.items():
        assert identifier > UNBOUND
        assert (dictionary.find(term), dictionary.term(identifier)) == (identifier, term)
        number = float64(term)
        assert np.array_equal(dictionary.numbers[identifier], number, equal_nan=True)
    assert dictionary.find(IRI("urn:never")) == UNBOUND


@given(terms)
def test_a_term_comes_back_from_its_canonical_text(term: Term) -> None:
    assert term_of(canonical_token(term)) == term


def test_releasing_terms_frees_their_bytes() -> None:
    dictionary = Dictionary()
    strings = dictionary.table().strings
    for generation in range(20):
        ids = dictionary.table().intern_all([IRI(f"urn:{generation}:{i}") for i in range(2000)])
        assert dictionary.retain([ids[:10]]) == (2000 if generation else 1990)
    assert len(dictionary) == 10
    assert len(strings.entries) <= 8192
    assert len(strings.arena) < 100_000


def test_forgetting_objects_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_table, "OBJECTS_MAX", 3)
    dictionary = Dictionary()
    dictionary.table()
    ids = [dictionary.intern(IRI(f"urn:{i}")) for i in range(50)]
    assert [dictionary.term(identifier) for identifier in ids] == [IRI(f"urn:{i}") for i in range(50)]
    assert [dictionary.find(IRI(f"urn:{i}")) for i in range(50)] == ids
