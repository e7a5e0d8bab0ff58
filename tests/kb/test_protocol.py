"""What goes over the wire, and how it is read."""

from __future__ import annotations

from urllib.parse import parse_qs, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.protocol import form_of
from kb.results import ResultReader
from kb.sparql_text import key_text
from sparql_gpm.terms import IRI, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD, BlankNode, Literal, TripleTerm
from tests.drawn import drawn


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
@settings(max_examples=drawn(300))
def test_a_query_is_written_as_any_form_is(query: str) -> None:
    assert form_of(query) == f"query={quote_plus(query)}"
    assert parse_qs(form_of(query), keep_blank_values=True, errors="strict") == {"query": [query]}


def test_every_sort_of_term_is_read_and_what_is_missing_is_unbound() -> None:
    text = b"""{"head": {"vars": ["z", "v1", "a"]}, "results": {"bindings": [
        {"a": {"type": "uri", "value": "http://x/1"}, "z": {"type": "bnode", "value": "b"}},
        {"a": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#int"}},
        {"z": {"type": "typed-literal", "value": "2", "datatype": "http://www.w3.org/2001/XMLSchema#int"}},
        {"a": {"type": "literal", "value": "e", "xml:lang": "EN"}, "z": {"type": "literal", "value": ""}},
        {"a": {"type": "literal", "value": "e", "xml:lang": "AR", "its:dir": "rtl"}}, {}]}}"""
    assert ResultReader(["a", "v1", "z"]).decode(text, "s") == [
        (IRI("http://x/1"), None, BlankNode("sxb")),
        (Literal("1", XSD + "int"), None, None),
        (None, None, Literal("2", XSD + "int")),
        (Literal("e", RDF_LANG_STRING, "en"), None, Literal("")),
        (Literal("e", RDF_DIR_LANG_STRING, "ar", "rtl"), None, None),
        (None, None, None),
    ]
    assert ResultReader([]).decode(text, "s") == [()] * 6


def test_what_an_endpoint_of_sparql_1_1_cannot_have_is_not_asked_for() -> None:
    literal = Literal("e", RDF_DIR_LANG_STRING, "ar", "rtl")
    assert [key_text(term) for term in (BlankNode("b"), literal, TripleTerm(IRI("urn:s"), IRI("urn:p"), literal))] == [
        None, None, None,
    ]  # fmt: skip
    assert key_text(Literal("e", RDF_LANG_STRING, "en")) == '"e"@en'


def test_solutions_that_bind_other_variables_are_refused() -> None:
    text = b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"other": {"type": "uri", "value": "http://x/1"}}]}}'
    with pytest.raises(ValueError, match="unknown field `other`"):
        ResultReader(["a"]).decode(text, "s")


def test_an_answer_nested_too_deeply_is_a_failed_answer() -> None:
    text = b'{"head": {"vars": ["a"]}, "results": {"bindings": [' + b'{"x": ' * 100_000
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(text, "s")


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[]", b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": {"type": "uri"}}]}}', b"<a/>"],
)
def test_what_is_no_document_of_results_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(text, "s")


def test_a_term_of_an_unknown_type_is_refused() -> None:
    text = b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": {"type": "triple", "value": ""}}]}}'
    with pytest.raises(ValueError, match="unknown type 'triple'"):
        ResultReader(["a"]).decode(text, "s")
