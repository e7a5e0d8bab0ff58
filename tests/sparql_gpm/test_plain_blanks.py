"""Blank nodes with plain labels are what the strict parser makes of them."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from sparql_gpm.reading.document_terms import is_plain_blank, parse_token, quads_of, to_term

LETTERS = "abcdefABCDEFgzGZ0123456789"


@pytest.mark.parametrize("seed", range(200))
def test_a_plain_label_is_kept_as_it_is(seed: int) -> None:
    draw = random.Random(seed)
    letters = draw.choice((LETTERS, "0123456789abcdef", "0123456789"))
    token = ("_:" + "".join(draw.choices(letters, k=draw.choice((1, 2, 8, 31, 32, 33))))).encode()
    (quad,) = quads_of(b"<urn:s> <urn:p> %b ." % token, ox.RdfFormat.N_TRIPLES)
    assert is_plain_blank(token) and parse_token(token) == to_term(quad.object)


@pytest.mark.parametrize("token", [b"_:", b"_:a.", b"_:-a", b"_:a b", b"_:a>", "_:é".encode(), b"_x", b"_:\xff"])
def test_other_labels_are_parsed_strictly(token: bytes) -> None:
    assert not is_plain_blank(token)
    try:
        found = [to_term(quad.object) for quad in quads_of(b"<urn:s> <urn:p> %b ." % token, ox.RdfFormat.N_TRIPLES)]
    except SyntaxError:
        found = [None]
    assert [parse_token(token)] == found
