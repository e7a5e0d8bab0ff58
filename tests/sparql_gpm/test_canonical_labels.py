"""Canonical labels of blank nodes against those of pyoxigraph (RDFC-1.0)."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.canonical_labels import TripleText, canonical_labels

NODES = st.integers(0, 5).map(lambda number: f"_:x{number}")
TRIPLES = st.lists(
    st.tuples(NODES, st.sampled_from(("<urn:p>", "<urn:q>")), NODES | st.sampled_from(("<urn:a>", '"v"', '"w"@en'))),
    min_size=1,
    max_size=8,
    unique=True,
)
DIFFICULT = [(f"_:x{a}", "<urn:p>", f"_:x{b}") for a in range(40) for b in range(40) if a != b]


def _lines(triples: list[TripleText], labels: dict[str, str]) -> list[str]:
    return sorted(" ".join(labels.get(term, term) for term in triple) for triple in triples)


@given(TRIPLES)
def test_the_labels_make_the_canonical_graph(triples: list[TripleText]) -> None:
    lines = "\n".join(f"{line} ." for line in _lines(triples, {}))
    canonical = ox.Dataset(ox.parse(lines, format=ox.RdfFormat.N_TRIPLES))
    canonical.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    assert _lines(triples, canonical_labels(triples)) == sorted(str(quad.triple) for quad in canonical)


def test_a_graph_that_needs_too_much_work_has_its_nodes_numbered_as_they_come() -> None:
    labels = canonical_labels(DIFFICULT)
    assert labels == {f"_:x{number}": f"_:c14n{number}" for number in range(40)}


def test_a_long_chain_of_alike_nodes_is_not_followed_to_its_end() -> None:
    chain = [(f"_:x{number}", "<urn:next>", f"_:x{(number + 1) % 2000}") for number in range(2000)]
    assert canonical_labels(chain)["_:x1999"] == "_:c14n1999"
