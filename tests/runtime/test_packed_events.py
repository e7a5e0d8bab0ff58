"""Packed events: few terms and many are packed by different ways to the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token, with_suffix
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm, blank_nodes
from spaseq.runtime.state.packed_events import packed_events, unpacked_events

PREDICATE = IRI("urn:p")


def _term(number: int) -> Term:
    inside = BlankNode(f"i{number}") if number % 8 else IRI(f"urn:i{number}")
    kinds = (
        IRI(f"urn:é{number}"),
        BlankNode(f"b{number}"),
        Literal(f"_:{number}"),
        TripleTerm(inside, PREDICATE, inside),
    )
    return kinds[number % 4]


@pytest.mark.parametrize("count", [1, 10, 60, 62, 63, 64, 65, 200])
def test_blank_nodes_get_the_suffix_and_no_other_term(count: int) -> None:
    dictionary = Dictionary()
    terms = [_term(number) for number in range(count)]
    objects = np.array([dictionary.intern(term) for term in terms], dtype=np.int64)
    subjects = np.full(count, dictionary.intern(IRI("urn:s")), dtype=np.int64)
    predicates = np.full(count, dictionary.intern(PREDICATE), dtype=np.int64)
    other = Dictionary()
    found = unpacked_events(
        packed_events(EventBatch.of_graph("urn:g", subjects, predicates, objects), dictionary, "x1"), other
    )
    tokens = [canonical_token(term) for term in terms]
    expected = [
        with_suffix(token, "x1") if any(blank_nodes(term)) else token for term, token in zip(terms, tokens, strict=True)
    ]
    assert [other.token(term) for term in found.objects.tolist()] == expected
